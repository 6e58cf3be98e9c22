package pushbench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/lastlook/lastlook/webpush"
	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// ServeCommand makes this program the push service: see [Serve].
const ServeCommand = "push-service"

// browsers is how many browsers subscribe at the service.
const browsers = 1000

// greeting is what the service says first.
type greeting struct {
	Subscriptions []webpush.Subscription `json:"subscriptions"`
}

// report is what the service says last.
type report struct {
	// Taken counts messages, Checked those that were verified and decrypted.
	Taken   int    `json:"taken"`
	Checked int    `json:"checked"`
	Problem string `json:"problem,omitempty"`
}

// Serve is a push service that costs next to nothing, so that what is measured
// is who sends: it reads requests, counts, and answers 201. One in 1000 it
// checks as a strict service would, and decrypts. It ends when its input does.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &service{origin: "http://" + l.Addr().String(), browsers: map[string]*webpushtest.Browser{}}
	g, err := s.greet()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if err := json.NewEncoder(out).Encode(g); err != nil {
		return errors.Join(err, l.Close())
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.accept(l, &wg) })
	_, err = io.Copy(io.Discard, in) // until the other side closes it
	err = errors.Join(err, ctx.Err(), l.Close())
	s.end()
	wg.Wait()
	return errors.Join(err, json.NewEncoder(out).Encode(s.report))
}

type service struct {
	origin   string
	browsers map[string]*webpushtest.Browser // by path; not changed while serving

	mu     sync.Mutex
	conns  []net.Conn
	report report
}

func (s *service) greet() (greeting, error) {
	var g greeting
	for i := range browsers {
		b, err := webpushtest.NewBrowser()
		if err != nil {
			return g, err
		}
		path := fmt.Sprintf("/wpush/v2/some-capability-of-the-usual-length-%010d", i)
		sub, err := b.Subscription(s.origin + path)
		if err != nil {
			return g, err
		}
		s.browsers[path] = b
		g.Subscriptions = append(g.Subscriptions, sub)
	}
	return g, nil
}

func (s *service) accept(l net.Listener, wg *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // closed
		}
		s.mu.Lock()
		s.conns = append(s.conns, c)
		s.mu.Unlock()
		wg.Go(func() {
			taken, checked, err := s.converse(c)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.report.Taken += taken
			s.report.Checked += checked
			if err != nil {
				s.report.Problem = err.Error()
			}
		})
	}
}

func (s *service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close()
	}
}

var (
	answer        = []byte("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
	endOfHeader   = []byte("\r\n\r\n")
	contentLength = []byte("\r\nContent-Length: ")
)

// every is how rarely a message is checked.
const every = 1000

// converse answers one connection's requests.
func (s *service) converse(c net.Conn) (taken, checked int, err error) {
	buf := make([]byte, 16<<10)
	have := 0
	for {
		size := whole(buf[:have])
		if size == 0 {
			n, err := c.Read(buf[have:])
			if n == 0 || err != nil {
				return taken, checked, nil // the other side is done
			}
			have += n
			continue
		}
		if taken%every == 0 {
			if err := s.check(buf[:size]); err != nil {
				return taken, checked, err
			}
			checked++
		}
		taken++
		if _, err := c.Write(answer); err != nil {
			return taken, checked, nil
		}
		have = copy(buf, buf[size:have])
	}
}

// whole returns the length of the request at the beginning of b, or 0 if it is
// not all there.
func whole(b []byte) int {
	head := bytes.Index(b, endOfHeader)
	if head < 0 {
		return 0
	}
	at := bytes.Index(b[:head], contentLength)
	if at < 0 {
		return head + len(endOfHeader)
	}
	digits, _, _ := bytes.Cut(b[at+len(contentLength):head+2], []byte("\r"))
	n, err := strconv.Atoi(string(digits))
	if size := head + len(endOfHeader) + n; err == nil && size <= len(b) {
		return size
	}
	return 0
}

// check is what a strict service does, and the browser behind it.
func (s *service) check(request []byte) error {
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	b := s.browsers[r.URL.Path]
	if b == nil {
		return errors.New("a message to nobody")
	}
	if _, err := webpushtest.CheckRequest(r, body); err != nil {
		return err
	}
	if _, err := webpushtest.VerifyVAPID(r.Header.Get("Authorization"), s.origin, time.Now()); err != nil {
		return err
	}
	got, err := b.Decrypt(body)
	if err == nil && !json.Valid(got) {
		err = errors.New("what the browser decrypts is no JSON")
	}
	return err
}

// remote is the service as another process.
type remote struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	subs []webpush.Subscription
	used time.Duration // of processors; known when it has stopped
}

func (b *Bench) start(ctx context.Context) (*remote, error) {
	r := &remote{cmd: b.Self(ctx, ServeCommand)}
	// On one thread, it is woken less often, and takes less of the processors.
	r.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	r.out = json.NewDecoder(out)
	var g greeting
	if err := r.out.Decode(&g); err != nil {
		return nil, errors.Join(fmt.Errorf("push service: %w", err), r.in.Close(), r.cmd.Wait())
	}
	r.subs = g.Subscriptions
	return r, nil
}

// stop ends the service and returns its report.
func (r *remote) stop() (report, error) {
	var rep report
	err := errors.Join(r.in.Close(), r.out.Decode(&rep), r.cmd.Wait())
	if p := r.cmd.ProcessState; p != nil {
		r.used = p.UserTime() + p.SystemTime()
	}
	if err == nil && rep.Problem != "" {
		err = errors.New("push service: " + rep.Problem)
	}
	return rep, err
}
