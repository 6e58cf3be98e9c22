package sleeps

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSleeps(t *testing.T) {
	time.Sleep(1) // want `time.Sleep in a test`
	synctest.Test(t, func(t *testing.T) {
		go func() { time.Sleep(time.Hour) }()
		time.Sleep(time.Hour)
	})
	/* want `time.Sleep in a test` */ time.Sleep(1) //lint:ignore nosleep
}
