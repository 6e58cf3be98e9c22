package webpush

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
)

// Keys is the key pair by which push services recognize a sender (VAPID). A
// subscription is bound to the public key it was made with: keep the pair, and
// let browsers subscribe again when it is changed. It prints as its public key.
type Keys struct {
	private *ecdsa.PrivateKey
	public  string
}

// GenerateKeys makes a new pair.
func GenerateKeys() (*Keys, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("webpush: make a key: %w", err)
	}
	return newKeys(private)
}

// ParseKeys reads a private key: PEM (PKCS #8 or SEC 1), or the 32 bytes in
// base64url that other tools show (any form of base64 is taken). Errors wrap
// [ErrInvalid] and repeat nothing of the key.
func ParseKeys(text []byte) (*Keys, error) {
	if bytes.Contains(text, []byte("-----BEGIN")) {
		return parsePEM(text)
	}
	raw, err := decode64(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%w VAPID key: it is neither PEM nor base64url", ErrInvalid)
	}
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil {
		return nil, fmt.Errorf("%w VAPID key: it is no private key of P-256 (32 bytes); is it the public one?", ErrInvalid)
	}
	return newKeys(private)
}

func parsePEM(text []byte) (*Keys, error) {
	for {
		var block *pem.Block
		block, text = pem.Decode(text)
		if block == nil {
			return nil, fmt.Errorf("%w VAPID key: its PEM holds no private key that can be read", ErrInvalid)
		}
		var key any
		var err error
		switch block.Type {
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		default: // such as EC PARAMETERS, which openssl puts before the key
			continue
		}
		private, ok := key.(*ecdsa.PrivateKey)
		if err != nil || !ok || private.Curve != elliptic.P256() {
			return nil, fmt.Errorf("%w VAPID key: its PEM holds no private key of P-256", ErrInvalid)
		}
		return newKeys(private)
	}
}

func newKeys(private *ecdsa.PrivateKey) (*Keys, error) {
	public, err := private.PublicKey.Bytes()
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	return &Keys{private: private, public: base64.RawURLEncoding.EncodeToString(public)}, nil
}

// Public returns the public key in base64url: the applicationServerKey that
// pages subscribe with.
func (k *Keys) Public() string { return k.public }

// PEM returns the private key as PKCS #8, to be kept in a file that only its
// owner reads.
func (k *Keys) PEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return nil, fmt.Errorf("webpush: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// Raw returns the private key in base64url, as other tools show it.
func (k *Keys) Raw() (string, error) {
	raw, err := k.private.Bytes()
	if err != nil {
		return "", fmt.Errorf("webpush: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// String returns the public key.
func (k *Keys) String() string {
	if k == nil {
		return "no VAPID keys"
	}
	return "vapid(" + k.public + ")"
}

// GoString is String: %#v shows no secrets either.
func (k *Keys) GoString() string { return k.String() }
