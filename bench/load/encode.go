//go:build linux

package main

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"
)

// bodySize is the size of an event's data in bytes, as tabs receive it.
const bodySize = 256

// encoder encodes the messages of a publisher.
type encoder interface {
	// setup returns the first message of a publisher, or nil.
	setup() []byte
	// events appends n events of a session, numbered from seq, to dst. With receipt the server
	// acknowledges that they are stored.
	events(dst []byte, session string, seq uint64, n int, stamp time.Duration, receipt bool) []byte
	// setDataSize reports the actual size of an event's data, to adjust later events.
	setDataSize(data int)
}

// text is the content of the window: a mark, number, time stamp and padding.
type text struct {
	bytes []byte // with space for the digits
}

// newText returns a text of a size, or of the minimum size if that is larger.
func newText(size int) text {
	blank := "#" + strings.Repeat("0", seqDigits) + " " + strings.Repeat("0", stampDigits) + " "
	return text{[]byte(blank + strings.Repeat("x", max(size-len(blank), 0)))}
}

// format writes the digits and returns the text, which is valid until the next call.
func (t text) format(seq uint64, stamp time.Duration) []byte {
	putNumber(t.bytes[1:][:seqDigits], seq)
	putNumber(t.bytes[1+seqDigits+1:][:stampDigits], uint64(stamp)) //nolint:gosec // not negative
	return t.bytes
}

// hubEncoder encodes EMIT messages, several per frame.
type hubEncoder struct {
	text       text
	head, tail string // of an action, around its text
	scratch    []byte
}

const (
	actionHead = `{"actions":[{"type":"window.setContent","windowId":"w","content":{"renderer":"text","data":"`
	actionTail = `"}}],"monitorId":"monitor-0"`
	growHead   = `{"actions":[{"type":"window.updateContent","windowId":"w","operation":{"op":"append","data":"`
)

func newHubEncoder() *hubEncoder {
	return &hubEncoder{text: newText(bodySize - len(actionHead+actionTail+"}")), head: actionHead, tail: actionTail}
}

// newAppendEncoder encodes appends of a number of bytes.
func newAppendEncoder(size int) *hubEncoder {
	return &hubEncoder{text: newText(size), head: growHead, tail: actionTail}
}

// setDataSize shortens the text by the bytes that the hub adds to the data.
func (h *hubEncoder) setDataSize(data int) {
	h.text = newText(len(h.text.bytes) + bodySize - data)
}

// setup creates the window and requests a receipt.
func (h *hubEncoder) setup() []byte {
	return appendClientFrame(nil, opText, []byte(`{"type":"EMIT","data":{"actions":[{"type":"window.create","windowId":"w","title":"Load",`+
		`"bounds":{"x":0,"y":0,"w":400,"h":300},"content":{"renderer":"text","data":""}}],"monitorId":"monitor-0","messageId":"load-setup"}}`))
}

func (h *hubEncoder) events(dst []byte, _ string, seq uint64, n int, stamp time.Duration, receipt bool) []byte {
	b := h.scratch[:0]
	for i := range n {
		if i > 0 {
			b = append(b, '\n')
		}
		b = append(b, `{"type":"EMIT","data":`...)
		b = append(b, h.head...)
		b = append(b, h.text.format(seq, stamp)...)
		b = append(b, h.tail...)
		if receipt && i == n-1 {
			b = fmt.Appendf(b, `,"messageId":"load-%d"`, seq)
		}
		b = append(b, `}}`...)
		seq++
	}
	h.scratch = b
	return appendClientFrame(dst, opText, b)
}

// floorEncoder encodes complete server frames, each after its length.
type floorEncoder struct {
	frame []byte
	id    []byte // part of frame, like text: both change per event
	text  text
}

// newFloorEncoder encodes frames like those of the hub, with an envelope of the given size.
func newFloorEncoder(size int) *floorEncoder {
	const (
		idDigits = 7
		head     = `{"type":"ACTIONS","session_id":"ses-00000000000000000000000000","message_id":"1763186400000-`
		middle   = `","timestamp":"2026-11-15T06:00:00.000Z","data":` + actionHead
		tail     = actionTail + "}}"
	)
	t := newText(size - len(head) - idDigits - len(middle) - len(tail))
	payload := head + strings.Repeat("0", idDigits) + middle + string(t.bytes) + tail
	frame := append(appendHead(nil, opText, len(payload), 0), payload...)
	idAt := len(frame) - len(payload) + len(head)
	textAt := idAt + idDigits + len(middle)
	return &floorEncoder{frame: frame, id: frame[idAt:][:idDigits], text: text{frame[textAt:][:len(t.bytes)]}}
}

func (*floorEncoder) setDataSize(int) {}

func (*floorEncoder) setup() []byte { return nil }

func (f *floorEncoder) events(dst []byte, _ string, seq uint64, n int, stamp time.Duration, _ bool) []byte {
	for range n {
		putNumber(f.id, seq+1)
		f.text.format(seq, stamp)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(f.frame))) //nolint:gosec // some hundred bytes
		dst = append(dst, f.frame...)
		seq++
	}
	return dst
}
