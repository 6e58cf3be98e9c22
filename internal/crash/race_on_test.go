//go:build race

package crash

// underRace says that the race detector is on.
const underRace = true
