package transfer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/govalues/decimal"

	"github.com/lastlook/lastlook/watch"
)

// unmapped are what a watch of changedetection.io can ask for and lastlook cannot,
// and what that is for people.
var unmapped = []struct{ member, is string }{
	{"notification_urls", "notification addresses: set up channels, and give them with --to"},
	{"notification_title", "the notification's own title"},
	{"notification_body", "the notification's own text"},
	{"notification_muted", "that its notifications are muted"},
	{"trigger_text", "text to wait for"},
	{"ignore_text", "text to ignore"},
	{"text_should_not_be_present", "text that must not be there"},
	{"extract_text", "text to extract"},
	{"subtractive_selectors", "elements to leave out"},
	{"conditions", "conditions"},
	{"headers", "request headers"},
	{"body", "a request body"},
	{"proxy", "a proxy"},
	{"browser_steps", "browser steps"},
	{"webdriver_js_execute_code", "a script to run in the page"},
}

// item makes a watch of one of changedetection.io's.
func (bk *backup) item(id string, d *Defaults) Item {
	w := bk.watches[id]
	it := Item{Where: "watch " + short(id)}
	note := func(format string, args ...any) { it.Notes = append(it.Notes, fmt.Sprintf(format, args...)) }
	it.Listing.URL, it.Listing.Private = w.text("url"), true
	it.Watch.Name = cut(w.text("title"))
	it.Watch.Paused = w.truth("paused", false)
	it.Listing.Interval = bk.interval(w, note)
	if names := bk.tagNames(w); len(names) > 0 {
		note("not taken over: its tags %s", strings.Join(names, ", "))
	}
	for _, u := range unmapped {
		if w.says(u.member) {
			note("not taken over: %s", u.is)
		}
	}
	if m := w.text("method"); m != "" && !strings.EqualFold(m, "GET") {
		note("not taken over: the request method %s", short(m))
	}
	if b := w.text("fetch_backend"); strings.Contains(b, "webdriver") || strings.Contains(b, "browser") || strings.Contains(b, "playwright") {
		note("not taken over: that it is looked at with a browser")
	}
	if w.object("time_schedule_limit").truth("enabled", false) {
		note("not taken over: the hours at which it is looked at")
	}
	if strings.ContainsAny(it.Listing.URL, "{}") {
		note("the address is a template, which is not filled in")
	}
	text := w.text("processor") != "restock_diff"
	bk.filters(w, &it, text, note)
	if text {
		if len(d.Watch.Triggers) == 0 {
			it.Watch.Triggers = []watch.Trigger{{Kind: watch.AnyChange}}
			note("it told of any change of the page's text: taken for any change of price, stock or value")
		}
		return it
	}
	it.Watch.Triggers, it.Err = bk.restock(w, d, note)
	return it
}

// cut shortens a name to what a watch may be called.
func cut(s string) string {
	const limit = 400
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ToValidUTF8(s, "")
}

func (bk *backup) tagNames(w fields) (names []string) {
	for _, id := range w.texts("tags") {
		name := bk.tags[id].text("title")
		if name == "" {
			name = id
		}
		names = append(names, short(name))
	}
	if s := w.text("tag"); s != "" {
		names = append(names, short(s))
	}
	const most = 10
	return names[:min(len(names), most)]
}

// interval returns how often it was looked at: its own, or the one for all; 0 if
// neither is said.
func (bk *backup) interval(w fields, note func(string, ...any)) time.Duration {
	every := length(w.object("time_between_check"))
	if w.truth("time_between_check_use_default", every == 0) || every == 0 {
		every = length(bk.requests.object("time_between_check"))
	}
	if every == 0 {
		return 0
	}
	if in := min(max(every, watch.MinInterval), watch.MaxInterval); in != every {
		note("it was looked at every %s: taken for %s", every, in)
		return in
	}
	return every
}

// length adds up weeks, days and so on. What is absurd is cut at a century.
func length(f fields) (sum time.Duration) {
	const century = 100 * 366 * 24 * time.Hour
	for name, unit := range map[string]time.Duration{"weeks": 7 * 24 * time.Hour, "days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second} {
		n, err := strconv.Atoi(f.number(name))
		if err != nil || n <= 0 {
			continue
		}
		sum += time.Duration(min(n, int(century/unit))) * unit
	}
	return min(sum, century)
}

