package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/apprise"
	"github.com/lastlook/lastlook/channel/discord"
	"github.com/lastlook/lastlook/channel/email"
	"github.com/lastlook/lastlook/channel/gotify"
	"github.com/lastlook/lastlook/channel/homeassistant"
	"github.com/lastlook/lastlook/channel/line"
	"github.com/lastlook/lastlook/channel/matrix"
	"github.com/lastlook/lastlook/channel/ntfy"
	"github.com/lastlook/lastlook/channel/pushover"
	"github.com/lastlook/lastlook/channel/slack"
	"github.com/lastlook/lastlook/channel/teams"
	"github.com/lastlook/lastlook/channel/telegram"
	"github.com/lastlook/lastlook/channel/webhook"
	"github.com/lastlook/lastlook/internal/config"
	"github.com/lastlook/lastlook/internal/door"
)

// maker makes a channel of an address.
type maker func(opt Options, client *http.Client, a *address) (lastlook.Channel, error)

// makers are the forms of addresses, by scheme: with an s at its end, a host of
// one's own is spoken to by https.
func makers() map[string]maker {
	return map[string]maker{
		"tgram": makeTelegram, "discord": makeDiscord, "slack": makeSlack, "workflows": makeTeams,
		"matrix": makeMatrix, "matrixs": makeMatrix, "gotify": makeGotify, "gotifys": makeGotify,
		"pover": makePushover, "line": makeLine, "hassio": makeHomeAssistant, "hassios": makeHomeAssistant,
		"apprise": makeApprise, "apprises": makeApprise, "ntfy": makeNtfy, "ntfys": makeNtfy,
		"json": makeWebhook, "jsons": makeWebhook, "mailto": makeMail, "mailtos": makeMail,
	}
}

// ServiceSchemes returns what addresses of services may begin with.
func ServiceSchemes() []string {
	var out []string
	for scheme := range makers() {
		out = append(out, scheme+"://")
	}
	slices.Sort(out)
	return out
}

// newService makes the channel that an address names.
func newService(opt Options, client *http.Client, text config.Secret) (lastlook.Channel, error) {
	a, err := parseAddress(string(text))
	if err != nil {
		return nil, err
	}
	f := makers()[a.scheme]
	if f == nil {
		return nil, fmt.Errorf("%.12s:// is no known service: known are %s", a.scheme, strings.Join(ServiceSchemes(), " "))
	}
	return f(opt, client, &a)
}

func makeTelegram(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	thread, err := a.number("topic")
	if err := cmp.Or(err, a.only("topic")); err != nil {
		return nil, err
	}
	return telegram.New(telegram.Config{Token: a.host, Chat: a.part(0), Thread: int64(thread), Client: client, Clock: opt.Clock})
}

func makeDiscord(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only("thread"); err != nil {
		return nil, err
	}
	return discord.New(discord.Config{ID: a.host, Token: a.part(0), Thread: a.query.Get("thread"), Client: client, Clock: opt.Clock})
}

func makeSlack(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only(); err != nil {
		return nil, err
	}
	c := slack.Config{Client: client, Clock: opt.Clock}
	if strings.HasPrefix(a.host, "xox") {
		c.Token, c.Channel = a.host, strings.TrimPrefix(a.part(0), "#")
	} else {
		if len(a.path) != 2 {
			return nil, errors.New("write slack://A/B/C, the three parts of the webhook's address, or slack://xoxb-token/channel")
		}
		c.Webhook = "https://hooks.slack.com/services/" + a.host + "/" + a.path[0] + "/" + a.path[1]
	}
	return slack.New(c)
}

func makeTeams(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only(); err != nil {
		return nil, err
	}
	if len(a.path) != 2 {
		return nil, errors.New("write workflows://host/workflow/signature: all three stand in the workflow's address")
	}
	hook := a.origin(true, "workflows", a.path[0], "triggers", "manual", "paths", "invoke") +
		"?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&sig=" + url.QueryEscape(a.path[1])
	return teams.New(teams.Config{Webhook: hook, Client: client, Clock: opt.Clock})
}

func makeMatrix(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only(); err != nil {
		return nil, err
	}
	return matrix.New(matrix.Config{Server: a.origin(a.scheme == "matrixs"), Token: a.user, Room: a.part(0), Client: client, Clock: opt.Clock})
}

func makeGotify(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	priority, err := a.number("priority")
	if err := cmp.Or(err, a.only("priority")); err != nil {
		return nil, err
	}
	if len(a.path) == 0 {
		return nil, errors.New("write gotify://host/token")
	}
	last := len(a.path) - 1
	return gotify.New(gotify.Config{Server: a.origin(a.scheme == "gotifys", a.path[:last]...), Token: a.path[last], Priority: priority, Client: client, Clock: opt.Clock})
}

