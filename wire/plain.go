package wire

import (
	"math/bits"
	"unicode/utf8"
)

// A value repeated in each byte of a word.
const (
	eachOne  = 0x0101010101010101
	eachHigh = 0x8080808080808080
)

// special returns the index of the first byte in s, from at on, that must be escaped in a
// JSON string: a quote, a backslash or a control character; len(s) if there is none. Most
// of a frame is strings, so it checks many bytes at a time.
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

// pastPlain returns the end of the blocks of 32 bytes in s, from at on, that are ASCII
// without special bytes.
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

// specials sets the high bit of each special byte of w. It may also set bits above the
// lowest one wrongly.
func specials(w uint64) uint64 { return low(w) &^ w & eachHigh }

// low sets the high bit of each special ASCII byte of w. It may set the bit of a byte above
// such a byte, or of one that is not ASCII, wrongly.
func low(w uint64) uint64 {
	// A byte gets its high bit when it is less than the subtracted one. It then borrows
	// from the byte above, which may get its bit wrongly. All that holds for ASCII. The
	// first xor swaps '"' and ' ', so that the special bytes are the first 33.
	return ((w ^ eachOne*('"'^' ')) - eachOne*(' '+1)) | ((w ^ eachOne*'\\') - eachOne)
}

// isPlain reports whether s is ASCII without special bytes.
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
	return plainWord(word(s[len(s)-8:])) // overlaps bytes checked before
}

func plainWord(w uint64) bool { return (w|low(w))&eachHigh == 0 }

// word returns the first eight bytes of s. The compiler makes it one load.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
