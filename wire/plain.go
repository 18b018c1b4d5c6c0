package wire

import (
	"math/bits"
	"unicode/utf8"
)

// The same in each byte of a word.
const (
	eachOne  = 0x0101010101010101
	eachHigh = 0x8080808080808080
)

// special is where s, from at on, first has a byte that does not stand for
// itself in a JSON string: a quote, a backslash or a control character. It is
// len(s) when there is none. Strings are most of what frames consist of, so it
// looks at sixteen bytes at a time.
func special[T string | []byte](s T, at int) int {
	for ; at+16 <= len(s); at += 16 {
		some := s[at : at+16]
		low, high := specials(word(some)), specials(word(some[8:]))
		switch {
		case low != 0:
			return at + bits.TrailingZeros64(low)/8
		case high != 0:
			return at + 8 + bits.TrailingZeros64(high)/8
		}
	}
	for at < len(s) && s[at] >= ' ' && s[at] != '"' && s[at] != '\\' {
		at++
	}
	return at
}

// specials has the high bit of each byte of w that is special. It may also have
// some above the lowest one, wrongly.
func specials(w uint64) uint64 {
	// A byte gets its high bit when it is less than the one taken from it. Then
	// it takes one from its neighbour above, which may get it wrongly. All that
	// holds for ASCII; other bytes are not special.
	return ((w - eachOne*' ') | ((w ^ eachOne*'"') - eachOne) | ((w ^ eachOne*'\\') - eachOne)) &^ w & eachHigh
}

// isPlain reports whether s is ASCII without anything special.
func isPlain(s string) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
				return false
			}
		}
		return true
	}
	for at := 0; at+8 < len(s); at += 8 {
		if !plainWord(word(s[at : at+8])) {
			return false
		}
	}
	return plainWord(word(s[len(s)-8:])) // some bytes of it for the second time
}

func plainWord(w uint64) bool {
	// As in special, but a word that is not ASCII has lost already.
	return (w|(w-eachOne*' ')|((w^(eachOne*'"'))-eachOne)|((w^(eachOne*'\\'))-eachOne))&eachHigh == 0
}

// word is the first eight bytes of s. The compiler makes one load of it.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
