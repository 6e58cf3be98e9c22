package price_test

import (
	"testing"

	"github.com/lastlook/lastlook/watch/price"
)

func BenchmarkReadText(b *testing.B) {
	for name, text := range map[string]string{
		"price":    "1.299,00 €",
		"usual":    "UVP 1.299,00 € jetzt nur 999,00 € inkl. MwSt. (9,99 €/kg)",
		"japanese": "通常価格 2,980円 → 1,980円（税込） 19ポイント還元",
		"words":    "Der schnelle braune Fuchs springt über den faulen Hund und bleibt dort liegen",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				price.ReadText(text, price.Context{Locale: "de-DE"})
			}
		})
	}
}
