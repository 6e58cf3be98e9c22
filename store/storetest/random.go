package storetest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lastlook/lastlook/store/internal/model"
)

// The size of the randomized run.
const (
	defaultChecks = 40 / raceFactor
	defaultSteps  = 150
	defaultSeed   = 20260307
)

// RunRandom makes the randomized run alone.
func RunRandom(t *testing.T, h Harness) {
	defer setFlags(t, map[string]string{
		"rapid.checks":     env("LASTLOOK_RAPID_CHECKS", strconv.Itoa(defaultChecks)),
		"rapid.steps":      env("LASTLOOK_RAPID_STEPS", strconv.Itoa(defaultSteps)),
		"rapid.seed":       env("LASTLOOK_RAPID_SEED", strconv.Itoa(defaultSeed)),
		"rapid.shrinktime": "10s",
		"rapid.nofailfile": "true", // the seed is enough
	})()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rapidTB{rt}, rapidChooser{rt}, h, model.New())
		actions := map[string]func(*rapid.T){}
		for i, a := range w.actions() {
			actions[fmt.Sprintf("%02d %s", i, a.name)] = func(*rapid.T) { a.do() }
		}
		rt.Repeat(actions)
		w.compareAll()
		w.drain()
	})
}

func env(name, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}

// commandLine returns the flags that were given; asked before any is set here.
var commandLine = sync.OnceValue(func() map[string]bool {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return given
})

// setFlags sets flags of rapid that were not given on the command line, since
// it takes its settings from nowhere else, and returns how to set them back.
func setFlags(tb TB, values map[string]string) (restore func()) {
	given := commandLine()
	old := map[string]string{}
	set := func(name, value string) {
		if err := flag.Set(name, value); err != nil {
			tb.Fatalf("flag %s: %v", name, err)
		}
	}
	for name, value := range values {
		if f := flag.Lookup(name); f != nil && !given[name] {
			old[name] = f.Value.String()
			set(name, value)
		}
	}
	return func() {
		for name, value := range old {
			set(name, value)
		}
	}
}

type rapidChooser struct{ t *rapid.T }

func (c rapidChooser) choose(label string, n int) int {
	return rapid.IntRange(0, n-1).Draw(c.t, label)
}

// randChooser chooses without rapid: nothing is kept and nothing shrunk.
type randChooser struct{ *rand.Rand }

func (c randChooser) choose(_ string, n int) int { return c.IntN(n) }

// play is one run without rapid, of so many steps. It returns what happened.
func play(tb TB, h Harness, seed uint64, steps int, oracle bool) map[string]int {
	c := randChooser{rand.New(rand.NewPCG(seed, 0))}
	w := newWorld(tb, c, h, nil)
	if oracle {
		w.pair.oracle = model.New()
	}
	actions := w.actions()
	for range steps {
		actions[c.IntN(len(actions))].do()
	}
	w.compareAll()
	w.drain()
	return w.journal.events
}
