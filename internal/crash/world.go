package crash

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Value is what the topics look at.
type Value struct {
	Price int `json:"price"`
	// Episode is set for the topic that counts them.
	Episode int64 `json:"episode,omitzero"`
	// Trouble says why there is no answer yet. It is never asserted.
	Trouble string `json:"trouble,omitzero"`
}

// target is the price below which the condition holds.
const target = 480

func (v Value) holds() bool { return v.Price < target }

// world is a price list that moves in steps. What a look sees is a function of
// the seed, the subject and the step, so that the judge can say what was there to
// be seen at any time.
type world struct {
	seed uint64
	step atomic.Int64
	// shared holds the step if several children look at one world; nil else.
	shared *os.File
}

// worldFile is where children share the world's step.
const worldFile = "world"

// share makes the world that of all children in dir.
func (w *world) share(dir string) (err error) {
	w.shared, err = os.OpenFile(filepath.Join(dir, worldFile), os.O_RDWR|os.O_CREATE, 0o600)
	return err
}

// now returns the step in force.
func (w *world) now() int64 {
	if w.shared == nil {
		return w.step.Load()
	}
	var b [8]byte
	if _, err := w.shared.ReadAt(b[:], 0); err != nil && !errors.Is(err, io.EOF) {
		panic(fmt.Sprintf("crash: the world is gone: %v", err))
	}
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// move sets the step. Only one child moves the world.
func (w *world) move(step int64) {
	if w.shared == nil {
		w.step.Store(step)
		return
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(step))
	if _, err := w.shared.WriteAt(b[:], 0); err != nil {
		panic(fmt.Sprintf("crash: the world does not move: %v", err))
	}
}

func (w *world) close() error {
	if w == nil || w.shared == nil {
		return nil
	}
	return w.shared.Close()
}

// sight is what a look at a subject gives at a step: a value, or neither.
type sight struct {
	value         Value
	gone, blocked bool
}

// The troubles of a value.
const (
	unclear  = "unclear"  // it does not answer the question
	deferred = "deferred" // the answer has to wait
)

const (
	// stretch is how many steps a subject's price lasts, period an episode.
	stretch = 40
	period  = 3 * stretch
)

// sightAt is what is to be seen of a subject at a step.
func sightAt(seed uint64, k *kind, subject string, step int64) sight {
	phase := int64(hash(seed, subject, 0) % stretch)
	h := hash(seed, subject, 1+(step+phase)/stretch)
	s := sight{value: Value{Price: 400 + 10*int(h%12)}}
	if k.episodes {
		s.value.Episode = 1 + (step+phase)/period
	}
	switch trouble := hash(seed, subject, -1-step/4) % 100; {
	case trouble < 4:
		s.blocked = true
	case trouble < 6:
		s.value.Trouble = unclear
	case trouble < 8:
		s.value.Trouble = deferred
	case trouble < 9:
		s.gone = h%3 == 0
	}
	return s
}

// hash draws a number from a seed, a name and another number.
func hash(seed uint64, s string, n int64) uint64 {
	h := fnv.New64a()
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(seed>>(8*i)), byte(uint64(n)>>(8*i))
	}
	_, _ = h.Write(b[:]) // never fails
	_, _ = h.Write([]byte(s))
	x := h.Sum64()
	// FNV is poor for names that are nearly alike.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
