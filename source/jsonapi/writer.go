package jsonapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// writer writes a value as JSON, and stops once that becomes too long: a value
// that holds another one many times is small in memory and endless on paper.
type writer struct {
	b    strings.Builder
	left int
}

func (w *writer) raw(s string) {
	if w.left -= len(s); w.left >= 0 {
		w.b.WriteString(s)
	}
}

func (w *writer) put(v any) {
	if w.left < 0 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		w.raw("{")
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if w.left < 0 {
				return
			}
			if i > 0 {
				w.raw(",")
			}
			w.put(k)
			w.raw(":")
			w.put(v[k])
		}
		w.raw("}")
	case []any:
		w.raw("[")
		for i, e := range v {
			if w.left < 0 {
				return
			}
			if i > 0 {
				w.raw(",")
			}
			w.put(e)
		}
		w.raw("]")
	case json.Number:
		w.raw(v.String())
	case string:
		if len(v) > w.left {
			w.left = -1
			return
		}
		b, err := json.Marshal(v)
		if err != nil {
			w.left = -1
			return
		}
		w.raw(string(b))
	default:
		b, err := gojq.Marshal(v)
		if err != nil {
			w.left = -1
			return
		}
		w.raw(string(b))
	}
}
