package pushservice

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"
)

// Google is where a Chromium finds the service.
type Google struct{ CheckIn, Register, MCS string }

// Google starts the side for Chromium: the check-in of a device, the
// registration of its pages, and the connection over which messages come (MCS).
func (s *Service) Google() (Google, error) {
	mcs, err := s.startMCS()
	if err != nil {
		return Google{}, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /checkin", s.checkIn)
	mux.HandleFunc("POST /register3", s.register)
	server := httptest.NewServer(mux)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closers = append(s.closers, mcs.close, func() error {
		server.Close()
		return nil
	})
	return Google{CheckIn: server.URL + "/checkin", Register: server.URL + "/register3", MCS: mcs.url()}, nil
}

// checkIn gives a device an id and the secret that goes with it, or confirms
// those that it has.
func (s *Service) checkIn(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var id, secret uint64
	for f, err := range fields(body) {
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		case f.number == 2:
			id = f.value
		case f.number == 13:
			secret = f.value
		}
	}
	if id == 0 || secret == 0 {
		var b [16]byte
		_, _ = rand.Read(b[:]) // never fails
		id, secret = binary.BigEndian.Uint64(b[:8])>>1|1, binary.BigEndian.Uint64(b[8:])|1
	}
	s.device(strconv.FormatUint(id, 10))
	reply := appendVarint(nil, 1, 1)
	reply = appendVarint(reply, 3, uint64(time.Now().UnixMilli()))
	reply = appendFixed64(reply, 7, id)
	reply = appendFixed64(reply, 8, secret)
	reply = appendVarint(reply, 9, 1)
	w.Header().Set("Content-Type", "application/x-protobuffer")
	_, _ = w.Write(reply)
}

// device returns a device's agent, which is made if need be.
func (s *Service) device(id string) *agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.agents[id]
	if a == nil {
		a = &agent{through: true}
		s.agents[id] = a
	}
	return a
}

// register gives a page's subscription a token, or takes it back.
func (s *Service) register(w http.ResponseWriter, r *http.Request) {
	reply, err := s.registered(r)
	if err != nil {
		http.Error(w, "Error="+err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, "token="+reply)
}

func (s *Service) registered(r *http.Request) (string, error) {
	if err := r.ParseForm(); err != nil {
		return "", err
	}
	device := r.Form.Get("device")
	if auth := r.Header.Get("Authorization"); device == "" || !strings.HasPrefix(auth, "AidLogin "+device+":") {
		return "", fmt.Errorf("AUTHENTICATION_FAILED: device %q", device)
	}
	subtype := r.Form.Get("X-subtype")
	if subtype == "" {
		return "", errors.New("INVALID_PARAMETERS: no X-subtype")
	}
	channel := r.Form.Get("app") + " " + subtype
	s.unsubscribe(device, channel) // a new registration ends the one before
	if r.Form.Get("delete") == "true" {
		return r.Form.Get("app"), nil
	}
	key, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(r.Form.Get("sender"), "="))
	if err != nil || len(key) != 65 {
		return "", errors.New("INVALID_SENDER")
	}
	s.device(device)
	sub := s.subscribe(device, channel, GoogleHost, "/fcm/send/", key)
	return sub.Token, nil
}
