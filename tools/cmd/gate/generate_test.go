package main

import (
	"slices"
	"testing"
)

func TestChanged(t *testing.T) {
	before := map[string]hash{"same": {1}, "stale": {1}, "gone": {1}}
	after := map[string]hash{"same": {1}, "stale": {2}, "new": {1}}
	if got, want := changed(before, after), []string{"gone", "new", "stale"}; !slices.Equal(got, want) {
		t.Errorf("changed: %v, want %v", got, want)
	}
}
