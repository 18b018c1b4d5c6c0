package desktop

import (
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/wire"
)

// texts holds the texts of the agents' running turns. Such a text grows by a few words many
// times a second. It is stored in pieces, of which only the last changes, so that a word
// costs one piece and not the whole text.
type texts struct {
	pieces table[pieceKey, piece]
	// streams holds the size of each text.
	streams map[streamKey]stream
}

// pieceBytes is the maximum size of a piece.
const pieceBytes = 4096

// streamKey identifies one of an agent's two texts.
type streamKey struct {
	role     wire.AgentID
	thinking bool
}

// stream holds the size of a text.
type stream struct {
	pieces int
	bytes  int
	units  int // in UTF-16 units
}

type pieceKey struct {
	streamKey
	index int
}

// piece is a part of a text; it never splits a character.
type piece struct {
	Role     wire.AgentID `json:"role"`
	Thinking bool         `json:"thinking,omitempty"`
	Index    int          `json:"index"`
	Text     string       `json:"text"`
}

func (p *piece) key() pieceKey { return pieceKey{streamKey{p.Role, p.Thinking}, p.Index} }

func (k pieceKey) field() string {
	what := "/text/"
	if k.thinking {
		what = "/thinking/"
	}
	return fieldName(string(k.role) + what + strconv.Itoa(k.index))
}

// add inserts a delta at its offset, which is the end of the text unless the agent
// repeats a part. A delta behind the end is ignored: the text before it exceeded the limit.
// A non-empty content replaces the whole text.
func (t *texts) add(k streamKey, content, delta string, offset int) {
	if content != "" {
		delta, offset = content, 0
	}
	st := t.streams[k]
	if offset > st.units {
		return
	}
	if offset < st.units {
		t.truncate(k, offset)
	}
	t.extend(k, validUTF8(delta))
}

// truncate shortens a text to a length in UTF-16 units.
func (t *texts) truncate(k streamKey, units int) {
	st := t.streams[k]
	kept := stream{}
	for i := range st.pieces {
		key := pieceKey{k, i}
		r := t.pieces.get(key)
		text := r.value.Text
		if n := utf16Units(text); kept.units+n > units {
			text = text[:byteOffset(text, units-kept.units)]
			units = kept.units + utf16Units(text) // less than requested if that is within a character
		}
		if text == "" {
			t.pieces.drop(key)
			continue
		}
		if text != r.value.Text {
			t.pieces.touch(r).Text = text
		}
		kept.pieces++
		kept.bytes += len(text)
		kept.units += utf16Units(text)
	}
	t.setStream(k, kept)
}

// extend appends to a text, up to its limit.
func (t *texts) extend(k streamKey, more string) {
	st := t.streams[k]
	more = more[:wholeRunes(more, MaxAgentText-st.bytes)]
	if more == "" {
		return
	}
	st.bytes += len(more)
	st.units += utf16Units(more)
	if st.pieces > 0 {
		key := pieceKey{k, st.pieces - 1}
		r := t.pieces.get(key)
		if n := wholeRunes(more, pieceBytes-len(r.value.Text)); n > 0 {
			t.pieces.touch(r).Text += more[:n]
			more = more[n:]
		}
	}
	for more != "" {
		n := wholeRunes(more, pieceBytes)
		t.pieces.put(pieceKey{k, st.pieces}, piece{Role: k.role, Thinking: k.thinking, Index: st.pieces, Text: more[:n]})
		st.pieces++
		more = more[n:]
	}
	t.setStream(k, st)
}

// wholeRunes returns the number of bytes of a text, up to a limit, that split no character.
func wholeRunes(text string, limit int) int {
	return len(truncation.Bytes(text, limit))
}

// drop removes a text.
func (t *texts) drop(k streamKey) {
	for i := range t.streams[k].pieces {
		t.pieces.drop(pieceKey{k, i})
	}
	delete(t.streams, k)
}

func (t *texts) setStream(k streamKey, st stream) {
	if t.streams == nil {
		t.streams = make(map[streamKey]stream)
	}
	t.streams[k] = st
}

// text returns a whole text.
func (t *texts) text(k streamKey) string {
	st := t.streams[k]
	var b strings.Builder
	b.Grow(st.bytes)
	for i := range st.pieces {
		b.WriteString(t.pieces.get(pieceKey{k, i}).value.Text)
	}
	return b.String()
}

// measure computes the size of a text from its pieces.
func (t *texts) measure(k streamKey) {
	st := stream{}
	for r := t.pieces.get(pieceKey{k, 0}); r != nil; r = t.pieces.get(pieceKey{k, st.pieces}) {
		st.pieces++
		st.bytes += len(r.value.Text)
		st.units += utf16Units(r.value.Text)
	}
	if st.pieces > 0 {
		t.setStream(k, st)
	}
}

// dropUnmeasured drops the pieces that belong to no measured text.
func (t *texts) dropUnmeasured() {
	t.pieces.dropIf(func(p *piece) bool { return p.Index >= t.streams[p.key().streamKey].pieces })
}
