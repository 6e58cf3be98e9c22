package config

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/lastlook/lastlook/webpush"
)

func publicOf(v VAPID) (out []string) {
	for _, k := range v {
		out = append(out, k.Public())
	}
	return out
}

func TestVAPID(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if v, err := d.VAPID(); err != nil || v.Current() != nil {
		t.Errorf("before the first start: %v, %v", v, err)
	}
	// Several processes start at once: all have the same keys.
	var wg sync.WaitGroup
	made := make([]VAPID, 8)
	for i := range made {
		wg.Go(func() {
			v, err := d.EnsureVAPID(t.Context())
			if err != nil {
				t.Error(err)
			}
			made[i] = v
		})
	}
	wg.Wait()
	first := made[0].Current().Public()
	for _, v := range made {
		if len(v) != 1 || v.Current().Public() != first {
			t.Errorf("made %v", publicOf(v))
		}
	}
	info, err := os.Stat(d.VAPIDFile())
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v, %v", info.Mode(), err)
	}
	rotated, err := d.RotateVAPID(t.Context())
	if err != nil || len(rotated) != 2 || rotated[1].Public() != first || rotated.Current().Public() == first {
		t.Fatalf("rotated to %v, %v", publicOf(rotated), err)
	}
	second := rotated.Current().Public()
	// What was kept comes back, and once only.
	pem, err := rotated[1].PEM()
	if err != nil {
		t.Fatal(err)
	}
	v, err := d.ImportVAPID(t.Context(), pem)
	if err != nil || len(v) != 2 || v.Current().Public() != first || v[1].Public() != second {
		t.Errorf("imported the first again: %v, %v", publicOf(v), err)
	}
	raw, err := rotated.Current().Raw()
	if err != nil {
		t.Fatal(err)
	}
	if v, err = d.ImportVAPID(t.Context(), []byte(raw+"\n")); err != nil || v.Current().Public() != second {
		t.Errorf("imported in base64url: %v, %v", publicOf(v), err)
	}
	if _, err = d.ImportVAPID(t.Context(), []byte("nonsense!")); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "nonsense") {
		t.Errorf("imported nonsense: %v", err)
	}
	if v, err = d.ForgetVAPID(t.Context(), []string{first}); err != nil || len(v) != 2 {
		t.Errorf("forgot one that is in use: %v, %v", publicOf(v), err)
	}
	if v, err = d.ForgetVAPID(t.Context(), nil); err != nil || len(v) != 1 || v.Current().Public() != second {
		t.Errorf("left are %v, %v", publicOf(v), err)
	}
	if v, err = d.VAPID(); err != nil || len(v) != 1 || v.Current().Public() != second {
		t.Errorf("read back %v, %v", publicOf(v), err)
	}
	if info, err = os.Stat(d.VAPIDFile()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode became %v, %v", info.Mode(), err)
	}
}

func TestUnreadableVAPID(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := webpush.GenerateKeys()
	if err != nil {
		t.Fatal(err)
	}
	good, err := keys.PEM()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"empty": "", "text": "secret text", "garbage behind": string(good) + "secret text", "cut off": string(good[:60]),
		"another key": "-----BEGIN PUBLIC KEY-----\nc2VjcmV0\n-----END PUBLIC KEY-----\n",
	} {
		if err := os.WriteFile(d.VAPIDFile(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		// They are not made anew in its place: every device would be lost.
		if v, err := d.EnsureVAPID(t.Context()); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, publicOf(v), err)
		}
		if b, err := os.ReadFile(d.VAPIDFile()); err != nil || string(b) != content {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
}

func TestAllowPrivate(t *testing.T) {
	d, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.AllowPrivate(); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(d.AllowFile(), []byte("# mine\n 192.168.1.5 # the shop\n\n\tntfy.lan\r\nfd00::/8"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := d.AllowPrivate(); err != nil || strings.Join(got, "|") != "192.168.1.5|ntfy.lan|fd00::/8" {
		t.Errorf("%q, %v", got, err)
	}
}
