package config

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestPeople(t *testing.T) {
	dir, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if p, err := dir.People(); err != nil || len(p) != 0 {
		t.Fatalf("%v, %v", p, err)
	}
	set := func(one Person) error {
		return dir.UpdatePeople(t.Context(), func(p People) (People, error) { return p.Set(one) })
	}
	for _, one := range []Person{{Name: "me", Quiet: "22:00-07:00", Zone: "Europe/Berlin"}, {Name: "bob", PerDay: 3}, {Name: "me", Quiet: "23:00-06:00", Zone: "Asia/Tokyo"}} {
		if err := set(one); err != nil {
			t.Fatal(err)
		}
	}
	p, err := dir.People()
	if err != nil || len(p) != 2 || p[0].Name != "bob" || p[1].Quiet != "23:00-06:00" {
		t.Fatalf("%v, %v", p, err)
	}
	for _, bad := range []Person{{}, {Name: "a\nb"}, {Name: "a", PerDay: -1}, {Name: "a", Zone: "Local"}, {Name: "a", Zone: "Europe/Nowhere"}, {Name: "a", Quiet: "22"}} {
		if err := set(bad); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, err := p.Remove("carol"); !errors.Is(err, ErrInvalid) {
		t.Errorf("removed nobody: %v", err)
	}
	for _, text := range []string{`{}`, `{"version":2}`, `{"version":1,"recipients":[{"name":"a","colour":"red"}]}`, `{"version":1,"recipients":[{"name":"a"},{"name":"a"}]}`, `{"version":1} {}`, `[`} {
		if err := os.WriteFile(dir.PeopleFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := dir.People(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "recipients.json") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
