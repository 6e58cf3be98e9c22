package server

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Two who watch one page keep their own intervals; what tells a device is refused
// where that is not known; a second import adds nothing.
func TestExportAndImport(t *testing.T) {
	from := open(t)
	for _, n := range []NewWatch{
		{Below: "500 EUR", Every: time.Hour}, {Below: "400 EUR", Every: 2 * time.Hour},
	} {
		n.URL, n.Recipient, n.Channels, n.NoLook = "http://shop.example/p", "me", []string{"log"}, true
		if _, err := from.AddWatch(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if n, unreadable, err := from.ExportWatches(t.Context(), &b, "json"); n != 2 || len(unreadable) > 0 || err != nil {
		t.Fatal(n, unreadable, err)
	}
	if s := b.String(); !strings.Contains(s, `"1h0m0s"`) || !strings.Contains(s, `"2h0m0s"`) {
		t.Errorf("not the watches' own intervals:\n%s", s)
	}
	to := open(t)
	foreign := strings.Replace(b.String(), `"recipient": "me"`, `"recipient": "device:nobody"`, 1)
	for _, c := range []struct {
		content, want string
		dry           bool
	}{
		{b.String(), "imported imported", true},
		{foreign, "refused imported", false},
		{b.String(), "imported exists", false},
		{b.String(), "exists exists", false},
	} {
		i, err := ReadImport(strings.NewReader(c.content), "auto", "", NewWatch{Recipient: "me", Channels: []string{"log"}})
		if err != nil {
			t.Fatal(err)
		}
		var did []string
		err = to.Import(t.Context(), &i, c.dry, func(line Imported) error {
			did = append(did, line.Did)
			if line.Did == ImportRefused && !strings.Contains(line.Why, "device that is not known here") || (line.ID == "") != (c.dry || line.Did == ImportRefused) {
				t.Errorf("%+v", line)
			}
			return nil
		})
		if got := strings.Join(did, " "); got != c.want || err != nil {
			t.Errorf("%s, want %s: %v", got, c.want, err)
		}
	}
	all, err := to.Watches(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("%d watches: %v", len(all), err)
	}
}
