package gateway

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// The head of the frames that nearly all clients send: one whole message of text, masked.
const (
	wholeText  = 0x81 // the first byte
	wholePong  = 0x8a // that of an answer to a ping, of which nothing becomes
	masked     = 0x80 // the bit of the second that is not of the length
	maskBytes  = 4
	twoFollow  = 126 // instead of a length: it is in two bytes that follow
	manyFollow = 127 // likewise in eight
)

// readWholeFrames hands the frame that comes next to take, which must not keep it, if all of
// the frame is there and nothing about it is special, and reports whether that was so.
// All other frames are the library's, which would do the same with this one over a longer
// way. The library must not be in the middle of a frame or a message.
func (c *conn) readWholeFrames(limit int64, take func(frame []byte)) bool {
	if end := pongFrame(c.rest); end > 0 {
		c.skip(end)
		return true
	}
	text, mask, end := wholeFrame(c.rest)
	if end == 0 || int64(len(text)) > limit {
		return false
	}
	buf, _ := c.s.connections.frames.Get().(*[]byte)
	*buf = appendUnmasked((*buf)[:0], text, mask)
	c.skip(end) // before take, which may wait: nobody is to wait with all that was read
	if utf8.Valid(*buf) {
		take(*buf)
	} else {
		c.drop(wire.CloseInvalidText, "the frame is not UTF-8")
	}
	c.s.connections.reuse(buf, c.s.cfg.FrameBytes)
	return true
}

// wholeFrame returns the masked text, the mask and the end of the frame that data begins
// with. The end is 0 if that is a special one or not all of one.
func wholeFrame(data []byte) (text []byte, mask uint32, end int) {
	if len(data) < 2+maskBytes || data[0] != wholeText || data[1] < masked {
		return nil, 0, 0
	}
	head, size := 2, int(data[1]-masked)
	switch size {
	case twoFollow:
		head, size = 4, int(binary.BigEndian.Uint16(data[2:]))
	case manyFollow:
		return nil, 0, 0
	}
	begin := head + maskBytes
	if end = begin + size; end > len(data) {
		return nil, 0, 0
	}
	return data[begin:end], binary.LittleEndian.Uint32(data[head:]), end
}

// pongFrame is the end of the pong that data begins with, or 0. It is all that an idle client says at
// doors where others know a message for it, and the library would wait for more after it.
func pongFrame(data []byte) int {
	if len(data) < 2+maskBytes || data[0] != wholePong || data[1] < masked || data[1]-masked >= twoFollow {
		return 0
	}
	if end := 2 + maskBytes + int(data[1]-masked); end <= len(data) {
		return end
	}
	return 0
}

// appendUnmasked adds a text without what a client did to it.
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
