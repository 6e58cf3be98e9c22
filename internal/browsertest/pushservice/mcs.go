package pushservice

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// The frames of the Mobile Connection Server's protocol, version 41: a tag, the
// length as a varint, a message.
const (
	mcsVersion       = 41
	mcsPing     byte = 0
	mcsPong     byte = 1
	mcsLogin    byte = 2
	mcsLoggedIn byte = 3
	mcsClose    byte = 4
	mcsData     byte = 8
)

// maxFrame bounds what a browser may send in one frame.
const maxFrame = 1 << 20

// mcsServer holds the connections of Chromium browsers.
type mcsServer struct {
	service  *Service
	listener net.Listener
	talks    sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
	over  bool
}

func (s *Service) startMCS() (*mcsServer, error) {
	cert, _, err := newAuthority("localhost")
	if err != nil {
		return nil, err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, err
	}
	m := &mcsServer{service: s, listener: l, conns: map[net.Conn]bool{}}
	m.talks.Go(m.serve)
	return m, nil
}

func (m *mcsServer) url() string { return "https://" + m.listener.Addr().String() }

func (m *mcsServer) close() error {
	err := m.listener.Close()
	m.mu.Lock()
	m.over = true
	for c := range m.conns {
		_ = c.Close()
	}
	m.mu.Unlock()
	m.talks.Wait()
	return err
}

func (m *mcsServer) serve() {
	for {
		c, err := m.listener.Accept()
		if err != nil {
			return // closed
		}
		m.mu.Lock()
		if m.over {
			_ = c.Close()
			m.mu.Unlock()
			return
		}
		m.conns[c] = true
		m.mu.Unlock()
		m.talks.Go(func() {
			t := &mcsTalk{service: m.service, conn: c, in: bufio.NewReader(c)}
			_ = t.serve() // it ends by an error, whoever hangs up
			_ = c.Close()
			m.mu.Lock()
			delete(m.conns, c)
			m.mu.Unlock()
		})
	}
}

// mcsTalk is one connection.
type mcsTalk struct {
	service *Service
	conn    net.Conn
	in      *bufio.Reader
	agent   *agent

	mu sync.Mutex // of writing
}

func (t *mcsTalk) serve() error {
	version, err := t.in.ReadByte()
	if err != nil {
		return err // a browser tries the way, and hangs up
	}
	if version != mcsVersion {
		return fmt.Errorf("mcs: version %d", version)
	}
	defer func() {
		if t.agent != nil {
			t.service.leave(t.agent, t)
		}
	}()
	for {
		tag, message, err := t.read()
		if err != nil {
			return err
		}
		if t.agent == nil && tag != mcsLogin {
			return fmt.Errorf("mcs: frame %d before the login", tag)
		}
		switch tag {
		case mcsLogin:
			err = t.login(message)
		case mcsPing:
			err = t.write(mcsPong, nil)
		case mcsClose:
			return nil
		default: // acknowledgements of the stream
		}
		if err != nil {
			return err
		}
	}
}

func (t *mcsTalk) read() (tag byte, message []byte, err error) {
	if tag, err = t.in.ReadByte(); err != nil {
		return 0, nil, err
	}
	size, err := binary.ReadUvarint(t.in)
	if err != nil {
		return 0, nil, err
	}
	if size > maxFrame {
		return 0, nil, fmt.Errorf("mcs: a frame of %d bytes", size)
	}
	message = make([]byte, size)
	_, err = io.ReadFull(t.in, message)
	return tag, message, err
}

func (t *mcsTalk) write(tag byte, message []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.conn.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	frame := binary.AppendUvarint([]byte{tag}, uint64(len(message)))
	_, err := t.conn.Write(append(frame, message...))
	return err
}

// login lets a device in that has checked in, and takes off its list what it
// says it has received.
func (t *mcsTalk) login(message []byte) error {
	var id, user string
	var received []string
	for f, err := range fields(message) {
		if err != nil {
			return err
		}
		switch f.number {
		case 1:
			id = string(f.bytes)
		case 3:
			user = string(f.bytes)
		case 10:
			received = append(received, string(f.bytes))
		}
	}
	if user == "" {
		return errors.New("mcs: a login without a user")
	}
	a := t.service.device(user)
	for _, id := range received {
		t.service.done(a, id)
	}
	if _, err := t.conn.Write([]byte{mcsVersion}); err != nil {
		return err
	}
	reply := appendBytes(nil, 1, id)
	reply = appendVarint(reply, 8, uint64(time.Now().UnixMilli()))
	if err := t.write(mcsLoggedIn, reply); err != nil {
		return err
	}
	t.agent = a
	t.service.join(a, t)
	return nil
}

func (t *mcsTalk) send(m *Message, sub Subscription) error {
	app, subtype, _ := strings.Cut(sub.channel, " ")
	pair := func(key, value string) []byte { return appendBytes(appendBytes(nil, 1, key), 2, value) }
	b := appendBytes(nil, 3, base64.RawURLEncoding.EncodeToString(sub.sender))
	b = appendBytes(b, 5, app)
	b = appendBytes(b, 7, pair("subtype", subtype))
	if len(m.Body) > 0 {
		b = appendBytes(b, 7, pair("content-encoding", "aes128gcm"))
	}
	b = appendBytes(b, 9, m.ID)
	b = appendVarint(b, 17, uint64(m.TTL.Seconds()))
	b = appendVarint(b, 18, uint64(m.Accepted.UnixMilli()))
	b = appendBytes(b, 21, m.Body)
	return t.write(mcsData, b)
}

func (t *mcsTalk) drop() { _ = t.conn.Close() }
