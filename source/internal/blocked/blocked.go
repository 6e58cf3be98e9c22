// Package blocked recognizes what stands in the place of a page: robot checks,
// block pages, queues, and errors that come with status 200. It is for sources
// that look at pages for people.
package blocked

import (
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/lastlook/lastlook/watch/extract"
)

// A robot check is short: what it asks is all there is on it. A longer page
// that has one of its words is about something else.
const (
	shortSource = 256 << 10 // bytes of source that are searched
	shortPage   = 2000      // characters of visible text, with a vendor's mark
	shortNotice = 1500      // with a notice's words
	shortForm   = 400       // with nothing but a captcha
	shortError  = 600       // with an error's words
	shortShell  = 300       // of a page that scripts are to fill
	noText      = 40        // that no page for people has so little of
)

// mark is what gives a robot check away.
type mark struct{ text, by string }

// vendorMarks stand, in lower case, in the source of robot checks and nowhere
// else on pages of such length.
var vendorMarks = []mark{
	{"_cf_chl_opt", "a Cloudflare challenge"}, {"cf-browser-verification", "a Cloudflare challenge"}, {"challenge-error-text", "a Cloudflare challenge"},
	{`id="challenge-form"`, "a Cloudflare challenge"}, {"<title>just a moment...</title>", "a Cloudflare challenge"}, {"attention required! | cloudflare", "a Cloudflare block page"},
	{"errors.edgesuite.net", "an Akamai block page"}, {"sec-if-cpt-container", "an Akamai challenge"}, {"/_sec/cp_challenge/", "an Akamai challenge"},
	{"captcha-delivery.com", "a DataDome captcha"},
	{"px-captcha", "a PerimeterX captcha"}, {"captcha.px-cdn.net", "a PerimeterX captcha"}, {"captcha.px-cloud.net", "a PerimeterX captcha"},
	{"_incapsula_resource", "an Imperva check"}, {"incapsula incident id", "an Imperva block page"},
	{"/errors/validatecaptcha", "an Amazon robot check"}, {"api-services-support@amazon.com", "an Amazon robot check"},
	{"kpsdk", "a Kasada check"}, {"awswafintegration", "an AWS WAF challenge"}, {"gokuprops", "an AWS WAF challenge"},
	{"vercel security checkpoint", "a Vercel checkpoint"}, {"sucuri website firewall", "a Sucuri block page"}, {"ddos-guard.net", "a DDoS-Guard check"},
	{"anubis_challenge", "an Anubis check"}, {"distil_r_captcha", "an Imperva captcha"},
}

// noticeMarks are the words of robot checks, block pages and queues, in lower
// case, in their title or visible text.
var noticeMarks = []mark{
	{"just a moment...", "a browser check"}, {"checking your browser", "a browser check"}, {"checking if the site connection is secure", "a browser check"},
	{"you are human", "a robot check"}, {"you're human", "a robot check"}, {"are you human", "a robot check"}, {"are you a human", "a robot check"},
	{"not a robot", "a robot check"}, {"you a robot", "a robot check"}, {"a robot?", "a robot check"}, {"robot or human", "a robot check"}, {"robot check", "a robot check"}, {"not a bot", "a robot check"}, {"human verification", "a robot check"},
	{"bot detected", "a robot check"}, {"unusual traffic", "a robot check"}, {"automated access", "a robot check"}, {"automated requests", "a robot check"},
	{"press & hold", "a robot check"}, {"pardon our interruption", "a robot check"}, {"characters you see", "a captcha"}, {"the captcha", "a captcha"},
	{"javascript and cookies to continue", "a robot check"}, {"kein roboter", "a robot check"}, {"pas un robot", "a robot check"}, {"un robot?", "a robot check"}, {"no eres un robot", "a robot check"}, {"non sei un robot", "a robot check"},
	{"não é um robô", "a robot check"}, {"geen robot bent", "a robot check"}, {"nie jesteś robotem", "a robot check"}, {"не робот", "a robot check"}, {"请完成验证", "a robot check"}, {"安全验证", "a robot check"}, {"로봇이 아닙니다", "a robot check"},
	{"sind sie ein mensch", "a robot check"}, {"êtes-vous un robot", "a robot check"}, {"ロボットではありません", "a robot check"}, {"私は人間です", "a robot check"},
	{"access denied", "a block page"}, {"access to this page has been denied", "a block page"}, {"request blocked", "a block page"}, {"request was blocked", "a block page"},
	{"you have been blocked", "a block page"}, {"403 forbidden", "a block page"}, {"403 error", "a block page"}, {"you don't have permission to access", "a block page"},
	{"zugriff verweigert", "a block page"}, {"accès refusé", "a block page"}, {"acceso denegado", "a block page"}, {"accesso negato", "a block page"},
	{"アクセスが拒否", "a block page"}, {"访问被拒绝", "a block page"},
	{"you are in the queue", "a queue"}, {"you're in the queue", "a queue"}, {"you are now in line", "a queue"}, {"you are in line", "a queue"}, {"estimated wait", "a queue"},
	{"virtual queue", "a queue"}, {"your place in the queue", "a queue"}, {"順番にご案内", "a queue"}, {"warteschlange", "a queue"},
}

