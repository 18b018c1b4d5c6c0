//go:build linux

package main

import (
	"bytes"

	"github.com/everdesk/everdesk/wire"
)

// An event of a run is an ACTIONS envelope whose text begins with a mark, the
// number of the event in its session and the time it was published:
//
//	…"message_id":"4-127",…"data":"#0000000031 0000001731650000 xxxx…"…
const (
	seqDigits   = 10
	stampDigits = 16
)

// tokens are what envelopes are searched for.
var (
	typeToken   = []byte(`{"type":"`)
	actionToken = []byte(`{"type":"ACTIONS",`)
	idToken     = []byte(`"message_id":"`)
	textToken   = []byte(`:"#`)
	dataToken   = []byte(`,"data":`)
)

// layout remembers the offsets of tokens, because all envelopes of a session look alike.
// Both are hints that are checked.
type layout struct{ id, text int }

// delivery is the content of an envelope.
type delivery struct {
	at wire.Position
	// seq and stamp are valid only if numbered is set.
	numbered bool
	seq      uint64
	stamp    []byte
}

// read parses an envelope. ok is false for anything but ACTIONS.
func (y *layout) read(e []byte) (d delivery, ok bool) {
	if !bytes.HasPrefix(e, actionToken) {
		return delivery{}, false
	}
	var rest []byte
	d.at, rest = position(find(e, idToken, &y.id))
	text := find(rest, textToken, &y.text)
	if len(text) < seqDigits+1+stampDigits {
		return d, true
	}
	d.numbered = true
	d.seq = number(text[:seqDigits])
	d.stamp = text[seqDigits+1:][:stampDigits]
	return d, true
}

// find returns the bytes after token in b; it tries the previous offset first. Without the
// token it returns nil.
func find(b, token []byte, guess *int) []byte {
	if i := *guess; i+len(token) <= len(b) && string(b[i:i+len(token)]) == string(token) {
		return b[i+len(token):]
	}
	i := bytes.Index(b, token)
	if i < 0 {
		return nil
	}
	*guess = i
	return b[i+len(token):]
}

// position parses a position and returns the bytes after it.
func position(b []byte) (p wire.Position, rest []byte) {
	p.Epoch, b = digits(b)
	if len(b) > 0 && b[0] == '-' {
		p.Seq, b = digits(b[1:])
	}
	return p, b
}

// digits parses a number up to the first byte that is not a digit.
func digits(b []byte) (n uint64, rest []byte) {
	for i, c := range b {
		if c -= '0'; c > 9 {
			return n, b[i:]
		}
		n = n*10 + uint64(b[i]-'0')
	}
	return n, nil
}

// number parses digits of a known width.
func number(b []byte) (n uint64) {
	for _, c := range b {
		n = n*10 + uint64(c-'0')
	}
	return n
}

// putNumber writes n over dst, with leading zeros.
func putNumber(dst []byte, n uint64) {
	for i := len(dst) - 1; i >= 0; i-- {
		dst[i] = '0' + byte(n%10)
		n /= 10
	}
}

// typeOf returns the type of an envelope.
func typeOf(e []byte) string {
	rest, ok := bytes.CutPrefix(e, typeToken)
	if !ok {
		return ""
	}
	name, _, _ := bytes.Cut(rest, []byte{'"'})
	return string(name)
}
