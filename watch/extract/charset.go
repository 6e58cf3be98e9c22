package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

// decode returns the body in UTF-8. The character set is found as the [HTML
// standard] says (byte order mark, header, meta element), with two differences,
// since pages are often wrong about it: a page that is valid UTF-8 is read as
// that, whatever one-byte set it claims; and one that claims UTF-8 but is not
// falls to its meta element. A meta element may stand anywhere in the head.
//
// [HTML standard]: https://html.spec.whatwg.org/multipage/parsing.html#determining-the-character-encoding
func decode(body []byte, contentType string) string {
	enc, name, certain := charset.DetermineEncoding(body, contentType)
	valid := utf8.Valid(body)
	switch {
	case name == "utf-8" && valid, valid && strings.HasPrefix(name, "windows-125"), valid && strings.HasPrefix(name, "iso-8859-"):
		return string(bytes.TrimPrefix(body, []byte("\ufeff")))
	case name == "utf-8", !certain:
		if e, n := metaEncoding(body); e != nil && n != "utf-8" {
			enc = e
		}
	}
	if enc == encoding.Nop {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\ufffd")
	}
	return string(out)
}

// metaEncoding looks for the meta element that names the character set, also
// behind the first 1024 bytes, to which the standard confines it.
func metaEncoding(body []byte) (encoding.Encoding, string) {
	head := body[:min(len(body), 64<<10)]
	for {
		i := bytes.IndexByte(head, '<')
		if i < 0 {
			return nil, ""
		}
		head = head[i:]
		if len(head) > 5 && bytes.EqualFold(head[:5], []byte("<meta")) {
			end := bytes.IndexByte(head, '>')
			if end < 0 {
				return nil, ""
			}
			if bytes.Contains(bytes.ToLower(head[:end]), []byte("charset")) {
				if e, name, _ := charset.DetermineEncoding(head[:end+1], ""); name != "windows-1252" {
					return e, name
				}
			}
			head = head[end:]
			continue
		}
		head = head[1:]
	}
}
