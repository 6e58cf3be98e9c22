package crash

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
)

// Kind says what an entry of a journal records.
type Kind string

// What is recorded, by whom.
const (
	// The enqueuer: the world has moved; a call is about to be made; what it
	// was answered, after the commit; a transaction was rolled back.
	KindStep       Kind = "step"
	KindIntent     Kind = "intent"
	KindAck        Kind = "ack"
	KindRolledBack Kind = "rolled_back"
	// The topics: a row was judged.
	KindJudged Kind = "judged"
	// The channels: a call has come; its message was accepted; what is about
	// to be answered.
	KindCall   Kind = "call"
	KindAccept Kind = "accept"
	KindAnswer Kind = "answer"
	// The late writer: an old change, written again, was applied.
	KindLate Kind = "late"
	// The store, of a claim whose lease had passed when the write began: it was
	// made, or refused. LookedAt is when the rows were claimed.
	KindWrote   Kind = "wrote"
	KindRefused Kind = "refused"
)

// Entry is one line of a journal. Which fields are set depends on the kind.
type Entry struct {
	// At is when it was written, or when what it tells of was decided, in Unix
	// microseconds; Run which run of the child wrote it.
	At   int64 `json:"at"`
	Run  int   `json:"run"`
	Kind Kind  `json:"kind"`
	// N numbers the enqueuer's calls, the channels' calls, or the world's steps.
	N     int64         `json:"n,omitzero"`
	Items []EnqueuedOne `json:"items,omitzero"`

	ID          lastlook.ID     `json:"id,omitzero"`
	Key         lastlook.Key    `json:"key,omitzero"`
	Value       json.RawMessage `json:"value,omitzero"`
	Window      lastlook.Window `json:"window,omitzero"`
	LookedAt    int64           `json:"looked_at,omitzero"`
	DeliveryKey string          `json:"delivery_key,omitzero"`
	Attempt     int             `json:"attempt,omitzero"`
	// Text is the verdict, the answer, or the event of a late change.
	Text string `json:"text,omitzero"`
}

// EnqueuedOne is one item of a call, and what it was answered.
type EnqueuedOne struct {
	Key  lastlook.Key `json:"key"`
	Edge bool         `json:"edge,omitzero"`
	// Status and ID are the answer.
	Status string      `json:"status,omitzero"`
	ID     lastlook.ID `json:"id,omitzero"`
}

// The journals' files: the name, then "-" and the member's name if there are
// several children at once, then the extension.
const (
	enqueuerJournal = "enqueuer"
	topicJournal    = "topics"
	channelJournal  = "channels"

	journalExtension = ".jsonl"
)

// journalFile is the name of a member's journal.
func journalFile(name, member string) string {
	if member != "" {
		name += "-" + member
	}
	return name + journalExtension
}

// journal appends entries to a file. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	f    *os.File
	run  int
	now  func() time.Time
	life *life
}

func openJournal(dir, name string, run int, now func() time.Time, l *life) (*journal, error) {
	path := filepath.Join(dir, name)
	if err := cutTorn(path); err != nil {
		return nil, fmt.Errorf("journal %s: %w", name, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{f: f, run: run, now: now, life: l}, nil
}

// cutTorn removes a last line that a kill has cut in two.
func cutTorn(path string) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if whole := bytes.LastIndexByte(b, '\n') + 1; whole < len(b) {
		return os.Truncate(path, int64(whole))
	}
	return nil
}

// add writes one entry. A journal that cannot be written leaves nothing to judge
// by, so the process ends.
func (j *journal) add(e Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.life.over() {
		return
	}
	if e.Run = j.run; e.At == 0 {
		e.At = j.now().UnixMicro()
	}
	b, err := json.Marshal(e)
	if err == nil {
		_, err = j.f.Write(append(b, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("journal %s: %v", j.f.Name(), err))
	}
}

func (j *journal) close() error { return j.f.Close() }

// readJournals reads a journal of all members, in the order of time.
func readJournals(dir, name string) ([]Entry, error) {
	files, err := filepath.Glob(filepath.Join(dir, name+"-*"+journalExtension))
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	out, err := readJournal(dir, journalFile(name, ""))
	for i := 0; i < len(files) && err == nil; i++ {
		var more []Entry
		more, err = readJournal(dir, filepath.Base(files[i]))
		out = append(out, more...)
	}
	if len(files) > 0 {
		slices.SortStableFunc(out, func(a, b Entry) int { return cmp.Compare(a.At, b.At) })
	}
	return out, err
}

// readJournal reads a file. A last line cut in two does not count.
func readJournal(dir, name string) ([]Entry, error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return parseJournal(name, b)
}

func parseJournal(name string, b []byte) ([]Entry, error) {
	var out []Entry
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			return out, nil
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("journal %s, line %d: %w", name, n, err)
		}
		out, b = append(out, e), rest
	}
}

// lastEntry returns the last entry of a kind in a journal; a zero one if there is
// none.
func lastEntry(dir, name string, k Kind) (e Entry, err error) {
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return e, fmt.Errorf("journal: %w", err)
	}
	at := bytes.LastIndex(b, fmt.Appendf(nil, `"kind":%q`, k))
	if at < 0 {
		return e, nil
	}
	line := b[bytes.LastIndexByte(b[:at], '\n')+1:]
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("journal %s: %w", name, err)
	}
	return e, nil
}
