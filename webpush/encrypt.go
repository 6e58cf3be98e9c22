package webpush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	// MaxPayload is the longest payload, in bytes: what is left of the 4096
	// that every push service takes (RFC 8030, section 7.2).
	MaxPayload = maxBody - headerLen - tagLen - 1
	// Bucket is what payloads are padded to multiples of: a payload, its
	// delimiter and its padding together have 256, 512, … bytes, and the
	// largest ones MaxPayload + 1.
	Bucket = 256

	maxBody    = 4096
	recordSize = 4096 // one record is all there is (RFC 8291, section 4)
	saltLen    = 16
	headerLen  = saltLen + 4 + 1 + pointLen
	tagLen     = 16
	delimiter  = 2 // of the last record (RFC 8188, section 2)
)

// ErrTooLong says that a payload is longer than [MaxPayload].
var ErrTooLong = errors.New("webpush: payload too long")

// Encrypt appends the payload to dst, encrypted for a subscription with a key
// pair made for it alone, as a message body of content coding aes128gcm
// (RFC 8291, RFC 8188). The payload is neither kept nor changed; it must not
// overlap the spare capacity of dst.
func Encrypt(dst []byte, sub Subscription, payload []byte) ([]byte, error) {
	if sub.IsZero() {
		return dst, fmt.Errorf("%w subscription: none was given", ErrInvalid)
	}
	own, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		return dst, fmt.Errorf("webpush: make a key: %w", err)
	}
	var salt [saltLen]byte
	_, _ = rand.Read(salt[:]) // never fails
	return seal(dst, sub.parts(), payload, own, &salt, padded(len(payload)))
}

// padded returns how long a payload of n bytes gets, with delimiter and padding.
func padded(n int) int { return min((n+1+Bucket-1)/Bucket*Bucket, MaxPayload+1) }

// bodyLen returns how long the body of a payload of n bytes gets.
func bodyLen(n int) int { return headerLen + padded(n) + tagLen }

// seal appends the body made with the given key pair and salt, which must be
// fresh. size is the length of payload, delimiter and padding.
func seal(dst []byte, sub *subscription, payload []byte, own *ecdh.PrivateKey, salt *[saltLen]byte, size int) ([]byte, error) {
	if len(payload) > MaxPayload {
		return dst, tooLong(len(payload))
	}
	public := own.PublicKey().Bytes()
	key, nonce, err := derive(sub, own, public, salt)
	if err != nil {
		return dst, err
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return dst, fmt.Errorf("webpush: %w", err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return dst, fmt.Errorf("webpush: %w", err)
	}
	out := slices.Grow(dst, headerLen+size+tagLen)
	out = append(out, salt[:]...)
	out = binary.BigEndian.AppendUint32(out, recordSize)
	out = append(out, pointLen)
	out = append(out, public...)
	at := len(out)
	out = append(out, payload...)
	out = append(out, delimiter)
	out = out[:at+size]
	clear(out[at+len(payload)+1:]) // what the spare capacity held is nobody's business
	return gcm.Seal(out[:at], nonce[:], out[at:], nil), nil
}

// The info strings of RFC 8291, section 3.4, and RFC 8188, section 2, each with
// the counter of the first and only block that HKDF-Expand makes of it.
const (
	ikmInfo   = "WebPush: info\x00" // the two public keys and the counter follow
	keyInfo   = "Content-Encoding: aes128gcm\x00\x01"
	nonceInfo = "Content-Encoding: nonce\x00\x01"
)

// derive returns the content encryption key and the nonce.
func derive(sub *subscription, own *ecdh.PrivateKey, public []byte, salt *[saltLen]byte) (key [16]byte, nonce [12]byte, err error) {
	shared, err := own.ECDH(sub.key)
	if err != nil {
		return key, nonce, fmt.Errorf("webpush: %w", err)
	}
	var info [len(ikmInfo) + 2*pointLen + 1]byte
	n := copy(info[:], ikmInfo)
	n += copy(info[n:], sub.point[:])
	n += copy(info[n:], public)
	info[n] = 1
	prkKey := mac(sub.auth[:], shared)
	ikm := mac(prkKey[:], info[:])
	prk := mac(salt[:], ikm[:])
	long := mac(prk[:], []byte(keyInfo))
	copy(key[:], long[:])
	long = mac(prk[:], []byte(nonceInfo))
	copy(nonce[:], long[:])
	return key, nonce, nil
}

// mac is HMAC-SHA-256 (RFC 2104) of at most maxInfo bytes with a key no longer
// than a block. With it, HKDF is five calls, for each output here is one block
// long. crypto/hkdf comes to the same (a test holds that), but makes ten hashes
// and 3 kB of garbage for each message, and takes five times as long.
func mac(key, text []byte) [sha256.Size]byte {
	const maxInfo = 160
	var inner [sha256.BlockSize + maxInfo]byte
	var outer [sha256.BlockSize + sha256.Size]byte
	copy(inner[:], key)
	copy(outer[:], key)
	for i := range sha256.BlockSize {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	n := sha256.BlockSize + copy(inner[sha256.BlockSize:sha256.BlockSize+len(text)], text) // too long a text panics
	sum := sha256.Sum256(inner[:n])
	copy(outer[sha256.BlockSize:], sum[:])
	return sha256.Sum256(outer[:])
}
