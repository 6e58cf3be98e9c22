package webpushtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/lastlook/lastlook/webpush"
)

// Browser is the receiving side of one subscription: the key pair and the
// secret that never leave a real browser but for their public half.
type Browser struct {
	private *ecdh.PrivateKey
	auth    []byte
}

// NewBrowser makes a browser's keys.
func NewBrowser() (*Browser, error) {
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("webpushtest: %w", err)
	}
	b := &Browser{private: private, auth: make([]byte, 16)}
	_, _ = rand.Read(b.auth) // never fails
	return b, nil
}

// BrowserOf makes a browser of known keys: its private key (32 bytes) and its
// secret, such as those of RFC 8291, Appendix A.
func BrowserOf(private, auth []byte) (*Browser, error) {
	key, err := ecdh.P256().NewPrivateKey(private)
	if err != nil || len(auth) != 16 {
		return nil, errors.New("webpushtest: no private key of P-256, or no secret of 16 bytes")
	}
	return &Browser{private: key, auth: append([]byte(nil), auth...)}, nil
}

// Subscription is what the browser gives to pages, with the endpoint that its
// push service made.
func (b *Browser) Subscription(endpoint string) (webpush.Subscription, error) {
	return webpush.NewSubscription(endpoint, b.private.PublicKey().Bytes(), b.auth)
}

// String hides the keys.
func (b *Browser) String() string { return "browser" }

// GoString hides the keys.
func (b *Browser) GoString() string { return "browser" }

// Decrypt reads a message body, as RFC 8188 and RFC 8291 want it read: one
// record, its delimiter, zeros behind it.
func (b *Browser) Decrypt(body []byte) ([]byte, error) {
	plain, _, err := b.open(body)
	return plain, err
}

// open returns how much of the record was padding, too.
func (b *Browser) open(body []byte) (plain []byte, padding int, err error) {
	const fixed = 16 + 4 + 1
	if len(body) < fixed+65+17 {
		return nil, 0, fmt.Errorf("webpushtest: a body of %d bytes is too short", len(body))
	}
	salt, size, idlen := body[:16], binary.BigEndian.Uint32(body[16:20]), int(body[20])
	if idlen != 65 {
		return nil, 0, fmt.Errorf("webpushtest: a key of %d bytes, not 65", idlen)
	}
	point, record := body[fixed:fixed+65], body[fixed+65:]
	if size < 18 || int64(len(record)) > int64(size) {
		return nil, 0, fmt.Errorf("webpushtest: %d bytes are more than one record of %d", len(record), size)
	}
	sender, err := ecdh.P256().NewPublicKey(point)
	if err != nil {
		return nil, 0, errors.New("webpushtest: the sender's key is no point on P-256")
	}
	shared, err := b.private.ECDH(sender)
	if err != nil {
		return nil, 0, fmt.Errorf("webpushtest: %w", err)
	}
	gcm, nonce, err := b.cipher(shared, salt, point)
	if err != nil {
		return nil, 0, err
	}
	text, err := gcm.Open(nil, nonce, record, nil)
	if err != nil {
		return nil, 0, errors.New("webpushtest: it cannot be decrypted: another key, another secret, or changed on the way")
	}
	end := len(text) - 1
	for end >= 0 && text[end] == 0 {
		end--
	}
	if end < 0 || text[end] != 2 {
		return nil, 0, errors.New("webpushtest: the record has no delimiter of a last record")
	}
	return text[:end], len(text) - end - 1, nil
}

// cipher spells the key derivation out as RFC 8291, section 3.4, does.
func (b *Browser) cipher(shared, salt, sender []byte) (cipher.AEAD, []byte, error) {
	mac := func(key []byte, parts ...[]byte) []byte {
		h := hmac.New(sha256.New, key)
		for _, p := range parts {
			_, _ = h.Write(p)
		}
		return h.Sum(nil)
	}
	prkKey := mac(b.auth, shared)
	ikm := mac(prkKey, []byte("WebPush: info\x00"), b.private.PublicKey().Bytes(), sender, []byte{1})
	prk := mac(salt, ikm)
	cek := mac(prk, []byte("Content-Encoding: aes128gcm\x00\x01"))[:16]
	nonce := mac(prk, []byte("Content-Encoding: nonce\x00\x01"))[:12]
	block, err := aes.NewCipher(cek)
	if err != nil {
		return nil, nil, fmt.Errorf("webpushtest: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, nil, fmt.Errorf("webpushtest: %w", err)
	}
	return gcm, nonce, nil
}
