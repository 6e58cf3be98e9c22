package postgres_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/lastlook/lastlook/store/postgres"
)

// listening runs a listener and returns what it wakes.
func listening(t *testing.T, dsn string, c postgres.ListenerConfig) (woken chan struct{}, stop func()) {
	t.Helper()
	l, err := postgres.NewListener(dsn, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	woken = make(chan struct{}, 100)
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx, func() { woken <- struct{}{} }) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return woken, stop
}

func wait(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(30 * time.Second):
		t.Fatalf("waited half a minute for %s", what)
	}
}

// drain reads what has come.
func drain(c <-chan struct{}) {
	for {
		select {
		case <-c:
			continue
		default:
			return
		}
	}
}

// A listener wakes for each transaction that enqueues rows of its schema, and
// comes back when its connection is ended.
func TestListener(t *testing.T) {
	k := newKitWith(t, postgres.Config{Notify: true})
	woken, stop := listening(t, named(t, cluster.DSN(t), "listener"), postgres.ListenerConfig{Schema: k.s.Schema()})
	wait(t, "the first wake", woken)
	drain(woken)
	k.enqueue(items(0, 50)...)
	wait(t, "a wake by an enqueue", woken)
	select { // one a transaction
	case <-woken:
		t.Error("woken twice by one transaction")
	default:
	}
	tx, err := k.pool.Begin(t.Context())
	k.ok(err)
	_, err = k.s.EnqueueTx(t.Context(), tx, k.now, item(key(60)))
	k.ok(err)
	k.ok(tx.Rollback(t.Context()))
	k.enqueue(item(key(0))) // a duplicate
	k.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener'")
	wait(t, "a wake after the connection was made anew", woken)
	drain(woken)
	k.enqueue(item(key(61)))
	wait(t, "a wake by an enqueue after that", woken)
	stop()
}

func named(t *testing.T, dsn, app string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("application_name", app)
	u.RawQuery = q.Encode()
	return u.String()
}

// mute is a proxy that can fall silent, as a network does: connections stay
// open, and nothing comes.
type mute struct {
	l      net.Listener
	target string
	mu     sync.Mutex
	silent bool
	conns  []net.Conn
	wg     sync.WaitGroup
}

func newMute(t *testing.T, target string) *mute {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{l: l, target: target}
	m.wg.Go(m.accept)
	t.Cleanup(func() {
		_ = l.Close()
		m.mu.Lock()
		for _, c := range m.conns {
			_ = c.Close()
		}
		m.mu.Unlock()
		m.wg.Wait()
	})
	return m
}

func (m *mute) accept() {
	for {
		in, err := m.l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", m.target)
		if err != nil {
			_ = in.Close()
			continue
		}
		m.mu.Lock()
		m.silent = false // only connections of before are
		heard := true
		m.conns = append(m.conns, in, out)
		m.mu.Unlock()
		m.wg.Go(func() { _, _ = io.Copy(out, in) })
		m.wg.Go(func() {
			buf := make([]byte, 1<<16)
			for {
				n, err := out.Read(buf)
				if err != nil {
					return
				}
				m.mu.Lock()
				heard = heard && !m.silent
				m.mu.Unlock()
				if heard {
					_, _ = in.Write(buf[:n])
				}
			}
		})
	}
}

// A connection that has fallen silent is noticed, and made anew.
func TestSilentListener(t *testing.T) {
	k := newKitWith(t, postgres.Config{Notify: true})
	u, err := url.Parse(cluster.DSN(t))
	k.ok(err)
	m := newMute(t, u.Host)
	u.Host = m.l.Addr().String()
	woken, stop := listening(t, u.String(), postgres.ListenerConfig{Schema: k.s.Schema(), PingEvery: 50 * time.Millisecond, Timeout: time.Second})
	wait(t, "the first wake", woken)
	drain(woken)
	m.mu.Lock()
	m.silent = true
	m.mu.Unlock()
	wait(t, "the silence to be noticed", woken)
	drain(woken)
	k.enqueue(item(key(1)))
	wait(t, "a wake by an enqueue after that", woken)
	stop()
}
