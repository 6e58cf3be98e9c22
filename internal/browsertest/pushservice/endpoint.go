package pushservice

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"

	"github.com/lastlook/lastlook/webpush/webpushtest"
)

// maxBody is what a push service takes (RFC 8030, section 7.2), in bytes.
const maxBody = 4096

// endpoint answers application servers over HTTPS, as all hosts at once.
type endpoint struct {
	service *Service
	server  *httptest.Server
	roots   *x509.CertPool
}

func startEndpoint(s *Service) (*endpoint, error) {
	cert, roots, err := newAuthority(MozillaHost, GoogleHost)
	if err != nil {
		return nil, err
	}
	e := &endpoint{service: s, roots: roots}
	e.server = httptest.NewUnstartedServer(e)
	e.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	e.server.EnableHTTP2 = true
	e.server.StartTLS()
	return e, nil
}

func (e *endpoint) close() error {
	e.server.Close()
	return nil
}

// Roots are the authorities that a sender must trust to reach the endpoint.
func (s *Service) Roots() *x509.CertPool { return s.endpoint.roots }

// Via says where to connect to for each "host:port" of an endpoint.
func (s *Service) Via() map[string]string {
	there := s.endpoint.server.Listener.Addr().String()
	return map[string]string{
		net.JoinHostPort(MozillaHost, "443"): there,
		net.JoinHostPort(GoogleHost, "443"):  there,
	}
}

// ServeHTTP takes a push message.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.service.mu.Lock()
	override := e.service.override
	e.service.mu.Unlock()
	if override != nil {
		override.ServeHTTP(w, r)
		return
	}
	m, record, err := e.read(r)
	if err != nil {
		record.Refused = err.Error()
		e.service.record(record)
		http.Error(w, record.Refused, record.Status)
		return
	}
	record.Status = http.StatusCreated
	e.service.record(record)
	w.Header().Set("Location", "https://"+r.Host+"/m/"+m.ID)
	w.Header().Set("TTL", strconv.Itoa(int(m.TTL.Seconds())))
	w.WriteHeader(record.Status)
	e.service.accept(m)
}

// read checks all that can be wrong with a request. The record's status says
// how to refuse it.
func (e *endpoint) read(r *http.Request) (*Message, Request, error) {
	now := e.service.now()
	record := Request{Token: path.Base(r.URL.Path), Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency")}
	refuse := func(status int, err error) (*Message, Request, error) {
		record.Status = status
		return nil, record, err
	}
	sub, ok := e.service.find(record.Token)
	if !ok || sub.Endpoint != "https://"+r.Host+r.URL.RequestURI() {
		return refuse(http.StatusNotFound, errors.New("no such subscription"))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 2*maxBody))
	record.Size = len(body)
	if err != nil {
		return refuse(http.StatusBadRequest, err)
	}
	claims, err := webpushtest.VerifyVAPID(r.Header.Get("Authorization"), "https://"+sub.host, now)
	if err != nil {
		return refuse(statusOf(err), err)
	}
	if want := base64.RawURLEncoding.EncodeToString(sub.Key); claims.Key != want {
		return refuse(http.StatusForbidden, errors.New("the VAPID key is not the one that the subscription was made with"))
	}
	if sub.Gone {
		return refuse(http.StatusGone, errors.New("the subscription is gone"))
	}
	options, err := webpushtest.CheckRequest(r, body)
	if err != nil {
		return refuse(statusOf(err), err)
	}
	if err := checkBody(r.Header, body); err != nil {
		return refuse(http.StatusBadRequest, err)
	}
	record.TTL = options.TTL
	return &Message{
		ID: rand.Text(), Token: record.Token, Topic: options.Topic, TTL: options.TTL,
		Accepted: now, Body: body,
	}, record, nil
}

func statusOf(err error) int {
	if refusal, ok := errors.AsType[*webpushtest.Refusal](err); ok {
		return refusal.Status
	}
	return http.StatusInternalServerError
}

// checkBody checks what of an encrypted message is not secret: RFC 8188,
// section 2.1, with what RFC 8291, section 4, asks of it.
func checkBody(h http.Header, body []byte) error {
	if h.Get("Crypto-Key") != "" || h.Get("Encryption") != "" {
		return errors.New("headers of an encoding that came before aes128gcm")
	}
	if len(body) == 0 {
		return nil
	}
	const fixed, point, tag = 16 + 4 + 1, 65, 16
	if len(body) < fixed+point+1+tag {
		return fmt.Errorf("%d bytes cannot be a message", len(body))
	}
	size := binary.BigEndian.Uint32(body[16:20])
	if n := body[20]; n != point {
		return fmt.Errorf("the key id has %d bytes, and not %d", n, point)
	}
	if _, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), body[fixed:fixed+point]); err != nil {
		return fmt.Errorf("the key id: %w", err)
	}
	if record := len(body) - fixed - point; int64(size) < 18 || int64(record) > int64(size) {
		return fmt.Errorf("a record size of %d for %d bytes: a message has one record", size, record)
	}
	return nil
}
