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

func (wt *windowText) len() int {
	if wt.trial != nil {
		return wt.trial.bytes
	}
	return wt.buf.Len()
}

func (wt *windowText) String() string {
	if t := wt.trial; t != nil {
		t.parts = []string{strings.Join(t.parts, "")}
		return t.parts[0]
	}
	return wt.buf.String()
}

// stored returns the size of the pieces, as last written.
func (wt *windowText) stored() (n int) {
	if wt.trial != nil {
		return wt.trial.stored
	}
	for _, r := range wt.pieces {
		n += r.size
	}
	return n
}

// clone returns a copy for trial changes.
func (wt *windowText) clone() *windowText {
	return &windowText{trial: &trialText{parts: []string{wt.String()}, bytes: wt.len(), stored: wt.stored()}}
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
	if wt := ws.texts[k]; wt != nil {
		before = wt.len()
	}
	more, err := theSchema().text.DecodeOwn(op.Data)
	return more, before, err == nil
}

// append appends to the text of a window.
func (ws *windows) append(k windowKey, more string) {
	r, wt := ws.findContent(k), ws.texts[k]
	if wt == nil {
		text, _ := textOf(r.value.Content)
		if len(text) <= wholeText || !utf8.ValidString(text) { // offsets are those in stored text
			c, _ := textContent(wire.RendererOf(r.value.Content), validUTF8(text)+more)
			ws.setContent(k, c)
			return
		}
		wt = ws.addText(k, text, len(text)+smallPiece)
	}
	if wt.trial != nil {
		wt.trial.parts = append(wt.trial.parts, more)
		wt.trial.bytes += len(more)
		return
	}
	ws.extend(k, r, wt, more)
}

// addText begins a text with pieces. size is its expected size in bytes.
func (ws *windows) addText(k windowKey, text string, size int) *windowText {
	wt := new(windowText)
	if ws.trial {
		wt.trial = &trialText{parts: []string{text}, bytes: len(text)}
	} else {
		wt.buf.Grow(size)
		wt.buf.WriteString(text)
	}
	if ws.texts == nil {
		ws.texts = make(map[windowKey]*windowText)
	}
	ws.texts[k] = wt
	return wt
}

// extend appends to a text with pieces. r is the content before them.
func (ws *windows) extend(k windowKey, r *record[content], wt *windowText, more string) {
	end, room := wt.buf.Len(), wt.buf.Cap()
	wt.buf.WriteString(more)
	text := wt.buf.String()
	if wt.buf.Cap() != room || len(wt.pieces) == 0 {
		ws.share(r, wt)
	}
	if n := len(wt.pieces); n > 0 {
		last := wt.pieces[n-1]
		if fits := wholeRunes(more, smallPiece-len(last.value.Text)); fits > 0 {
			end += fits
			ws.pieces.touch(last).Text = text[last.value.At:end]
		}
	}
	for end < len(text) {
		n := wholeRunes(text[end:], largePiece)
		p := windowPiece{MonitorID: k.monitor, WindowID: k.id, At: end, Text: text[end : end+n]}
		wt.pieces = append(wt.pieces, ws.pieces.put(p.key(), p))
		end += n
	}
	ws.merge(wt, text)
}

// merge replaces the short pieces at the end of a text by one, if there are many.
func (ws *windows) merge(wt *windowText, text string) {
	first := len(wt.pieces)
	for first > 0 && len(wt.pieces[first-1].value.Text) < mergedPiece {
		first--
	}
	if len(wt.pieces)-first < maxRun {
		return
	}
	for _, r := range wt.pieces[first+1:] {
		ws.pieces.drop(r.value.key())
	}
	clear(wt.pieces[first+1:])
	wt.pieces = wt.pieces[:first+1]
	p := ws.pieces.touch(wt.pieces[first])
	p.Text = text[p.At:]
}

// share makes the content and the pieces parts of the buffer, so that each byte is in
// memory once. r is the content.
func (*windows) share(r *record[content], wt *windowText) {
	text := wt.buf.String()
	base, _ := textOf(r.value.Content)
	r.value.Content, _ = textContent(wire.RendererOf(r.value.Content), text[:len(base)])
	for _, piece := range wt.pieces {
		p := &piece.value
		p.Text = text[p.At : p.At+len(p.Text)]
	}
}

// dropText removes the pieces of a window.
func (ws *windows) dropText(k windowKey) {
	wt := ws.texts[k]
	if wt == nil {
		return
	}
	delete(ws.texts, k)
	if wt.trial != nil {
		ws.pieces.bytes -= wt.trial.stored
	}
	for _, r := range wt.pieces {
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
	var wt *windowText
	r := ws.contents.get(k)
	if r != nil {
		if text, ok := textOf(r.value.Content); ok {
			size := len(text)
			for _, piece := range list {
				size += len(piece.value.Text)
			}
			wt = ws.addText(k, text, size)
		}
	}
	for _, piece := range list {
		if wt == nil || piece.value.At != wt.buf.Len() {
			ws.pieces.drop(piece.value.key())
			continue
		}
		wt.buf.WriteString(piece.value.Text)
		wt.pieces = append(wt.pieces, piece)
	}
	switch {
	case wt == nil:
	case len(wt.pieces) == 0:
		delete(ws.texts, k)
	default:
		ws.share(r, wt)
	}
}

// cloneTexts returns copies of all texts for trial changes.
func (ws *windows) cloneTexts() map[windowKey]*windowText {
	if len(ws.texts) == 0 {
		return nil
	}
	texts := make(map[windowKey]*windowText, len(ws.texts))
	for k, wt := range ws.texts {
		texts[k] = wt.clone()
	}
	return texts
}
