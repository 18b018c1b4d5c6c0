//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
)

// opcode is the opcode of a WebSocket frame.
type opcode byte

const (
	opText  opcode = 1
	opClose opcode = 8
	opPing  opcode = 9
	opPong  opcode = 10
)

const (
	finBit  = 0x80
	maskBit = 0x80
	// len16 and len64 in the second byte of a frame mean that the length follows.
	len16 = 126
	len64 = 127
	// maxFrame is more than any frame of a run; a larger length is garbage.
	maxFrame = 1 << 20
)

var errFrame = errors.New("invalid server frame")

// nextFrame returns the first frame of b and the bytes after it. If it is incomplete, rest is b and
// ok is false.
func nextFrame(b []byte) (op opcode, payload, rest []byte, ok bool, err error) {
	if len(b) < 2 {
		return 0, nil, b, false, nil
	}
	if b[0]&0xF0 != finBit || b[1]&maskBit != 0 {
		return 0, nil, b, false, fmt.Errorf("%w: first bytes % x", errFrame, b[:2])
	}
	head, n := 2, int(b[1])
	switch n {
	case len16:
		if len(b) < 4 {
			return 0, nil, b, false, nil
		}
		head, n = 4, int(binary.BigEndian.Uint16(b[2:]))
	case len64:
		if len(b) < 10 {
			return 0, nil, b, false, nil
		}
		long := binary.BigEndian.Uint64(b[2:])
		if long > maxFrame {
			return 0, nil, b, false, fmt.Errorf("%w: %d bytes", errFrame, long)
		}
		head, n = 10, int(long)
	}
	if len(b) < head+n {
		return 0, nil, b, false, nil
	}
	return opcode(b[0] & 0x0F), b[head : head+n], b[head+n:], true, nil
}

// appendHead appends the header of a frame with n bytes of payload; mask is
// maskBit for frames of a client, else 0.
func appendHead(dst []byte, op opcode, n int, mask byte) []byte {
	dst = append(dst, finBit|byte(op))
	switch {
	case n < len16:
		return append(dst, mask|byte(n)) //nolint:gosec // compared above
	case n < 1<<16:
		dst = append(dst, mask|len16)
		return binary.BigEndian.AppendUint16(dst, uint16(n))
	default:
		dst = append(dst, mask|len64)
		return binary.BigEndian.AppendUint64(dst, uint64(n))
	}
}

// appendClientFrame appends a masked frame, as clients must send.
func appendClientFrame(dst []byte, op opcode, payload []byte) []byte {
	dst = appendHead(dst, op, len(payload), maskBit)
	key := rand.Uint32() //nolint:gosec // masking protects proxies, which are absent here
	dst = binary.LittleEndian.AppendUint32(dst, key)
	from := len(dst)
	dst = append(dst, payload...)
	mask(dst[from:], key)
	return dst
}

// mask applies a masking key to b.
func mask(b []byte, key uint32) {
	wide := uint64(key)<<32 | uint64(key)
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^wide)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= byte(key >> (8 * (i & 3))) //nolint:gosec // the lowest byte is what is wanted
	}
}
