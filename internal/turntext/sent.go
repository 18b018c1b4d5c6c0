package turntext

import (
	"slices"
	"strings"
	"unicode/utf16"
)

// Sent is the text that was passed on. The zero value is empty. It must not be copied.
type Sent struct {
	text  strings.Builder
	units int
}

// String returns the text.
func (s *Sent) String() string { return s.text.String() }

// Reset replaces the text.
func (s *Sent) Reset(text string) {
	s.text.Reset()
	s.units = 0
	s.Add(text)
}

// Add appends to the text.
func (s *Sent) Add(text string) {
	s.text.WriteString(text)
	s.units += Units(text)
}

// Units returns the length of the text in UTF-16 units.
func (s *Sent) Units() int { return s.units }

// Units returns the length of a text in UTF-16 units.
func Units(text string) (n int) {
	for _, c := range text {
		n += max(1, utf16.RuneLen(c))
	}
	return n
}

// More returns what a piece of text at an offset adds to the text, and false if it changes or skips a
// part of it.
func (s *Sent) More(offset int, piece string) (string, bool) {
	if offset == s.units {
		return piece, true
	}
	if offset > s.units {
		return "", false
	}
	sent, more := utf16.Encode([]rune(s.String())), utf16.Encode([]rune(piece))
	known := min(len(sent)-offset, len(more))
	if !slices.Equal(sent[offset:offset+known], more[:known]) {
		return "", false
	}
	return string(utf16.Decode(more[known:])), true
}
