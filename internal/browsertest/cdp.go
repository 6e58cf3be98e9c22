package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
)

// maxAnswer bounds a message of a browser's.
const maxAnswer = 16 << 20

// cdp is a connection to Chromium's remote control, the DevTools Protocol.
type cdp struct {
	conn *websocket.Conn
	done chan struct{}

	mu      sync.Mutex
	last    int
	waiting map[int]chan cdpMessage
	err     error // set once the connection has ended
}

type cdpMessage struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *cdpError       `json:"error,omitempty"`
}

type cdpError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *cdpError) Error() string { return fmt.Sprintf("cdp: %s (%d)", e.Message, e.Code) }

func dialCDP(ctx context.Context, url string) (*cdp, error) {
	//lint:ignore bodyclose the answer is the connection, which close ends
	conn, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(maxAnswer)
	c := &cdp{conn: conn, done: make(chan struct{}), waiting: map[int]chan cdpMessage{}}
	go func() { // ends with the connection; close waits for it
		defer close(c.done)
		c.read()
	}()
	return c, nil
}

// close hangs up.
func (c *cdp) close() {
	c.conn.CloseNow()
	<-c.done
}

func (c *cdp) read() {
	for {
		var m cdpMessage
		err := wsjson.Read(context.Background(), c.conn, &m)
		c.mu.Lock()
		if err != nil {
			c.err = err
			for _, w := range c.waiting {
				close(w)
			}
			c.waiting = nil
			c.mu.Unlock()
			return
		}
		if w, ok := c.waiting[m.ID]; ok && m.ID != 0 {
			delete(c.waiting, m.ID)
			w <- m // has room
		}
		c.mu.Unlock()
	}
}

// call sends a command to the browser, or to a session with a page, and decodes
// its result, if result is not nil.
func (c *cdp) call(ctx context.Context, session, method string, params, result any) error {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return fmt.Errorf("cdp: %s: %w", method, c.err)
	}
	c.last++
	id, answer := c.last, make(chan cdpMessage, 1)
	c.waiting[id] = answer
	c.mu.Unlock()
	if err := wsjson.Write(ctx, c.conn, cdpMessage{ID: id, Session: session, Method: method, Params: params}); err != nil {
		return fmt.Errorf("cdp: %s: %w", method, err)
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return fmt.Errorf("cdp: %s: %w", method, errHungUp)
		case m.Error != nil:
			return fmt.Errorf("%s: %w", method, m.Error)
		case result == nil:
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
		return fmt.Errorf("cdp: %s: %w", method, ctx.Err())
	}
}

var errHungUp = errors.New("the browser hung up")
