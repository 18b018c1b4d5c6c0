package desktop

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Sizes of the parts in which the text of a window is stored, in bytes. A text of up to
// wholeText bytes is stored whole. Appends to a longer one go to pieces behind it. The last
// piece grows up to smallPiece; appends of more get pieces of their own, of up to
// largePiece. When maxRun pieces at the end are shorter than mergedPiece, they become one.
// So an append rewrites less than smallPiece, each byte is written once or twice more, and
// the number of pieces stays small.
const (
	wholeText   = 4 << 10
	smallPiece  = 1 << 10
	largePiece  = 64 << 10
	mergedPiece = 15 << 10
	maxRun      = 16
)

// pieceSchema is the schema version that a program must know to read pieces of windows.
const pieceSchema = 2

// windowPiece is a part of the text of a window behind its stored content. It never splits
// a character.
type windowPiece struct {
	MonitorID wire.MonitorID `json:"monitorId"`
	WindowID  wire.WindowID  `json:"windowId"`
	At        int            `json:"at"` // offset in the text, in bytes
	Text      string         `json:"text"`
}

type windowPieceKey struct {
	windowKey
	at int
}

func (p *windowPiece) key() windowPieceKey {
	return windowPieceKey{windowKey{p.MonitorID, p.WindowID}, p.At}
}

// field ends with a number, so that no two keys share a name although ids contain slashes.
func (k windowPieceKey) field() string {
	return fieldName(string(k.monitor) + "/" + string(k.id) + "/" + strconv.Itoa(k.at))
}

// windowText is the text of a window that has pieces: its content and the pieces, in one
// buffer. Strings of the buffer stay valid, because appends only write behind them.
type windowText struct {
	buf    strings.Builder
	pieces []*record[windowPiece] // in the order of the text
	// trial has the text of a copy for trial changes instead, which must not write to the
	// buffer.
	trial *trialText
}

// trialText is a text and what a trial has appended to it.
type trialText struct {
	parts  []string
	bytes  int // of all parts
	stored int // of the pieces, as last written
}

func (x *windowText) len() int {
	if x.trial != nil {
		return x.trial.bytes
	}
	return x.buf.Len()
}

func (x *windowText) String() string {
	if t := x.trial; t != nil {
		t.parts = []string{strings.Join(t.parts, "")}
		return t.parts[0]
	}
	return x.buf.String()
}

// stored returns the size of the pieces, as last written.
func (x *windowText) stored() (n int) {
	if x.trial != nil {
		return x.trial.stored
	}
	for _, r := range x.pieces {
		n += r.size
	}
	return n
}

// clone returns a copy for trial changes.
func (x *windowText) clone() *windowText {
	return &windowText{trial: &trialText{parts: []string{x.String()}, bytes: x.len(), stored: x.stored()}}
}

// appended returns the text that an update appends to the text of a window, if it does just
// that, and the length of the text before.
func (ws *windows) appended(k windowKey, a wire.WindowUpdateContent) (more string, before int, ok bool) {
	op, ok := plain(a.Operation).(wire.UpdateAppend)
	r := ws.findContent(k)
	if !ok || r == nil || a.Renderer != "" && a.Renderer != wire.RendererOf(r.value.Content) {
		return "", 0, false
	}
	text, ok := textOf(r.value.Content)
	if !ok {
		return "", 0, false
	}
	before = len(text)
	if x := ws.texts[k]; x != nil {
		before = x.len()
	}
	more, err := theSchema().text.DecodeOwn(op.Data)
	return more, before, err == nil
}

// append appends to the text of a window.
func (ws *windows) append(k windowKey, more string) {
	r, x := ws.findContent(k), ws.texts[k]
	if x == nil {
		text, _ := textOf(r.value.Content)
		if len(text) <= wholeText || !utf8.ValidString(text) { // offsets are those in stored text
			c, _ := textContent(wire.RendererOf(r.value.Content), mended(text)+more)
			ws.setContent(k, c)
			return
		}
		x = ws.addText(k, text, len(text)+smallPiece)
	}
	if x.trial != nil {
		x.trial.parts = append(x.trial.parts, more)
		x.trial.bytes += len(more)
		return
	}
	ws.extend(k, r, x, more)
}

