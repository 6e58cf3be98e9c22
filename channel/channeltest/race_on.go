//go:build race

package channeltest

// underRace says that the race detector is on.
const underRace = true