// filters takes over what points into the page.
func (bk *backup) filters(w fields, it *Item, text bool, note func(string, ...any)) {
	taken := false
	for _, f := range w.texts("include_filters") {
		f = strings.TrimSpace(f)
		kind, rest, _ := strings.Cut(f, ":")
		switch {
		case taken:
			note("not taken over: a further filter %q", short(f))
			continue
		case kind == "jq" || kind == "jqraw":
			it.Listing.Source, it.Listing.Options.ValuePath = "json", strings.TrimSpace(rest)
		case kind == "json":
			note("not taken over: the JSONPath filter %q: write it as jq, and watch it by that", short(f))
			continue
		case kind == "xpath" || kind == "xpath1":
			it.Listing.Options.PriceSelector = strings.TrimSpace(rest)
			if s := it.Listing.Options.PriceSelector; !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "(") {
				it.Listing.Options.PriceSelector = ""
				note("not taken over: the XPath %q, which does not begin with / or (", short(f))
				continue
			}
		default:
			it.Listing.Options.PriceSelector = strings.TrimSpace(strings.TrimPrefix(f, "css:"))
		}
		taken = true
		if text && it.Listing.Options.PriceSelector != "" {
			note("its filter is taken for where the price stands")
		}
	}
}

// restock makes triggers of how prices and stock were followed.
func (bk *backup) restock(w fields, d *Defaults, note func(string, ...any)) ([]watch.Trigger, error) {
	set := w.object("restock_settings")
	if set == nil {
		set = w.object("processor_config_restock_diff")
	}
	if set == nil {
		set = w // as the first versions had it
	}
	for _, id := range w.texts("tags") {
		if t := bk.tags[id]; t.truth("overrides_watch", false) {
			for _, name := range []string{"restock_settings", "processor_config_restock_diff"} {
				if o := t.object(name); o != nil {
					set = o
				}
			}
		}
	}
	var out []watch.Trigger
	stock := set.text("in_stock_processing")
	if stock == "" && !set.truth("in_stock_only", true) {
		stock = "all_changes"
	}
	switch stock {
	case "", "in_stock_only":
		out = append(out, watch.Trigger{Kind: watch.BackInStock})
	case "all_changes":
		out = append(out, watch.Trigger{Kind: watch.AnyChange})
	case "off":
	default:
		note("not taken over: the stock setting %q", short(stock))
	}
	if set.truth("follow_price_changes", true) {
		more, err := prices(set, w.object("restock").text("currency"), d, note)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	// Any change is one question, however often it is asked.
	seen := false
	out = slices.DeleteFunc(out, func(t watch.Trigger) bool {
		again := t.Kind == watch.AnyChange && seen
		seen = seen || t.Kind == watch.AnyChange
		return again
	})
	return out, nil
}

// prices makes triggers of the limits on prices; of any change if there are none.
func prices(set fields, seenIn string, d *Defaults, note func(string, ...any)) ([]watch.Trigger, error) {
	least, most, threshold := set.number("price_change_min"), set.number("price_change_max"), set.number("price_change_threshold_percent")
	if !nonZero(least) && !nonZero(most) && !nonZero(threshold) {
		return []watch.Trigger{{Kind: watch.AnyChange}}, nil
	}
	var out []watch.Trigger
	if nonZero(least) {
		m, err := d.money(least)
		if err != nil {
			if seenIn != "" && d.Currency == "" {
				err = fmt.Errorf("%w (the page stated its price in %s)", err, short(seenIn))
			}
			return nil, err
		}
		out = append(out, watch.Trigger{Kind: watch.Below, Target: m})
	}
	if nonZero(most) {
		note("not taken over: to be told above %s", short(most))
	}
	if nonZero(threshold) {
		p, err := decimal.Parse(threshold)
		switch {
		case err != nil:
			note("not taken over: the threshold %q, which is no number", short(threshold))
		case nonZero(least) || nonZero(most):
			note("not taken over: the threshold of %s %%, beside a limit", short(threshold))
		default:
			out = append(out, watch.Trigger{Kind: watch.Drop, Percent: p, Since: watch.First}, watch.Trigger{Kind: watch.Rise, Percent: p, Since: watch.First})
		}
	}
	return out, nil
}

func nonZero(number string) bool {
	d, err := decimal.Parse(number)
	return number != "" && (err != nil || !d.IsZero())
}
