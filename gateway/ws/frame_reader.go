package ws

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/wire"
)

// Header bytes of the frames that nearly all clients send: an unfragmented, masked text message.
const (
	finalText = 0x81 // first byte of an unfragmented text frame
	finalPing = 0x89 // first byte of a ping frame
	finalPong = 0x8a // first byte of a pong frame
	maskBit   = 0x80 // mask bit of the second byte
	maskBytes = 4
	length16  = 126 // length value: the length is in the next 2 bytes
	length64  = 127 // length value: the length is in the next 8 bytes
)

// errFrameTooBig is the error for a frame that exceeds its limit.
var errFrameTooBig = errors.New("frame too big")

// frameError is the error for a frame with which no client may go on.
type frameError struct {
	code   wire.CloseCode // to close the connection with
	reason string
}

// Error implements error.
func (e *frameError) Error() string { return e.reason }

// errInvalidText returns the error for a text frame that is not UTF-8.
func errInvalidText() error {
	return &frameError{wire.CloseInvalidText, "the frame is not UTF-8"}
}

// initialFrameBytes is the initial size of a frame buffer. A buffer grows with the data that has
// arrived, not with the announced length: half a frame from each of ten thousand clients must not
// cost the memory of ten thousand whole ones.
const initialFrameBytes = 2 << 10

// frameReader reads the frames of a WebSocket.
//
// Ownership: the goroutine that serves the connection.
type frameReader struct {
	link *link
	// limit bounds a frame, in bytes.
	limit int64
	// peer is the connection of link.
	peer *peer
	// closeCode is the close code that the client sent, or 0.
	closeCode wire.CloseCode
}

// read reads one frame of at most limit bytes through the library and passes it to handle, which must
// not retain it. With the limit of the reader, a frame may be longer before its pictures are scaled.
func (f *frameReader) read(limit int64, handle func(frame []byte)) error {
	// The deadline is set on the underlying connection: a cancellable context would cost more than
	// the read.
	ws, err := f.link.library()
	if err != nil {
		return err
	}
	kind, r, err := ws.Reader(context.Background())
	if err != nil {
		if code := websocket.CloseStatus(err); code > 0 {
			f.closeCode = wire.CloseCode(code)
		}
		return err
	}
	if kind != websocket.MessageText {
		return &frameError{wire.CloseUnsupported, "only text frames are understood"}
	}
	buf, _ := f.link.resources.frameBuffers.Get().(*[]byte)
	*buf, err = appendFrame(r, (*buf)[:0], limit)
	switch {
	case errors.Is(err, errFrameTooBig) && limit == f.limit && pictures.HasPicture(*buf):
		err = f.readPictures(r, *buf, handle)
	case err != nil:
	case !utf8.Valid(*buf):
		err = errInvalidText()
	default:
		handle(*buf)
	}
	f.link.resources.putFrameBuffer(buf, f.limit)
	return err
}

// readBuffered is the fast frame path: if the next frame is completely in the link's buffer and is an
// ordinary text frame or a pong, it unmasks it in place of the library and passes it to handle, which
// must not retain it. It reports false for all other frames, which the library must read. The library
// must not be in the middle of a frame or a message.
func (f *frameReader) readBuffered(handle func(frame []byte)) (found bool, err error) {
	if end := parsePongFrame(f.link.unread); end > 0 {
		f.link.consume(end)
		return true, nil
	}
	text, mask, end := parseTextFrame(f.link.unread)
	if end == 0 || int64(len(text)) > f.limit {
		return false, nil
	}
	buf, _ := f.link.resources.frameBuffers.Get().(*[]byte)
	*buf = appendUnmasked((*buf)[:0], text, mask)
	f.link.consume(end) // before handle, which may block: the read buffer must be back in the pool by then
	if utf8.Valid(*buf) {
		handle(*buf)
	} else {
		err = errInvalidText()
	}
	f.link.resources.putFrameBuffer(buf, f.limit)
	return true, err
}

// appendFrame appends the message in r to buf. It fails if the result exceeds limit bytes.
func appendFrame(r io.Reader, buf []byte, limit int64) ([]byte, error) {
	for {
		if int64(len(buf)) > limit {
			return buf, errFrameTooBig
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(int64(cap(buf)), limit+1)])
		buf = buf[:len(buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return buf, nil
		case err != nil:
			return buf, err
		}
	}
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
func parsePongFrame(data []byte) int { return controlEnd(data, finalPong) }

// parsePingFrame returns the masked data, the mask and the end of the ping frame at the start of data. The
// end is 0 if that is no complete ping.
func parsePingFrame(data []byte) (masked []byte, mask uint32, end int) {
	if end = controlEnd(data, finalPing); end == 0 {
		return nil, 0, 0
	}
	return data[2+maskBytes : end], binary.LittleEndian.Uint32(data[2:]), end
}

// controlEnd returns the end of the complete control frame at the start of data if it begins with first,
// or 0.
func controlEnd(data []byte, first byte) int {
	if len(data) < 2+maskBytes || data[0] != first || data[1] < maskBit || data[1]-maskBit >= length16 {
		return 0
	}
	if end := 2 + maskBytes + int(data[1]-maskBit); end <= len(data) {
		return end
	}
	return 0
}

// isPartOfControl reports whether data is the beginning of a ping or a pong that clients may send, without
// its end.
func isPartOfControl(data []byte) bool {
	if len(data) == 0 || data[0] != finalPing && data[0] != finalPong {
		return false
	}
	if len(data) == 1 {
		return true
	}
	return data[1] >= maskBit && data[1]-maskBit < length16 && controlEnd(data, data[0]) == 0
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
