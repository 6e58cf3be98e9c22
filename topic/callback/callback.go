package callback

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/signing"
)

// Limits.
const (
	// DefaultBatch is how many subjects one question asks about.
	DefaultBatch = 100
	// MaxBatch bounds it.
	MaxBatch = 1000
	// asking is how many questions one look asks at once.
	asking = 4
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 4 << 20
	// maxRetryAfter bounds a Retry-After; the core caps it too.
	maxRetryAfter = 24 * time.Hour
)

// Config says who is asked.
type Config struct {
	// Name is the topic's name.
	Name string
	// URL is the program's address. It may hold a token: all of it but the host
	// is treated as a secret.
	URL string
	// Secret signs questions: whsec_ and the base64 of 24 to 64 bytes.
	Secret string
	// Client asks. It must follow no redirects.
	Client *http.Client
	// Windows and TTL are the topic's; the default is [lastlook.Always].
	Windows lastlook.Windows
	TTL     time.Duration
	// Batch is how many subjects one question asks about; 0 means [DefaultBatch].
	Batch int
	// Clock is the source of now; nil means [time.Now].
	Clock func() time.Time
}

// asker asks.
type asker struct {
	cfg  Config
	url  *url.URL
	key  signing.Key
	name string
}

// New makes the topic. It calls nobody.
func New(c Config) (lastlook.Topic[Value], error) {
	none := lastlook.Topic[Value]{}
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: the callback topic %q "+format, append([]any{lastlook.ErrInvalid, c.Name}, args...)...)
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return none, invalid("needs an http or https address, such as https://shop.example/lastlook")
	}
	key, err := signing.ParseSecret(c.Secret)
	if err != nil {
		return none, invalid("has a secret that %w", err)
	}
	if c.Client == nil {
		return none, invalid("needs a client to ask with")
	}
	if c.Batch == 0 {
		c.Batch = DefaultBatch
	}
	if c.Batch < 1 || c.Batch > MaxBatch {
		return none, invalid("asks about %d subjects at once: use 1 to %d", c.Batch, MaxBatch)
	}
	if c.Windows.IsZero() {
		c.Windows = lastlook.Always()
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	a := &asker{cfg: c, url: u, key: key, name: u.Hostname()}
	return lastlook.Topic[Value]{
		Name: c.Name, Look: a.look, Judge: judge, Word: word, Windows: c.Windows, TTL: c.TTL,
	}, nil
}

// look asks about all subjects, some questions at a time.
func (a *asker) look(ctx context.Context, subjects []string) []lastlook.Looked[Value] {
	out := make([]lastlook.Looked[Value], len(subjects))
	var wg sync.WaitGroup
	places := make(chan struct{}, asking)
	for from := 0; from < len(subjects); from += a.cfg.Batch {
		to := min(from+a.cfg.Batch, len(subjects))
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			a.ask(ctx, subjects[from:to], out[from:to])
		})
	}
	wg.Wait()
	return out
}

// ask asks one question, and writes what is known of each of its subjects.
func (a *asker) ask(ctx context.Context, subjects []string, out []lastlook.Looked[Value]) {
	began := a.cfg.Clock()
	answers, err := a.question(ctx, subjects)
	for i := range out {
		out[i].At = began
		if err != nil {
			out[i].Err = err
			continue
		}
		found := answers[subjects[i]]
		switch {
		case len(found) == 0:
			out[i].Err = fmt.Errorf("%s gave no answer for it", a.name)
		case len(found) > 1:
			out[i].Err = fmt.Errorf("%s gave %d answers for it", a.name, len(found))
		default:
			out[i].Value, out[i].Err = found[0].value(began)
		}
	}
}

// question is the form of a question.
type question struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      asked     `json:"data"`
}

type asked struct {
	Topic    string   `json:"topic"`
	Subjects []string `json:"subjects"`
}

// question asks, and returns the answers by subject. Errors carry nothing of the
// address but its host, and nothing of what was answered.
func (a *asker) question(ctx context.Context, subjects []string) (map[string][]answer, error) {
	now := a.cfg.Clock()
	body, err := json.Marshal(question{"lastlook.question", now.UTC().Truncate(time.Second), asked{a.cfg.Name, subjects}})
	if err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address cannot be asked")
	}
	id, at := "q_"+strings.ToLower(rand.Text()), strconv.FormatInt(now.Unix(), 10)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	req.Header.Set("Accept", "application/json")
	req.Header.Set(signing.HeaderID, id)
	req.Header.Set(signing.HeaderTimestamp, at)
	req.Header.Set(signing.HeaderSignature, a.key.Sign(id, at, body))
	resp, err := a.cfg.Client.Do(req)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			err = e.Err // without the address
		}
		return nil, fmt.Errorf("ask %s: %w", a.name, err)
	}
	b, readErr := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err := errors.Join(readErr, resp.Body.Close()); err != nil && resp.StatusCode == http.StatusOK {
		return nil, fmt.Errorf("read the answer of %s: %w", a.name, err)
	}
	if resp.StatusCode != http.StatusOK {
		err := fmt.Errorf("%s answered HTTP %d, not 200", a.name, resp.StatusCode)
		if wait := retryAfter(resp.Header.Get("Retry-After"), now); wait > 0 {
			return nil, lastlook.RetryAfter(wait, err)
		}
		return nil, err
	}
	if len(b) > maxAnswer {
		return nil, fmt.Errorf("the answer of %s is larger than %d bytes: ask for fewer subjects at once", a.name, maxAnswer)
	}
	return decode(a.name, b)
}

// decode reads answers by their subjects. One that cannot be read is kept as
// such, for only its own subject is unknown then.
func decode(name string, b []byte) (map[string][]answer, error) {
	var all struct {
		Answers []json.RawMessage `json:"answers"`
	}
	if err := json.Unmarshal(b, &all); err != nil || all.Answers == nil {
		return nil, fmt.Errorf("the answer of %s is not a JSON object with \"answers\"", name)
	}
	out := make(map[string][]answer, len(all.Answers))
	for _, raw := range all.Answers {
		var who struct {
			Subject string `json:"subject"`
		}
		if json.Unmarshal(raw, &who) != nil {
			continue // of nobody
		}
		var a answer
		a.bad = json.Unmarshal(raw, &a) != nil
		out[who.Subject] = append(out[who.Subject], a)
	}
	return out, nil
}

// retryAfter reads a Retry-After, in seconds or as a date; 0 if there is none.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
		return min(time.Duration(max(n, 0))*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
