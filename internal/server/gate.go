package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/lanes"
)

// newGate makes the gate of a dispatcher: lanes begin anew with each, so that
// what an operator has mended, or resumed, is tried at once.
func (s *Server) newGate(people config.People) (*lanes.Gate, error) {
	asked := map[string]lanes.Person{}
	for _, p := range people {
		one, err := p.Lanes()
		if err != nil {
			return nil, err
		}
		asked[p.Name] = one
	}
	a := &alerts{log: s.log, dir: s.opt.Dir}
	gate, err := lanes.New(lanes.Config{
		Alert:  a.raise,
		People: lanes.People{Of: func(who string) lanes.Person { return asked[who] }, Told: s.toldSince},
	})
	if err != nil {
		return nil, err
	}
	a.states = gate.States
	return gate, a.write()
}

// toldSince counts what a recipient was told since a moment. Rows are few a
// day where there is a cap, so the newest pages do.
func (s *Server) toldSince(ctx context.Context, recipient string, since time.Time) (int, error) {
	told := 0
	q := lastlook.Query{Recipient: recipient, States: []lastlook.State{lastlook.StateSent}, Limit: 500}
	for {
		recs, err := s.outbox.List(ctx, q)
		if err != nil {
			return 0, err
		}
		for i := range recs {
			if !recs[i].EndedAt.Before(since) {
				told++
			}
		}
		// Rows are told within their life, which is rarely longer than two days.
		if len(recs) < q.Limit || recs[len(recs)-1].CreatedAt.Before(since.Add(-48*time.Hour)) {
			return told, nil
		}
		q.Before = recs[len(recs)-1].ID
	}
}

// alerts tells the operator of lanes that do not work: in the log, and in a
// file that the command line reads.
type alerts struct {
	log    *slog.Logger
	dir    config.Dir
	states func() []lanes.State

	mu sync.Mutex // one writes the file at a time
}

func (a *alerts) raise(s lanes.State) {
	attrs := []any{"channel", s.Channel, "lane", s.Lane, "until", s.Until, "error", s.Why}
	switch s.Status {
	case lanes.Working:
		a.log.Info("lane works again", "channel", s.Channel, "lane", s.Lane)
	case lanes.Parked:
		a.log.Error("alert: a channel refuses our settings or credentials; nothing is lost: correct them, then lastlook channel test, lastlook channel resume", attrs...)
	case lanes.Broken:
		a.log.Error("alert: a channel does not work; rows wait, and one tries from time to time", attrs...)
	case lanes.Asked:
		a.log.Warn("a channel asks to wait", attrs...)
	}
	if err := a.write(); err != nil {
		a.log.Error("cannot write how lanes do", "error", err)
	}
}

func (a *alerts) write() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	b, err := json.Marshal(a.states())
	if err != nil {
		return fmt.Errorf("encode how lanes do: %w", err)
	}
	return a.dir.WriteLanes(b)
}

// LaneState is how a lane does.
type LaneState = lanes.State

// Lanes returns the lanes that did not work when the dispatcher last saw a
// change.
func Lanes(dir config.Dir) ([]LaneState, error) {
	b, err := os.ReadFile(dir.LanesFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var out []lanes.State
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("read how lanes do: %w", err)
	}
	return out, nil
}
