package extract

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lastlook/lastlook/internal/cputest"
)

func read(s string) ([]value, error) {
	budget := maxValues
	return readJSON(context.Background(), s, &budget)
}

// show writes values as JSON, so that tables can compare them.
func show(values ...value) string {
	var b strings.Builder
	for i := range values {
		v := &values[i]
		if i > 0 {
			b.WriteByte(' ')
		}
		switch v.kind {
		case null:
			b.WriteString("null")
		case boolean, number:
			b.WriteString(v.text)
		case text:
			q, _ := json.Marshal(v.text)
			b.Write(q)
		case list:
			b.WriteByte('[')
			for j := range v.items {
				b.WriteString(strings.Repeat(",", min(j, 1)) + show(v.items[j]))
			}
			b.WriteByte(']')
		case object:
			b.WriteByte('{')
			for j := range v.items {
				q, _ := json.Marshal(v.keys[j])
				b.WriteString(strings.Repeat(",", min(j, 1)) + string(q) + ":" + show(v.items[j]))
			}
			b.WriteByte('}')
		}
	}
	return b.String()
}

func TestReadJSON(t *testing.T) {
	for in, want := range map[string]string{
		``:    ``,
		`{}`:  `{}`,
		`[1]`: `[1]`,
		`{"a":"b","c":[1,-2.50e3,true,false,null,{}]}`: `{"a":"b","c":[1,-2.50e3,true,false,null,{}]}`,
		"\ufeff \u00a0{\"a\":1}\u200b":                 `{"a":1}`,
		`{"a":1.10}`:                                   `{"a":1.10}`,
		`{"https://schema.org/a":1,"schema:b":2,"http://www.schema.org/#c":3,"http://x.example/d":4}`: `{"a":1,"b":2,"c":3,"x.example/d":4}`,

		// commas, names, quotes, words
		`{,"a":1,,}`:                      `{"a":1}`,
		`[1,,2,]`:                         `[1,2]`,
		`{'a':'it\'s',b_1:"x",@type:"T"}`: `{"a":"it's","b_1":"x","@type":"T"}`,
		`{"a":undefined,"b":None,"c":NaN,"d":True}`: `{"a":null,"b":null,"c":null,"d":true}`,
		`{"a":"27" wide","b":"x"}`:                  `{"a":"27\" wide","b":"x"}`,
		`{"a":"she said "hi" twice"}`:               `{"a":"she said \"hi\" twice"}`,
		`{"a" :"x" /* c */ , "b": "y" // d` + "\n}": `{"a":"x","b":"y"}`,

		// numbers that are none
		`{"a": 1,299.00,"b":1}`: `{"a":1,299.00,"b":1}`,
		`{"a": 1299,00}`:        `{"a":1299,00}`,
		`[1,299.00]`:            `[1,299.00]`,
		`{"a":+5,"b":.5}`:       `{"a":+5,"b":.5}`,

		`{"a":61.,"b":1}`: `{"a":61,"b":1}`,

		// what is missing, and amounts without quotes
		`{"a":,"b":}`:                      `{"a":null,"b":null}`,
		`{"a":€61.00,"b": 61,00 €}`:        `{"a":"€61.00","b":"61,00 €"}`,
		`{"price":1 299.00}`:               `{"price":"1 299.00"}`,
		`{"a":12px}`:                       `{"a":"12px"}`,
		`{\"a\":\"x\",\"b\":\"c\/d\\\"\"}`: `{"a":"x","b":"c/d\""}`,

		// strings
		"{\"a\":\"x\ny\tz\"}":                      `{"a":"x\ny\tz"}`,
		`{"a":"\u00e9\ud83d\ude00\n\/\x\b\f\r\t"}`: `{"a":"é😀\n/x\b\f\r\t"}`,
		`{"a":"\ud83dx\uZZ"}`:                      `{"a":"` + "\ufffd" + `x\\uZZ"}`,
		"{\"a\":\"x\\\ny\"}":                       `{"a":"xy"}`,
		`{"u":"https://a.example/*x*/"}`:           `{"u":"https://a.example/*x*/"}`,

		// around the values
		`<!-- {"a":1} -->`:                         `{"a":1}`,
		`<![CDATA[ {"a":1} ]]>`:                    `{"a":1}`,
		"//<![CDATA[\n{\"a\":1}\n//]]>":            `{"a":1}`,
		`// <![CDATA[ {"a":1} // ]]>`:              `{"a":1}`,
		`/*<![CDATA[*/ {"a":[[1]]} /*]]>*/`:        `{"a":[[1]]}`,
		`{"a":1}}`:                                 `{"a":1}`,
		`{"a":1}];`:                                `{"a":1}`,
		`{"a":1}{"b":2},[3]`:                       `{"a":1} {"b":2} [3]`,
		`{&quot;a&quot;:&quot;b &eacute; c&quot;}`: `{"a":"b é c"}`,
		`{&#34;a&#34;:1}`:                          `{"a":1}`,
	} {
		got, err := read(in)
		if err != nil || show(got...) != want {
			t.Errorf("%s\ngot  %s (%v)\nwant %s", in, show(got...), err, want)
		}
	}
}

