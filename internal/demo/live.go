package demo

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/server"
	"github.com/lastlook/lastlook/watch"
)

// liveFor is how long the live demo takes.
const liveFor = time.Minute

const liveChannel = "hook"

// live is a shop and a receiver on loopback, in real time.
type live struct {
	mu      sync.Mutex
	play    *play
	secret  []byte
	scripts map[*product]script
	badSigs int
}

// script is what happens to a product. Moments count from the start.
type script struct {
	falls  time.Duration // to the price that is waited for, or back in stock
	flash  bool          // and is put back as soon as somebody has read it
	outage time.Duration // after the first read of the new price, the shop answers 503 for so long
}

// RunLive plays a minute in real time: a real shop and a real receiver on
// loopback, the real page source and the signed webhook.
func RunLive(ctx context.Context, opt Options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "lastlook-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary directory: %w", err)
	}
	defer os.RemoveAll(dir)
	l := newLive(opt)
	shop, stopShop, err := listen(l.page)
	if err != nil {
		return err
	}
	defer stopShop()
	hook, stopHook, err := listen(l.receive)
	if err != nil {
		return err
	}
	defer stopHook()
	srv, err := l.setUp(ctx, dir, shop, hook)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	tell := func(format string, args ...any) {
		if !opt.JSON && !opt.Quiet {
			fmt.Fprintf(out, format+"\n", args...)
		}
	}
	tell("A shop at %s and a receiver at %s, for %s. What lastlook does:\n", shop, hook, liveFor)

	ctx, cancel := context.WithTimeout(ctx, liveFor)
	defer cancel()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ctx) }()
	told := map[lastlook.ID]string{}
	every := time.NewTicker(250 * time.Millisecond)
	defer every.Stop()
	for running := true; running; {
		select {
		case err = <-served:
			running = false
		case <-every.C:
		}
		l.narrate(context.WithoutCancel(ctx), srv, told, tell)
	}
	if err != nil {
		return err
	}
	return l.report(ctx, opt, srv, out)
}

// newLive makes the products: one that falls and stays, one that is put back
// before it can be told, one whose shop stumbles, one that comes back.
func newLive(opt Options) *live {
	now := time.Now()
	w := &world{seeded: seeded{opt.Seed}, end: now.Add(liveFor)}
	l := &live{scripts: map[*product]script{}}
	r := w.rand("live")
	at := func(from int) time.Duration { return time.Duration(from*1000+r.IntN(3000)) * time.Millisecond }
	for i, s := range []script{{falls: at(3)}, {falls: at(5), flash: true}, {falls: at(1), outage: 5 * time.Second}, {falls: at(12)}} {
		p := &product{id: fmt.Sprintf("p%d", i), title: names[i], market: &markets[i], target: 50000, stockWatch: i == 3}
		f := fact{at: now, cents: 59800, stock: watch.InStock}
		if p.stockWatch {
			f.stock = watch.OutOfStock
		}
		p.log = []fact{f, {at: now.Add(s.falls), cents: 42000 + r.IntN(7900), stock: watch.InStock}}
		w.products = append(w.products, p)
		l.scripts[p] = s
	}
	l.play = &play{w: w, channels: []string{liveChannel}, s: newSched(now), looks: map[*product][]lookedAt{}, onceADay: true}
	return l
}

func (l *live) setUp(ctx context.Context, path, shop, hook string) (*server.Server, error) {
	dir, err := config.Open(path)
	if err != nil {
		return nil, err
	}
	secret := config.NewWebhookSecret()
	if l.secret, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(string(secret), "whsec_")); err != nil {
		return nil, fmt.Errorf("decode the webhook's secret: %w", err)
	}
	err = dir.UpdateChannels(ctx, func(c config.Channels) (config.Channels, error) {
		return c.Add(config.Channel{Name: liveChannel, Kind: config.KindWebhook, URL: hook + "/hook", Secret: secret})
	})
	if err != nil {
		return nil, err
	}
	srv, err := server.Open(ctx, server.Options{Dir: dir, AllowPrivate: []string{"127.0.0.1"}})
	if err != nil {
		return nil, err
	}
	for _, p := range l.play.w.products {
		n := server.NewWatch{URL: shop + "/" + p.id, Name: p.title, Recipient: recipient, Every: watch.MinInterval,
			Channels: []string{liveChannel}, BackInStock: p.stockWatch}
		if !p.stockWatch {
			n.Below = p.market.money(p.target).String()
		}
		if _, err := srv.AddWatch(ctx, n); err != nil {
			return nil, errors.Join(err, srv.Close())
		}
	}
	return srv, nil
}

