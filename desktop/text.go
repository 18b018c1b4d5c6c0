package desktop

import (
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/wire"
)

// The text of an agent grows by a few words many times a second. It is stored in pieces, of
// which only the last changes, so that a word costs one piece and not the whole text.

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

// addText inserts a delta at its offset, which is the end of the text unless the agent
// repeats a part. A delta behind the end is ignored: the text before it exceeded the limit.
// A non-empty content replaces the whole text.
func (s *State) addText(k streamKey, content, delta string, offset int) {
	if content != "" {
		delta, offset = content, 0
	}
	st := s.streams[k]
	if offset > st.units {
		return
	}
	if offset < st.units {
		s.truncateText(k, offset)
	}
	s.extend(k, mended(delta))
}

// truncateText shortens a text to a length in UTF-16 units.
func (s *State) truncateText(k streamKey, units int) {
	st := s.streams[k]
	kept := stream{}
	for i := range st.pieces {
		key := pieceKey{k, i}
		r := s.texts.get(key)
		text := r.value.Text
		if n := utf16Units(text); kept.units+n > units {
			text = text[:byteOffset(text, units-kept.units)]
			units = kept.units + utf16Units(text) // less than requested if that is within a character
		}
		if text == "" {
			s.texts.drop(key)
			continue
		}
		if text != r.value.Text {
			s.texts.touch(r).Text = text
		}
		kept.pieces++
		kept.bytes += len(text)
		kept.units += utf16Units(text)
	}
	s.setStream(k, kept)
}

// extend appends to a text, up to its limit.
func (s *State) extend(k streamKey, more string) {
	st := s.streams[k]
	more = more[:wholeRunes(more, MaxAgentText-st.bytes)]
	if more == "" {
		return
	}
	st.bytes += len(more)
	st.units += utf16Units(more)
	if st.pieces > 0 {
		key := pieceKey{k, st.pieces - 1}
		r := s.texts.get(key)
		if n := wholeRunes(more, pieceBytes-len(r.value.Text)); n > 0 {
			s.texts.touch(r).Text += more[:n]
			more = more[n:]
		}
	}
	for more != "" {
		n := wholeRunes(more, pieceBytes)
		s.texts.put(pieceKey{k, st.pieces}, piece{Role: k.role, Thinking: k.thinking, Index: st.pieces, Text: more[:n]})
		st.pieces++
		more = more[n:]
	}
	s.setStream(k, st)
}

// wholeRunes returns the number of bytes of a text, up to a limit, that split no character.
func wholeRunes(text string, limit int) int {
	return len(truncation.Bytes(text, limit))
}

// dropText removes a text.
func (s *State) dropText(k streamKey) {
	for i := range s.streams[k].pieces {
		s.texts.drop(pieceKey{k, i})
	}
	delete(s.streams, k)
}

func (s *State) setStream(k streamKey, st stream) {
	if s.streams == nil {
		s.streams = make(map[streamKey]stream)
	}
	s.streams[k] = st
}

// textSoFar returns a whole text.
func (s *State) textSoFar(k streamKey) string {
	st := s.streams[k]
	var b strings.Builder
	b.Grow(st.bytes)
	for i := range st.pieces {
		b.WriteString(s.texts.get(pieceKey{k, i}).value.Text)
	}
	return b.String()
}

// findStreams recomputes the sizes from the pieces, and drops pieces without an agent.
func (s *State) findStreams() {
	s.streams = nil
	for role := range s.agents.items {
		for _, thinking := range []bool{false, true} {
			k := streamKey{role, thinking}
			st := stream{}
			for r := s.texts.get(pieceKey{k, 0}); r != nil; r = s.texts.get(pieceKey{k, st.pieces}) {
				st.pieces++
				st.bytes += len(r.value.Text)
				st.units += utf16Units(r.value.Text)
			}
			if st.pieces > 0 {
				s.setStream(k, st)
			}
		}
	}
	s.texts.dropIf(func(p *piece) bool { return p.Index >= s.streams[p.key().streamKey].pieces })
}
