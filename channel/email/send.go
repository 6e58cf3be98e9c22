package email

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lastlook/lastlook"
	"github.com/lastlook/lastlook/channel/internal/text"
	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// TLSRoots are the authorities that a server's certificate is checked against;
// nil means the system's.
type TLSRoots = *x509.CertPool

// patience bounds a delivery whose context has no end.
const patience = time.Minute

// send delivers one mail over a connection of its own, and returns what the
// server answered.
func (c *Channel) send(ctx context.Context, m *gomail.Msg) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client, err := c.client(ctx)
	if err != nil {
		return "", lastlook.Permanent(fmt.Errorf("email: %w", err))
	}
	session, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return "", c.failure(ctx, stageConnect, err)
	}
	defer func() { _ = client.CloseWithSMTPClient(session) }() // what it says decides nothing
	answer, at, err := transact(session, m)
	if err != nil {
		return "", c.failure(ctx, at, err)
	}
	if said := c.shown(answer); said != "" {
		return "accepted: " + said, nil
	}
	return "accepted", nil
}

// transact sends one mail within a session, and says how far it came.
func transact(s *smtp.Client, m *gomail.Msg) (answer string, at stage, err error) {
	from, err := m.GetSender(false)
	if err != nil {
		return "", stageSender, err
	}
	to, err := m.GetRecipients()
	if err != nil {
		return "", stageSender, err
	}
	if err := s.Mail(from); err != nil {
		return "", stageSender, err
	}
	for _, one := range to {
		if err := s.Rcpt(one); err != nil {
			return "", stageRecipient, err
		}
	}
	w, err := s.Data()
	if err != nil {
		return "", stageData, err
	}
	if _, err := m.WriteTo(w); err != nil {
		return "", stageData, err // without its end, the server takes it for none
	}
	if err := w.Close(); err != nil {
		return "", stageAnswer, err
	}
	if closed, ok := w.(*smtp.DataCloser); ok {
		answer = closed.ServerResponse()
	}
	return answer, stageAnswer, nil
}

func (c *Channel) client(ctx context.Context) (*gomail.Client, error) {
	conf := &tls.Config{ServerName: c.cfg.Host, MinVersion: tls.VersionTLS12, RootCAs: c.cfg.TLS}
	options := []gomail.Option{
		gomail.WithPort(c.cfg.Port), gomail.WithTimeout(patience), gomail.WithHELO(c.cfg.HELO), gomail.WithTLSConfig(conf),
		gomail.WithDialContextFunc(c.dial(ctx, conf)),
		gomail.WithoutSMTPUTF8(),
	}
	if c.cfg.Security == STARTTLS {
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	} else {
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS)) // it is encrypted already, or not to be
	}
	if c.cfg.Username != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthCustom),
			gomail.WithSMTPAuthCustom(&credentials{username: c.cfg.Username, password: c.cfg.Password}))
	}
	return gomail.NewClient(c.cfg.Host, options...)
}

// dial connects, and sees to it that the connection ends with the call: every
// read and write of it fails then.
func (c *Channel) dial(call context.Context, conf *tls.Config) gomail.DialContextFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.cfg.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(call, func() { _ = conn.Close() })
		if c.cfg.Security != TLS {
			return conn, nil
		}
		secure := tls.Client(conn, conf)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return secure, nil
	}
}

// stage is how far a conversation came.
type stage uint8

const (
	stageConnect stage = iota // greeting, TLS, credentials
	stageSender
	stageRecipient
	stageData
	stageAnswer // the whole message was sent
)

// failure classifies what went wrong, and words it without secrets.
func (c *Channel) failure(ctx context.Context, at stage, err error) error {
	where := fmt.Sprintf("email: %s", c.cfg.address())
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		class, why := judge(at, reply.Code, reply.Msg)
		said := ""
		if s := c.shown(strconv.Itoa(reply.Code) + " " + reply.Msg); s != "" {
			said = ": " + strconv.Quote(s)
		}
		return &lastlook.Error{Class: class, Err: fmt.Errorf("%s: %s%s", where, why, said)}
	}
	if at == stageAnswer {
		return lastlook.Unknown(fmt.Errorf("%s: the message was sent, and no answer came: %w", where, cause(ctx, err)))
	}
	if why := refusedTLS(err); why != "" {
		return lastlook.Misconfigured(fmt.Errorf("%s: %s", where, why))
	}
	return lastlook.RetryAfter(0, fmt.Errorf("%s: %s: %w", where, c.shown(err.Error()), cause(ctx, err)))
}

// cause returns what may stand in an error's chain: nothing with a text of the
// other side's.
func cause(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	return errBroken
}

var errBroken = errors.New("the connection failed")

// refusedTLS says what is wrong with how a server encrypts, if that is what
// an operator must mend.
func refusedTLS(err error) string {
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case certificate:
		return "the server's certificate is not good for its name: check the server's name, and its certificate"
	case errors.Is(err, errNoAuth):
		return "the server takes no password in a way that keeps it: check the port and the security"
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return "the server does not encrypt (no STARTTLS): use TLS on port 465, or another server"
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain {
		return "the server does not speak TLS at this port: use STARTTLS on port 587"
	}
	return ""
}

// shown makes what a server says fit for people.
func (c *Channel) shown(s string) string {
	return text.Shorten(c.redactor.Scrub(text.Line(c.redactor.Scrub(s))), 200)
}

var enhanced = regexp.MustCompile(`^([245])\.(\d{1,3})\.(\d{1,3})(?: |$)`)

// judge says what a refusal means, and why: by its enhanced status code if it
// has one, else by the reply code and by what was refused.
func judge(at stage, code int, message string) (lastlook.Class, string) {
	if code < 400 || code > 599 {
		if at == stageAnswer {
			return lastlook.ClassUnknown, "an answer that SMTP does not have"
		}
		return lastlook.ClassTransient, "an answer that SMTP does not have"
	}
	if code < 500 {
		return lastlook.ClassTransient, "not now"
	}
	subject, detail := 0, 0
	if m := enhanced.FindStringSubmatch(message); m != nil && m[1] == "5" {
		subject, _ = strconv.Atoi(m[2])
		detail, _ = strconv.Atoi(m[3])
	}
	switch {
	case at == stageConnect:
		return lastlook.ClassMisconfigured, "we, or our password, are refused: check both"
	case at == stageSender && subject != 3: // 5.3.4: this message is too large
		return lastlook.ClassMisconfigured, "the sender is refused: check it, and whether a password is needed"
	case code == 530 || code == 534 || code == 535 || code == 538:
		return lastlook.ClassMisconfigured, "a password, or encryption, is wanted: set it"
	case at == stageRecipient && subject == 1 && (detail == 1 || detail == 6 || detail == 10):
		return lastlook.ClassGone, "the recipient does not exist (any more)"
	case subject == 7 && slices.Contains([]int{0, 8, 9, 11, 13, 14, 18}, detail):
		return lastlook.ClassMisconfigured, "our credentials or encryption are refused: check them"
	case subject == 7 && detail >= 20 && detail <= 29:
		return lastlook.ClassMisconfigured, "the sender's domain is not set up for this server: check SPF, DKIM and DMARC"
	case at == stageRecipient && subject == 7 && detail == 1:
		return lastlook.ClassMisconfigured, "the server does not take mail from us for this recipient: check the password and the sender"
	}
	return lastlook.ClassPermanent, "this message is refused"
}
