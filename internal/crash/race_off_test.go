//go:build !race

package crash

const underRace = false
