package wire

import "math/bits"

// The same in each byte of a word.
const (
	eachOne  = 0x0101010101010101
	eachHigh = 0x8080808080808080
)

// special is where s, from at on, first has a byte that does not stand for
// itself in a JSON string: a quote, a backslash or a control character. It is
// len(s) when there is none. Strings are most of what frames consist of, so it
// looks at eight bytes at a time.
func special[T string | []byte](s T, at int) int {
	for ; at+8 <= len(s); at += 8 {
		w := word(s[at : at+8])
		quote, slash := w^(eachOne*'"'), w^(eachOne*'\\')
		// A byte gets its high bit when it is less than the one taken from it. It
		// may get it wrongly too, but only above a byte that has it rightly.
		if found := ((w-eachOne*' ')&^w | (quote-eachOne)&^quote | (slash-eachOne)&^slash) & eachHigh; found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
	}
	for at < len(s) && s[at] >= ' ' && s[at] != '"' && s[at] != '\\' {
		at++
	}
	return at
}

// word is the first eight bytes of s. The compiler makes one load of it.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}
