package result

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteHasTheCommonForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results", "x.json")
	f := New(t.Context(), map[string]float64{"ratio": 0.5}, []string{"a"})
	if err := f.Write(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Commit, Machine string
		Summary         map[string]float64
		Rows            []string
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if got.Commit == "" || got.Summary["ratio"] != 0.5 || len(got.Rows) != 1 || !strings.Contains(got.Machine, "go1.") {
		t.Errorf("the file says %s", b)
	}
}
