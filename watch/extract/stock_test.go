package extract_test

import (
	"strings"
	"testing"

	"github.com/lastlook/lastlook/watch"
	"github.com/lastlook/lastlook/watch/extract"
)

// TestReadAvailability goes through what shops write of their stock.
func TestReadAvailability(t *testing.T) {
	for is, texts := range map[watch.Availability][]string{
		watch.InStock: {
			"https://schema.org/InStock", "http://schema.org/InStock ", "schema:InStock", "InStock", "in_stock", "IN STOCK", "instock", "In-Stock", "https://schema.org/OnlineOnly", "InStoreOnly", "MadeToOrder", "true", "available",
			"In stock", "250 in stock", "In stock: 14", "10+ available", "12", "Availability: In stock", "In stock. Not available for click & collect", "Disponibilità immediata", "Verfügbarkeit: sofort lieferbar", "Auf Lager",
			"Sofort verfügbar, Lieferzeit 1–3 Werktage", "12 Stück auf Lager", "En stock", "Disponible", "Disponibile", "disponibilità: 5", "Op voorraad", "Voor 23:59 besteld, op voorraad", "I lager", "Finns i lager (10+)", "På lager", "Dostępny", "Skladem > 5 ks", "Skladem", "Stokta var", "Mevcut",
			"В наличии", "在庫あり", "在庫:◎ 在庫あり", "在庫数 12", "現貨", "有货", "재고 있음", "재고: 12", "Em estoque", "Disponível", "उपलब्ध", "Raktáron", "În stoc", "Varastossa", "Διαθέσιμο", "Ｉｎ　ｓｔｏｃｋ",
		},
		watch.Limited: {
			"LimitedAvailability", "https://schema.org/LimitedAvailability", "low stock", "Only 3 left", "Only 2 left in stock - order soon.", "Hurry, only 4 left", "Nur noch 2 auf Lager", "Noch 3 Stück", "Plus que 2 en stock", "Il ne reste que 3 exemplaires", "Ultimi pezzi", "Últimas unidades", "¡Solo quedan 2!",
			"Restam apenas 3 unidades", "Nog maar 2 stuks", "Endast 2 kvar", "Ostatnie sztuki", "残り3点", "残りわずか", "仅剩2件", "Son 2 ürün", "Осталось 3 шт.", "3개 남음",
		},
		watch.PreOrder:  {"PreOrder", "https://schema.org/PreOrder", "PreSale", "pre-order", "Available for pre-order", "Jetzt vorbestellen", "En précommande", "予約受付中", "预售", "Przedsprzedaż"},
		watch.BackOrder: {"BackOrder", "http://schema.org/BackOrder", "Available on backorder", "Sur commande", "Auf Bestellung", "お取り寄せ", "Na objednávku", "Nicht sofort lieferbar"},
		watch.OutOfStock: {
			"OutOfStock", "https://schema.org/SoldOut", "out_of_stock", "oos", "false", "Reserved",
			"Out of stock", "Sold out", "SOLD OUT!", "0 in stock", "In stock: 0", "0", "Not in stock", "Unavailable", "Currently unavailable. We don't know when or if this item will be back in stock.", "Email me when it is back in stock. Sold out", "not available", "isn’t available", "No longer in stock", "is not currently in stock",
			"Ausverkauft", "Nicht auf Lager", "derzeit nicht verfügbar", "Nicht lieferbar", "Lagerbestand: 0", "kein Bestand", "Rupture de stock", "Épuisé", "Produit indisponible", "Ce produit n’est pas disponible", "Esaurito", "Non disponibile", "non è al momento disponibile", "Agotado", "Sin existencias", "No disponible",
			"Esgotado", "Indisponível", "Uitverkocht", "Niet op voorraad", "Slutsåld", "Ej i lager", "Ikke på lager", "Udsolgt", "Niedostępny", "Brak w magazynie", "Vyprodáno", "Není skladem", "Tükendi", "Stokta yok", "Нет в наличии", "在庫なし", "在庫切れ", "売り切れました", "品切れ", "在庫がありません", "缺货", "已售罄", "無現貨", "暂无库存", "품절", "일시품절", "재고 없음",
			"उपलब्ध नहीं", "Elfogyott", "Stoc epuizat", "Ei varastossa", "Μη διαθέσιμο",
		},
		watch.Discontinued: {"Discontinued", "https://schema.org/Discontinued", "No longer available", "Nicht mehr im Sortiment", "販売終了", "Снят с производства", "단종"},
		watch.Unknown: {
			"", " ", "maybe", "Check availability", "Available in 3 colours", "Stock photography", "https://shop.example/InStock?x=/y", "Delivery", "Stockholm", "unavailabled", "Wieder verfügbar ab Mai", "Farbe: Schwarz", strings.Repeat("out of stock ", 40),
		},
	} {
		for _, text := range texts {
			if got := extract.ReadAvailability(text); got != is {
				t.Errorf("%q: %s, want %s", text, got, is)
			}
		}
	}
}
