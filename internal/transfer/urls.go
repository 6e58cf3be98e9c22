package transfer

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/lastlook/lastlook/watch"
)

// writeURLs writes each address once.
func writeURLs(w io.Writer, entries []Entry) error {
	b := bufio.NewWriter(w)
	seen := map[string]bool{}
	for i := range entries {
		if u := entries[i].Listing.URL; !seen[u] {
			seen[u] = true
			_, _ = b.WriteString(u + "\n") // Flush tells
		}
	}
	return b.Flush()
}

// readURLs reads a list of addresses, one a line; what follows an address is what to
// call it. Empty lines, and those that begin with #, are left out.
func (f *File) readURLs(b []byte, d *Defaults) error {
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		address, name, _ := strings.Cut(line, " ")
		if tab, rest, ok := strings.Cut(address, "\t"); ok {
			address, name = tab, rest+" "+name
		}
		it := Item{Where: fmt.Sprintf("line %d", n), Entry: Entry{Listing: watch.Listing{URL: address, Private: true}, Watch: watch.Watch{Name: strings.TrimSpace(name)}}}
		if err := f.add(it, d); err != nil {
			return err
		}
	}
	return nil
}
