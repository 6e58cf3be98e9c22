package pushservice

import (
	"encoding/binary"
	"errors"
	"iter"
)

// The little of Protocol Buffers that Google's side needs: fields of varints,
// 64 bits and bytes, in a buffer that is appended to.

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

func appendVarint(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|wireVarint), v)
}

func appendFixed64(b []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, uint64(field)<<3|wireFixed64), v)
}

func appendBytes[T string | []byte](b []byte, field int, v T) []byte {
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(field)<<3|wireBytes), uint64(len(v)))
	return append(b, v...)
}

// field is a field of a message: a number, or bytes.
type field struct {
	number int
	value  uint64
	bytes  []byte
}

var errWire = errors.New("pushservice: not a Protocol Buffers message")

// fields goes through a message. An error is the last that comes.
func fields(b []byte) iter.Seq2[field, error] {
	return func(yield func(field, error) bool) {
		for len(b) > 0 {
			f, rest, err := nextField(b)
			if !yield(f, err) || err != nil {
				return
			}
			b = rest
		}
	}
}

func nextField(b []byte) (f field, rest []byte, err error) {
	key, n := binary.Uvarint(b)
	if n <= 0 {
		return f, nil, errWire
	}
	b, f.number = b[n:], int(key>>3)
	switch key & 7 {
	case wireVarint:
		if f.value, n = binary.Uvarint(b); n <= 0 {
			return f, nil, errWire
		}
		return f, b[n:], nil
	case wireFixed64:
		if len(b) < 8 {
			return f, nil, errWire
		}
		f.value = binary.LittleEndian.Uint64(b)
		return f, b[8:], nil
	case wireFixed32:
		if len(b) < 4 {
			return f, nil, errWire
		}
		f.value = uint64(binary.LittleEndian.Uint32(b))
		return f, b[4:], nil
	case wireBytes:
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return f, nil, errWire
		}
		f.bytes = b[n : n+int(size)]
		return f, b[n+int(size):], nil
	default: // groups, which nobody sends
		return f, nil, errWire
	}
}