// page serves a product, as it is now.
func (l *live) page(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.play.w.products, func(p *product) bool { return "/"+p.id == r.URL.Path })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	p, now := l.play.w.products[i], time.Now()
	s := l.scripts[p]
	if status, down := in(p.troubles, now); down {
		http.Error(w, "please come back later", status)
		return
	}
	f := p.at(now)
	holds := p.holds(f)
	l.play.looks[p] = append(l.play.looks[p], lookedAt{at: now, holds: holds, sweep: true})
	if holds && s.flash {
		p.log = append(p.log, fact{at: now.Add(time.Millisecond), cents: 59800, stock: watch.InStock})
	}
	if holds && s.outage > 0 {
		p.troubles = append(p.troubles, trouble{now.Add(time.Millisecond), now.Add(s.outage), http.StatusServiceUnavailable})
		s.outage = 0
		l.scripts[p] = s
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, p.pageOf(f)) // whoever asked may have gone
}

// receive takes a signed message.
func (l *live) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		http.Error(w, "cannot read the body", http.StatusBadRequest)
		return
	}
	mac := hmac.New(sha256.New, l.secret)
	id := r.Header.Get("webhook-id")
	fmt.Fprintf(mac, "%s.%s.%s", id, r.Header.Get("webhook-timestamp"), body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	var m struct {
		Data struct {
			URL      string    `json:"url"`
			LookedAt time.Time `json:"looked_at"`
		} `json:"data"`
	}
	err = json.Unmarshal(body, &m)
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.play.w.products, func(p *product) bool { return strings.HasSuffix(m.Data.URL, "/"+p.id) })
	if !hmac.Equal([]byte(want), []byte(r.Header.Get("webhook-signature"))) || err != nil || i < 0 {
		l.badSigs++
		http.Error(w, "not signed as it must be", http.StatusBadRequest)
		return
	}
	p, now := l.play.w.products[i], time.Now()
	l.play.sent = append(l.play.sent, accepted{product: p, channel: liveChannel, at: now, looked: m.Data.LookedAt, cents: p.at(now).cents, key: id})
	w.WriteHeader(http.StatusAccepted)
}

// narrate tells what is new in the outbox.
func (l *live) narrate(ctx context.Context, srv *server.Server, told map[lastlook.ID]string, tell func(string, ...any)) {
	recs, err := srv.Outbox().List(ctx, lastlook.Query{Full: true})
	if err != nil {
		return // the store is busy; next time
	}
	for _, rec := range slices.Backward(recs) {
		if len(rec.Story) == 0 {
			continue
		}
		last := rec.Story[len(rec.Story)-1]
		now := fmt.Sprint(rec.State, len(rec.Story))
		if told[rec.ID] == now || last.Event == lastlook.EventSending {
			continue
		}
		told[rec.ID] = now
		var v watch.Value
		_ = json.Unmarshal(rec.Detection, &v) // without it, the line has no title
		tell("%s", line(v.Observation.Title, rec, last.At, last.Event, rec.Reason))
	}
}

func (l *live) report(ctx context.Context, opt Options, srv *server.Server, out io.Writer) error {
	st, err := srv.Outbox().Stats(context.WithoutCancel(ctx), time.Time{})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range st.Ended {
		if e.State == lastlook.StateDropped {
			l.play.withheld += e.Count
		}
	}
	c := judge(l.play)
	if opt.JSON {
		err = json.NewEncoder(out).Encode(Result{Seed: opt.Seed, Policies: map[string]Counts{"lastlook": c}})
	} else {
		_, err = fmt.Fprintf(out, "\nsent %d, withheld %d; false: %d stale, %d in the gap; duplicates %d, never told %d; signatures that did not verify: %d\n",
			c.Sent, c.Withheld, c.FalseStale, c.FalseInGap, c.Duplicates, c.NeverTold, l.badSigs)
	}
	switch {
	case err != nil:
		return err
	case l.badSigs > 0:
		return errors.New("a webhook's signature did not verify")
	}
	return verdict(opt.Seed, c)
}

// listen serves h on loopback.
func listen(h http.HandlerFunc) (url string, stop func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen on loopback: %w", err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // ends with Close
	}()
	return "http://" + ln.Addr().String(), func() {
		_ = srv.Close()
		<-done
	}, nil
}