// addText begins a text with pieces. size is its expected size in bytes.
func (ws *windows) addText(k windowKey, text string, size int) *windowText {
	x := new(windowText)
	if ws.trial {
		x.trial = &trialText{parts: []string{text}, bytes: len(text)}
	} else {
		x.buf.Grow(size)
		x.buf.WriteString(text)
	}
	if ws.texts == nil {
		ws.texts = make(map[windowKey]*windowText)
	}
	ws.texts[k] = x
	return x
}

// extend appends to a text with pieces. r is the content before them.
func (ws *windows) extend(k windowKey, r *record[content], x *windowText, more string) {
	end, room := x.buf.Len(), x.buf.Cap()
	x.buf.WriteString(more)
	text := x.buf.String()
	if x.buf.Cap() != room || len(x.pieces) == 0 {
		ws.share(r, x)
	}
	if n := len(x.pieces); n > 0 {
		last := x.pieces[n-1]
		if fits := wholeRunes(more, smallPiece-len(last.value.Text)); fits > 0 {
			end += fits
			ws.pieces.touch(last).Text = text[last.value.At:end]
		}
	}
	for end < len(text) {
		n := wholeRunes(text[end:], largePiece)
		p := windowPiece{MonitorID: k.monitor, WindowID: k.id, At: end, Text: text[end : end+n]}
		x.pieces = append(x.pieces, ws.pieces.put(p.key(), p))
		end += n
	}
	ws.merge(x, text)
}

// merge replaces the short pieces at the end of a text by one, if there are many.
func (ws *windows) merge(x *windowText, text string) {
	first := len(x.pieces)
	for first > 0 && len(x.pieces[first-1].value.Text) < mergedPiece {
		first--
	}
	if len(x.pieces)-first < maxRun {
		return
	}
	for _, r := range x.pieces[first+1:] {
		ws.pieces.drop(r.value.key())
	}
	clear(x.pieces[first+1:])
	x.pieces = x.pieces[:first+1]
	p := ws.pieces.touch(x.pieces[first])
	p.Text = text[p.At:]
}

// share makes the content and the pieces parts of the buffer, so that each byte is in
// memory once. r is the content.
func (*windows) share(r *record[content], x *windowText) {
	text := x.buf.String()
	base, _ := textOf(r.value.Content)
	r.value.Content, _ = textContent(wire.RendererOf(r.value.Content), text[:len(base)])
	for _, piece := range x.pieces {
		p := &piece.value
		p.Text = text[p.At : p.At+len(p.Text)]
	}
}

// dropText removes the pieces of a window.
func (ws *windows) dropText(k windowKey) {
	x := ws.texts[k]
	if x == nil {
		return
	}
	delete(ws.texts, k)
	if x.trial != nil {
		ws.pieces.bytes -= x.trial.stored
	}
	for _, r := range x.pieces {
		ws.pieces.drop(r.value.key())
	}
}

// restoreTexts makes the texts of the restored pieces. It drops pieces that do not continue
// the text of a window.
func (ws *windows) restoreTexts() {
	pieces := make(map[windowKey][]*record[windowPiece])
	for key, r := range ws.pieces.items {
		pieces[key.windowKey] = append(pieces[key.windowKey], r)
	}
	for k, list := range pieces {
		slices.SortFunc(list, func(a, b *record[windowPiece]) int { return cmp.Compare(a.value.At, b.value.At) })
		ws.restoreText(k, list)
	}
}

func (ws *windows) restoreText(k windowKey, list []*record[windowPiece]) {
	var x *windowText
	r := ws.contents.get(k)
	if r != nil {
		if text, ok := textOf(r.value.Content); ok {
			size := len(text)
			for _, piece := range list {
				size += len(piece.value.Text)
			}
			x = ws.addText(k, text, size)
		}
	}
	for _, piece := range list {
		if x == nil || piece.value.At != x.buf.Len() {
			ws.pieces.drop(piece.value.key())
			continue
		}
		x.buf.WriteString(piece.value.Text)
		x.pieces = append(x.pieces, piece)
	}
	switch {
	case x == nil:
	case len(x.pieces) == 0:
		delete(ws.texts, k)
	default:
		ws.share(r, x)
	}
}

// cloneTexts returns copies of all texts for trial changes.
func (ws *windows) cloneTexts() map[windowKey]*windowText {
	if len(ws.texts) == 0 {
		return nil
	}
	texts := make(map[windowKey]*windowText, len(ws.texts))
	for k, x := range ws.texts {
		texts[k] = x.clone()
	}
	return texts
}
