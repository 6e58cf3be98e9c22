// Package calls is analyzed, not run.
package calls

import (
	"net/http"
	"time"
)

func sleeps() { time.Sleep(time.Second) } // not a test

func gets() (*http.Response, error) {
	_ = http.MethodGet
	_ = http.DefaultTransport   // want `http.DefaultTransport has no time limit`
	_, _ = http.Head("http://") // want `http.Head has no time limit`
	c := &http.Client{Timeout: time.Second}
	_, _ = c.Get("http://")
	//lint:ignore nodefaultclient this line shows how a finding is accepted
	_, _ = http.Get("http://")
	_, _ = http.Get("http://")               // want `http.Get has no time limit`
	_, _ = http.Get("http://")               //lint:ignore other,nodefaultclient on its own line
	return http.DefaultClient.Get("http://") // want `http.DefaultClient has no time limit`
}