// TestBrokenJSON: what cannot be understood in one way only is an error, and
// what was read before it stays.
func TestBrokenJSON(t *testing.T) {
	for in, says := range map[string]string{
		`x`: "where an object or an array begins", `"a"`: "where an object", `{broken`: "no colon", `}{"a":1}`: "where an object",
		`{"a":1`: "cut off", `{"a":12`: "cut off", `{"a":"x`: "cut off", `{"a":"x"`: "cut off", `[1`: "cut off", `{"a":`: "cut off", `{"a":"\`: "cut off",
		`{"a":/*`: "cut off", `{"a"`: "cut off", `{"a" 1}`: "cut off", `{`: "cut off",
		`{"a":1]`: "where a name begins", `[1}`: "where a value begins", `{"a":1'299}`: "where a value begins", `{"a":-}`: "where a value begins", `[12px]`: "where a value begins",
		`{"a":{{ price }}}`: "where a name begins", `{"a":yes}`: "where a value begins", `[€5]`: "where a value begins", `{"a":€}`: "where a value begins", `{1:2}`: "where a name begins",
		strings.Repeat("[", maxDepth+1): "nested deeper",
		`{"a":1}{"b"`:                   "cut off",
	} {
		got, err := read(in)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %s (%v), want an error that says %q", in, show(got...), err, says)
		}
		if strings.HasPrefix(in, `{"a":1}{`) != (len(got) == 1) {
			t.Errorf("%s: kept %s", in, show(got...))
		}
	}
	// A comma that is missing after a string makes one text of two properties:
	// what it swallows is lost, never misread.
	got, err := read(`{"a":"x" "price":"5","b":1}`)
	if err != nil || len(got) != 1 || got[0].get("price") != nil {
		t.Errorf("%s, %v", show(got...), err)
	}
}

func TestJSONBudgetAndContext(t *testing.T) {
	budget := 10
	if _, err := readJSON(t.Context(), "["+strings.Repeat("1,", 20)+"1]", &budget); !errors.Is(err, errTooMany) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	budget = maxValues
	if _, err := readJSON(ctx, "["+strings.Repeat("1,", 10_000)+"1]", &budget); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if v := (*value)(nil); v.get("a").get("b") != nil || scalar(v.get("a")) != "" {
		t.Error("nothing has something")
	}
	two, _ := read(`{"a":1,"A":2,"a":3}`)
	if got := scalar(two[0].get("a")); got != "3" {
		t.Errorf("of two names: %s", got)
	}
}

// FuzzReadJSON: valid JSON is read as what it is, and nothing makes it panic.
func FuzzReadJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.50,"x\u00e9\n"],"b":{"c":null,"d":true}}`, `[[],{},""]`, `{"a":"27" wide",}`, `<!--{'a':1}-->`, `{"a":1,299.00}`, `{&quot;a&quot;:1}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got []value
		var err error
		cputest.Within(t, len(s), func() { got, err = read(s) })
		trimmed := strings.TrimSpace(s)
		if !json.Valid([]byte(s)) || !utf8.ValidString(s) || trimmed[0] != '{' && trimmed[0] != '[' {
			return
		}
		want, ok := standard(s)
		if !ok {
			return // deeper than is read
		}
		if err != nil || show(got...) != show(want) {
			t.Errorf("%q\ngot  %s (%v)\nwant %s", s, show(got...), err, show(want))
		}
	})
}

// standard reads JSON with the standard library.
func standard(s string) (value, bool) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	stack := []value{{kind: list}}
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return stack[0].items[0], true
		}
		if err != nil || len(stack) > maxDepth {
			return value{}, false
		}
		top := &stack[len(stack)-1]
		var v value
		switch x := tok.(type) {
		case json.Delim:
			switch x {
			case '{':
				stack = append(stack, value{kind: object})
				continue
			case '[':
				stack = append(stack, value{kind: list})
				continue
			}
			v = *top
			stack = stack[:len(stack)-1]
			top = &stack[len(stack)-1]
		case string:
			if top.kind == object && len(top.keys) == len(top.items) {
				top.keys = append(top.keys, term(x))
				continue
			}
			v = value{kind: text, text: x}
		case json.Number:
			v = value{kind: number, text: x.String()}
		case bool:
			v = value{kind: boolean, text: strconv.FormatBool(x)}
		case nil:
		}
		top.items = append(top.items, v)
	}
}
