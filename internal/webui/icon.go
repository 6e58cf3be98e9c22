package webui

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
)

// icon draws the mark, an open eye, as PNG: browsers show no SVG in
// notifications. A negative size is a badge: white on nothing, of which
// platforms take the shape alone.
func icon(size int) ([]byte, error) {
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
	var b bytes.Buffer
	err := png.Encode(&b, img)
	return b.Bytes(), err
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
