package httpapi

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

//go:embed reference.html
var referenceHTML string

// The page of the reference, and the description that it is made from.
const (
	referencePath = "/api/v1/reference"
	openAPIPath   = "/openapi.json"
)

// entry is a route as the reference shows it.
type entry struct {
	ID, Method, Path, Summary, Who string
	Parameters                     []field
	Body, Answer                   []field
	Status                         string
}

// field is a parameter, or a member of a body.
type field struct {
	Name, Type, Doc string
	Required        bool
	Depth           int
}

// registerReference serves the description, and the page that people read.
func registerReference(mux *http.ServeMux, doc *huma.OpenAPI) {
	text, err := json.Marshal(doc)
	if err != nil {
		panic(fmt.Sprintf("httpapi: the API's description cannot be written: %v", err)) // it is made of our own types
	}
	page := referencePage(doc)
	serve := func(kind string, b []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
			_, _ = w.Write(b) // who has gone does not read it
		}
	}
	mux.HandleFunc("GET "+openAPIPath, serve("application/json", text))
	mux.HandleFunc("GET "+referencePath, serve("text/html; charset=utf-8", page))
}

func referencePage(doc *huma.OpenAPI) []byte {
	var entries []entry
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				entries = append(entries, entryOf(doc, op))
			}
		}
	}
	var b bytes.Buffer
	t := template.Must(template.New("reference").Parse(referenceHTML))
	if err := t.Execute(&b, map[string]any{"Info": doc.Info, "Entries": entries}); err != nil {
		panic(fmt.Sprintf("httpapi: the reference cannot be written: %v", err))
	}
	return b.Bytes()
}

func entryOf(doc *huma.OpenAPI, op *huma.Operation) entry {
	e := entry{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Who: whoMay(op.Security)}
	for _, p := range op.Parameters {
		e.Parameters = append(e.Parameters, field{Name: p.Name, Type: p.In + " " + typeOf(doc, p.Schema), Doc: cmp.Or(p.Description, p.Schema.Description), Required: p.Required})
	}
	if op.RequestBody != nil {
		e.Body = fieldsOf(doc, schemaIn(op.RequestBody.Content), 0)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		if strings.HasPrefix(status, "2") {
			e.Status = status
			e.Answer = fieldsOf(doc, schemaIn(op.Responses[status].Content), 0)
		}
	}
	return e
}

// whoMay says in words who may use a route.
func whoMay(security []map[string][]string) string {
	if len(security) == 0 {
		return "anybody"
	}
	var out []string
	for _, s := range security {
		for name, scopes := range s {
			switch name {
			case "cookie":
			case "key":
				if scopes[0] == string(anyScope) {
					out = append(out, "any key")
				} else {
					out = append(out, "keys that may "+scopes[0])
				}
			case "device":
				out = append(out, "devices")
			default:
				out = append(out, name+"s")
			}
		}
	}
	return strings.Join(out, ", ")
}

func schemaIn(content map[string]*huma.MediaType) *huma.Schema {
	if m := content["application/json"]; m != nil {
		return m.Schema
	}
	return nil
}

func resolve(doc *huma.OpenAPI, s *huma.Schema) *huma.Schema {
	if s != nil && s.Ref != "" {
		return doc.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

// maxDepth is how deep the members of members are shown.
const maxDepth = 3

func fieldsOf(doc *huma.OpenAPI, s *huma.Schema, depth int) (out []field) {
	s = resolve(doc, s)
	for s != nil && s.Type == huma.TypeArray {
		s = resolve(doc, s.Items)
	}
	if s == nil || depth > maxDepth {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		out = append(out, field{Name: name, Type: typeOf(doc, p), Doc: p.Description, Required: slices.Contains(s.Required, name), Depth: depth})
		out = append(out, fieldsOf(doc, p, depth+1)...)
	}
	return out
}

// typeOf says in a few words what a value is.
func typeOf(doc *huma.OpenAPI, s *huma.Schema) string {
	if s = resolve(doc, s); s == nil {
		return ""
	}
	text := s.Type
	switch {
	case s.Type == "":
		return "any JSON"
	case s.Type == huma.TypeArray:
		return "list of " + typeOf(doc, s.Items)
	case s.Format != "" && s.Type == huma.TypeString:
		text = s.Format
	}
	if len(s.Enum) > 0 {
		var list []string
		for _, v := range s.Enum {
			list = append(list, fmt.Sprint(v))
		}
		text = strings.Join(list, " | ")
	}
	return text
}
