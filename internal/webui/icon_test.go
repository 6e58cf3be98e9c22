package webui

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "draw the icons anew instead of comparing them")

// TestIcons keeps the icons what the drawing below says. They are files and not
// drawn by the server because each costs some 10 million roots.
func TestIcons(t *testing.T) {
	for name, size := range map[string]int{"icon-192.png": 192, "icon-512.png": 512, "badge-96.png": -96} {
		file := filepath.Join("assets", name)
		want := icon(size)
		if *update {
			var b bytes.Buffer
			if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, want); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		got := image.NewNRGBA(img.Bounds())
		draw.Draw(got, got.Bounds(), img, image.Point{}, draw.Src)
		if got.Bounds() != want.Bounds() || !bytes.Equal(got.Pix, want.Pix) {
			t.Errorf("%s is stale: run `go test -run TestIcons -update ./internal/webui`", file)
		}
		middle := got.Bounds().Dx() / 2
		if corner, centre := got.NRGBAAt(0, 0).A, got.NRGBAAt(middle, middle).A; corner != 0 || centre == 0 {
			t.Errorf("%s: opacity %d at the corner, %d in the middle", file, corner, centre)
		}
	}
}

// icon draws the mark, an open eye; as PNG, because browsers show no SVG in
// notifications. A negative size is a badge: white on nothing, of which
// platforms take the shape alone.
func icon(size int) *image.NRGBA {
	badge := size < 0
	if badge {
		size = -size
	}
	img := image.NewNRGBA(image.Rect(0, 0, size, size))
	const samples = 4
	for y := range size {
		for x := range size {
			var eye, ground float64
			for sy := range samples {
				for sx := range samples {
					u := (float64(x)+(float64(sx)+0.5)/samples)/float64(size)*2 - 1
					v := (float64(y)+(float64(sy)+0.5)/samples)/float64(size)*2 - 1
					if inEye(u, v) {
						eye += 1.0 / samples / samples
					}
					if inGround(u, v) {
						ground += 1.0 / samples / samples
					}
				}
			}
			if badge {
				img.SetNRGBA(x, y, color.NRGBA{255, 255, 255, uint8(eye * 255)})
				continue
			}
			mix := func(a, b float64) uint8 { return uint8(a + (b-a)*eye) }
			img.SetNRGBA(x, y, color.NRGBA{mix(31, 255), mix(94, 255), mix(84, 255), uint8(ground * 255)})
		}
	}
	return img
}

// inGround is a square with round corners.
func inGround(u, v float64) bool {
	const half, round = 1.0, 0.4
	du, dv := math.Max(math.Abs(u)-(half-round), 0), math.Max(math.Abs(v)-(half-round), 0)
	return math.Hypot(du, dv) <= round
}

// inEye is a lens, two circles' common part, with a ring and a pupil in it.
func inEye(u, v float64) bool {
	const away, radius = 0.62, 0.98
	lens := math.Hypot(u, v-away) < radius && math.Hypot(u, v+away) < radius
	r := math.Hypot(u, v)
	return lens && (r > 0.30 || r < 0.16)
}