// formMarks are captchas; product pages have them too, in forms for reviews.
var formMarks = []mark{
	{"g-recaptcha", "a captcha"}, {"h-captcha", "a captcha"}, {"cf-turnstile", "a captcha"}, {"frc-captcha", "a captcha"}, {"data-sitekey", "a captcha"},
}

// errorMarks are the words of errors that come with status 200.
var (
	limitWords = []string{"too many requests", "rate limit exceeded", "error 1015"}
	errorWords = []string{
		"service unavailable", "temporarily unavailable", "bad gateway", "gateway timeout", "gateway time-out", "internal server error",
		"down for maintenance", "under maintenance", "scheduled maintenance", "maintenance mode", "error establishing a database connection", "database connection error", "website is offline", "web server is down", "wartungsarbeiten", "technische störung", "technische probleme", "メンテナンス中",
	}
)

// gateHosts are where redirects end that lead to a queue or a captcha.
var gateHosts = []string{"queue-it.net", "captcha-delivery.com", "perfdrive.com", "validate.perfdrive.com"}

// ByHeader says whether an answer's header, or the host that it came from in the
// end, is a robot check's, and whose; "" if not.
//
//   - https://developers.cloudflare.com/cloudflare-challenges/challenge-types/challenge-pages/detect-response/
//   - https://docs.aws.amazon.com/waf/latest/developerguide/waf-captcha-and-challenge-actions.html
func ByHeader(header http.Header, host string) string {
	if strings.EqualFold(header.Get("Cf-Mitigated"), "challenge") {
		return "a Cloudflare challenge"
	}
	switch strings.ToLower(header.Get("X-Amzn-Waf-Action")) {
	case "challenge", "captcha":
		return "an AWS WAF challenge"
	}
	host = strings.ToLower(host)
	for _, h := range gateHosts {
		if host == h || strings.HasSuffix(host, "."+h) {
			return "it sent us to " + h
		}
	}
	return ""
}

// ByVendor names the robot check that a page is, by marks of its maker; "" if it
// has none.
func ByVendor(d *extract.Document) string {
	if utf8.RuneCountInString(d.Text()) > shortPage {
		return ""
	}
	return find(vendorMarks, source(d))
}

// ByPage names the robot check, the block page or the queue that a page is.
func ByPage(d *extract.Document) string {
	if by := ByVendor(d); by != "" {
		return by
	}
	n := utf8.RuneCountInString(d.Text())
	if n <= shortNotice {
		if by := find(noticeMarks, words(d)); by != "" {
			return by
		}
	}
	if n <= shortForm {
		return find(formMarks, source(d))
	}
	return ""
}

// Error is what a page says of itself though its status says that all is well.
type Error int

// The errors of pages.
const (
	NoError Error = iota
	// TooOften: the site wants to be asked less often.
	TooOften
	// OutOfOrder: the site is.
	OutOfOrder
)

// ErrorOf says which error a page shows.
func ErrorOf(d *extract.Document) Error {
	if utf8.RuneCountInString(d.Text()) > shortError {
		return NoError
	}
	w := words(d)
	for _, s := range limitWords {
		if strings.Contains(w, s) {
			return TooOften
		}
	}
	for _, s := range errorWords {
		if strings.Contains(w, s) {
			return OutOfOrder
		}
	}
	return NoError
}

// mount is the element that scripts fill.
var mount = regexp.MustCompile(`(?i)\sid\s*=\s*["']?(root|app|__next|__nuxt|___gatsby|svelte|q-app|app-root|react-root)["'\s>]|<app-root[\s>]`)

// IsShell reports whether a page is empty until scripts fill it.
func IsShell(d *extract.Document) bool {
	n := utf8.RuneCountInString(d.Text())
	switch {
	case d.Scripts() == 0 || n > shortShell:
		return false
	case n <= noText:
		return true
	}
	return strings.Contains(words(d)+strings.ToLower(d.Noscript()), "javascript") || mount.MatchString(d.HTML())
}

func source(d *extract.Document) string {
	s := d.HTML()
	return strings.ToLower(s[:min(len(s), shortSource)])
}

// words are the title and the visible text, with apostrophes as they are typed.
func words(d *extract.Document) string {
	return strings.ReplaceAll(strings.ToLower(d.Title()+" "+d.Text()), "’", "'")
}

func find(marks []mark, in string) string {
	for _, m := range marks {
		if strings.Contains(in, m.text) {
			return m.by
		}
	}
	return ""
}
