//go:build !race

package channeltest

const underRace = false
