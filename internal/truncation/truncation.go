package truncation

import "unicode/utf8"

// Bytes returns the longest beginning of s that has at most limit bytes and does not end
// within a character. A negative limit counts as 0. In text that is not UTF-8 the result may
// be shorter than necessary.
func Bytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit = max(limit, 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Runes returns the first limit characters of s. A negative limit counts as 0; a byte that
// is not UTF-8 counts as a character.
func Runes(s string, limit int) string {
	n := 0
	for i := range s {
		if n >= limit {
			return s[:i]
		}
		n++
	}
	return s
}

// BytesMarked is [Bytes], followed by mark if that left anything out. The mark does not
// count against limit.
func BytesMarked(s string, limit int, mark string) string { return marked(s, Bytes(s, limit), mark) }

// RunesMarked is [Runes], followed by mark if that left anything out. The mark does not
// count against limit.
func RunesMarked(s string, limit int, mark string) string { return marked(s, Runes(s, limit), mark) }

func marked(s, beginning, mark string) string {
	if len(beginning) == len(s) {
		return s
	}
	return beginning + mark
}
