package gateway

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// The head of the frames that nearly all clients send: one whole message of text, masked.
const (
	wholeText  = 0x81 // the first byte
	masked     = 0x80 // the bit of the second
	maskBytes  = 4
	shortFrame = 126 // in place of a length, that two bytes follow with it
	longFrame  = 127 // likewise eight
)

// plain hands the frame that comes next to take, which must not keep it, if the frame
// is all there and nothing about it is special, and reports whether that was so. The
// library has the rest of all frames: it would do the same with this one, over a
// longer way. It must not be in the middle of a frame or a message.
func (c *conn) plain(limit int64, take func(frame []byte)) bool {
	text, end := plainFrame(c.rest)
	if end == 0 || int64(len(text)) > limit {
		return false
	}
	if utf8.Valid(text) {
		take(text)
	} else {
		c.drop(wire.CloseInvalidText, "the frame is not UTF-8")
	}
	c.skip(end)
	return true
}

// plainFrame unmasks the frame at the beginning of data, where it is, and returns its
// text and end. The end is 0 if that is no plain frame or not all of one.
func plainFrame(data []byte) (text []byte, end int) {
	if len(data) < 2+maskBytes || data[0] != wholeText || data[1] < masked {
		return nil, 0
	}
	head, size := 2, int(data[1]-masked)
	switch size {
	case shortFrame:
		head, size = 4, int(binary.BigEndian.Uint16(data[2:]))
	case longFrame:
		return nil, 0
	}
	begin := head + maskBytes
	if end = begin + size; end > len(data) {
		return nil, 0
	}
	text = data[begin:end]
	unmask(text, binary.LittleEndian.Uint32(data[head:]))
	return text, end
}

// unmask undoes what a client did to the text of a frame.
func unmask(text []byte, mask uint32) {
	wide := uint64(mask)<<32 | uint64(mask)
	for ; len(text) >= 8; text = text[8:] {
		binary.LittleEndian.PutUint64(text, binary.LittleEndian.Uint64(text)^wide)
	}
	for i := range text {
		text[i] ^= byte(wide >> (8 * i)) //nolint:gosec // a byte at a time
	}
}
