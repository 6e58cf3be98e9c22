package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// marionette is a connection to Firefox's remote control: messages over TCP, as
// LENGTH:JSON. One command is under way at a time.
type marionette struct {
	conn net.Conn
	in   *bufio.Reader

	mu   sync.Mutex
	last int
}

// dialMarionette connects, and reads what Firefox says of itself first.
func dialMarionette(ctx context.Context, address string) (*marionette, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	m := &marionette{conn: conn, in: bufio.NewReader(conn)}
	if err := m.deadline(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if _, err := m.read(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return m, nil
}

func (m *marionette) close() error { return m.conn.Close() }

func (m *marionette) deadline(ctx context.Context) error {
	t, ok := ctx.Deadline()
	if !ok {
		t = time.Now().Add(EventLimit)
	}
	return m.conn.SetDeadline(t)
}

func (m *marionette) read() ([]byte, error) {
	prefix, err := m.in.ReadString(':')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSuffix(prefix, ":"))
	if err != nil || n < 0 {
		return nil, fmt.Errorf("marionette: a message of length %q", prefix)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(m.in, b)
	return b, err
}

// marionetteError is what a command failed with.
type marionetteError struct {
	Code    string `json:"error"`
	Message string `json:"message"`
}

func (e *marionetteError) Error() string { return "marionette: " + e.Code + ": " + e.Message }

// call sends a command, and decodes the value of its answer into result, if that
// is not nil.
func (m *marionette) call(ctx context.Context, name string, params map[string]any, result any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if params == nil {
		params = map[string]any{}
	}
	if err := m.deadline(ctx); err != nil {
		return err
	}
	m.last++
	b, err := json.Marshal([]any{0, m.last, name, params})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(m.conn, "%d:%s", len(b), b); err != nil {
		return fmt.Errorf("marionette: %s: %w", name, err)
	}
	for {
		answer, err := m.read()
		if err != nil {
			return fmt.Errorf("marionette: %s: %w", name, err)
		}
		var (
			direction, id int
			failure       *marionetteError
			value         json.RawMessage
		)
		if err := json.Unmarshal(answer, &[]any{&direction, &id, &failure, &value}); err != nil {
			return fmt.Errorf("marionette: %s: %w", name, err)
		}
		switch {
		case id != m.last: // of a command that was given up
			continue
		case failure != nil:
			return failure
		case result == nil:
			return nil
		}
		return json.Unmarshal(value, result)
	}
}

// value is how answers wrap a single value.
type value struct {
	Value json.RawMessage `json:"value"`
}

// script runs a script that may return a promise, in the current context.
func (m *marionette) script(ctx context.Context, script string, args ...any) (json.RawMessage, error) {
	if args == nil {
		args = []any{}
	}
	var v value
	err := m.call(ctx, "WebDriver:ExecuteScript", map[string]any{"script": script, "args": args, "newSandbox": true}, &v)
	return v.Value, err
}

// chrome runs a script with the browser's own rights.
func (m *marionette) chrome(ctx context.Context, script string, args ...any) (json.RawMessage, error) {
	if err := m.call(ctx, "Marionette:SetContext", map[string]any{"value": "chrome"}, nil); err != nil {
		return nil, err
	}
	v, err := m.script(ctx, script, args...)
	return v, errors.Join(err, m.call(ctx, "Marionette:SetContext", map[string]any{"value": "content"}, nil))
}
