package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// The API's description is kept in docs, so that programs can be generated from
// it without a server, and a change of the API is seen in a review. To write it
// anew: LASTLOOK_WRITE_OPENAPI=1 go test -run OpenAPI ./internal/httpapi.
func TestOpenAPIIsWritten(t *testing.T) {
	mux := http.NewServeMux()
	New(mux, Config{Devices: nobody{}, Version: "1"})
	for file, path := range map[string]string{"openapi.json": "/openapi.json", "openapi-3.0.json": "/api/v1/openapi-3.0.json"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		var b bytes.Buffer
		if err := json.Indent(&b, w.Body.Bytes(), "", " "); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%s: HTTP %d, %v", path, w.Code, err)
		}
		b.WriteByte('\n')
		file = "../../docs/" + file
		if os.Getenv("LASTLOOK_WRITE_OPENAPI") != "" {
			if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		kept, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(kept, b.Bytes()) {
			t.Errorf("%s is not what the API is, %v: LASTLOOK_WRITE_OPENAPI=1 go test -run OpenAPI ./internal/httpapi", file, err)
		}
	}
}

// The page that people read has every route, and nothing that a browser loads
// from elsewhere.
func TestReference(t *testing.T) {
	mux := http.NewServeMux()
	New(mux, Config{Devices: nobody{}, Version: "1"})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, referencePath, nil))
	page := w.Body.String()
	for _, want := range []string{"POST /api/v1/notifications", "GET /api/v1/events", "keys that may enqueue"} {
		if !strings.Contains(page, want) {
			t.Errorf("the reference has no %q", want)
		}
	}
	if w.Code != http.StatusOK || strings.Contains(page, "<script") || strings.Contains(page, "src=") || strings.Contains(page, "<no value>") {
		t.Errorf("HTTP %d, and the page is not what it should be", w.Code)
	}
}
