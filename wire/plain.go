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
// looks at many bytes at a time.
func special[T string | []byte](s T, at int) int {
	for at = pastPlain(s, at); at+8 <= len(s); at += 8 {
		if found := specials(word(s[at : at+8])); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(s) && s[at] >= ' ' && s[at] != '"' && s[at] != '\\' {
		at++
	}
	return at
}

// pastPlain is how far s, from at on, is seen to be ASCII without anything special
// when one looks at 32 bytes at a time.
func pastPlain[T string | []byte](s T, at int) int {
	for ; at+32 <= len(s); at += 32 {
		some := s[at : at+32]
		a, b, c, d := word(some), word(some[8:]), word(some[16:]), word(some[24:])
		if (a|low(a)|b|low(b)|c|low(c)|d|low(d))&eachHigh != 0 {
			break
		}
	}
	return at
}

// specials has the high bit of each byte of w that is special. It may also have
// some above the lowest one, wrongly.
func specials(w uint64) uint64 { return low(w) &^ w & eachHigh }

// low has the high bit of each ASCII byte of w that is special. It may also have it
// wrongly, of one that is above such a byte or is not ASCII.
func low(w uint64) uint64 {
	// A byte gets its high bit when it is less than the one taken from it. Then
	// it takes one from its neighbour above, which may get it wrongly. All that
	// holds for ASCII. The first xor changes places of '"' and ' ', so that what is
	// special are the first 33.
	return ((w ^ eachOne*('"'^' ')) - eachOne*(' '+1)) | ((w ^ eachOne*'\\') - eachOne)
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
	for at := pastPlain(s, 0); at+8 < len(s); at += 8 {
		if !plainWord(word(s[at : at+8])) {
			return false
		}
	}
	return plainWord(word(s[len(s)-8:])) // some bytes of it for the second time
}

func plainWord(w uint64) bool { return (w|low(w))&eachHigh == 0 }

// word is the first eight bytes of s. The compiler makes one load of it.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
