package gateway

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Header bytes of the frames that nearly all clients send: an unfragmented, masked text message.
const (
	finalText = 0x81 // first byte of an unfragmented text frame
	finalPong = 0x8a // first byte of a pong frame
	maskBit   = 0x80 // mask bit of the second byte
	maskBytes = 4
	length16  = 126 // length value: the length is in the next 2 bytes
	length64  = 127 // length value: the length is in the next 8 bytes
)

// readBufferedFrame is the fast frame path: if the next frame is completely in c.unread and is an
// ordinary text frame or a pong, it unmasks it in place of the library and passes it to handle,
// which must not retain it. It reports false for all other frames, which the library must read. The
// library must not be in the middle of a frame or a message.
func (c *conn) readBufferedFrame(limit int64, handle func(frame []byte)) bool {
	if end := parsePongFrame(c.unread); end > 0 {
		c.consume(end)
		return true
	}
	text, mask, end := parseTextFrame(c.unread)
	if end == 0 || int64(len(text)) > limit {
		return false
	}
	buf, _ := c.s.connections.frameBuffers.Get().(*[]byte)
	*buf = appendUnmasked((*buf)[:0], text, mask)
	c.consume(end) // before handle, which may block: the read buffer must be back in the pool by then
	if utf8.Valid(*buf) {
		handle(*buf)
	} else {
		c.closeWith(wire.CloseInvalidText, "the frame is not UTF-8")
	}
	c.s.connections.putFrameBuffer(buf, c.s.cfg.FrameBytes)
	return true
}

// parseTextFrame returns the masked text, the mask and the end of the frame at the start of data.
// The end is 0 if that is no complete, unfragmented text frame shorter than 64 KiB.
func parseTextFrame(data []byte) (text []byte, mask uint32, end int) {
	if len(data) < 2+maskBytes || data[0] != finalText || data[1] < maskBit {
		return nil, 0, 0
	}
	head, size := 2, int(data[1]-maskBit)
	switch size {
	case length16:
		head, size = 4, int(binary.BigEndian.Uint16(data[2:]))
	case length64:
		return nil, 0, 0
	}
	begin := head + maskBytes
	if end = begin + size; end > len(data) {
		return nil, 0, 0
	}
	return data[begin:end], binary.LittleEndian.Uint32(data[head:]), end
}

// parsePongFrame returns the end of the pong frame at the start of data, or 0. Pongs are all that
// idle clients of protocols without a pong message send, and the library would block for the next
// frame after one.
func parsePongFrame(data []byte) int {
	if len(data) < 2+maskBytes || data[0] != finalPong || data[1] < maskBit || data[1]-maskBit >= length16 {
		return 0
	}
	if end := 2 + maskBytes + int(data[1]-maskBit); end <= len(data) {
		return end
	}
	return 0
}

// appendUnmasked appends the unmasked text to dst.
func appendUnmasked(dst, text []byte, mask uint32) []byte {
	wide := uint64(mask)<<32 | uint64(mask)
	dst = slices.Grow(dst, len(text))[:len(dst)+len(text)]
	to := dst[len(dst)-len(text):]
	for ; len(text) >= 8 && len(to) >= 8; text, to = text[8:], to[8:] {
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(text)^wide)
	}
	for i, b := range text {
		to[i] = b ^ byte(wide>>(8*i)) //nolint:gosec // a byte at a time
	}
	return dst
}