func makePushover(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only(); err != nil {
		return nil, err
	}
	return pushover.New(pushover.Config{User: a.user, Token: a.host, Device: a.part(0), Client: client, Clock: opt.Clock})
}

func makeLine(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only(); err != nil {
		return nil, err
	}
	return line.New(line.Config{Token: a.host, To: a.part(0), Client: client, Clock: opt.Clock})
}

func makeHomeAssistant(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only("service"); err != nil {
		return nil, err
	}
	if len(a.path) != 1 {
		return nil, errors.New("write hassio://host/token?service=mobile_app_phone")
	}
	return homeassistant.New(homeassistant.Config{Server: a.origin(a.scheme == "hassios"), Token: a.path[0], Service: a.query.Get("service"), Client: client, Clock: opt.Clock})
}

func makeApprise(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only("tags"); err != nil {
		return nil, err
	}
	if len(a.path) == 0 {
		return nil, errors.New("write apprise://host/key")
	}
	last := len(a.path) - 1
	return apprise.New(apprise.Config{Server: a.origin(a.scheme == "apprises", a.path[:last]...), Key: a.path[last], Tag: a.query.Get("tags"), Client: client, Clock: opt.Clock})
}

func makeNtfy(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	priority, err := a.number("priority")
	if err := cmp.Or(err, a.only("priority", "token")); err != nil {
		return nil, err
	}
	c := ntfy.Config{Server: "https://ntfy.sh", Topic: a.host, Token: a.query.Get("token"), Priority: ntfy.Priority(priority), Client: client, Clock: opt.Clock}
	if len(a.path) > 0 {
		last := len(a.path) - 1
		c.Server, c.Topic = a.origin(a.scheme == "ntfys", a.path[:last]...), a.path[last]
	}
	if strings.HasPrefix(a.user, "tk_") && a.pass == "" {
		c.Token = a.user
	} else {
		c.Username, c.Password = a.user, a.pass
	}
	return ntfy.New(c)
}

func makeWebhook(opt Options, client *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only("secret", "cloudevents", "source"); err != nil {
		return nil, err
	}
	secrets := a.query["secret"]
	if len(secrets) == 0 {
		return nil, errors.New("a webhook is signed: add ?secret=whsec_… (and another for v1a, or while they change)")
	}
	return webhook.New(webhook.Config{
		URL: a.origin(a.scheme == "jsons", a.path...), Secret: secrets[0], More: secrets[1:], Header: a.headers(),
		CloudEvents: a.yes("cloudevents"), Source: a.query.Get("source"), Client: client, Clock: opt.Clock,
	})
}

// mailPorts are those of SMTP that mail is handed in at.
func mailPorts() []uint16 { return []uint16{25, 465, 587, 2525} }

func makeMail(opt Options, _ *http.Client, a *address) (lastlook.Channel, error) {
	if err := a.only("smtp", "from", "to", "user", "mode", "unsubscribe"); err != nil {
		return nil, err
	}
	host, port, err := splitHost(a.host)
	if err != nil {
		return nil, err
	}
	own := a.user
	if own != "" && !strings.Contains(own, "@") {
		own += "@" + host
	}
	c := email.Config{
		Host: cmp.Or(a.query.Get("smtp"), host), Port: port, Username: cmp.Or(a.query.Get("user"), a.user), Password: a.pass,
		From: cmp.Or(a.query.Get("from"), own), To: cmp.Or(a.query.Get("to"), own), Clock: opt.Clock, TLS: opt.RootCAs,
	}
	switch mode := strings.ToLower(a.query.Get("mode")); {
	case a.scheme == "mailto" && (mode == "" || mode == "insecure"):
		c.Security = email.Plain
	case mode == "" || mode == "starttls":
		c.Security = email.STARTTLS
	case mode == "ssl" || mode == "tls":
		c.Security = email.TLS
	default:
		return nil, errors.New("the option mode must be starttls or ssl")
	}
	if u := a.query.Get("unsubscribe"); u != "" {
		c.Unsubscribe = func(lastlook.Key) string { return u }
	}
	cfg := opt.door(door.Operator)
	if cfg.Allow, err = opt.allowed(); err != nil {
		return nil, err
	}
	cfg.Ports = mailPorts()
	if port != 0 {
		cfg.Ports = append(cfg.Ports, uint16(port))
	}
	dialer, err := door.NewDialer(cfg)
	if err != nil {
		return nil, err
	}
	c.Dial = dialer.DialContext
	return email.New(c)
}
