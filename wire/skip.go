package wire

import "bytes"

// keyText returns the text of a quoted key, without a copy unless it has escapes.
func keyText(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') >= 0 {
		return []byte(unquote(quoted))
	}
	return quoted[1 : len(quoted)-1]
}

// textAt returns the text of the valid string that begins at at, without a copy
// unless it has escapes, and its end.
func textAt(data []byte, at int) (text []byte, end int) {
	end = special(data, at+1)
	if data[end] == '"' {
		return data[at+1 : end], end + 1
	}
	end = skipString(data, at)
	return []byte(unescape(data[at+1 : end-1])), end
}

// memberOf returns the start of the value of a key in a valid object, or -1. It searches
// from the key that begins at at.
func memberOf(data []byte, at int, name string) int {
	for data[at] != '}' {
		key, value := memberAt(data, at)
		if string(key) == name {
			return value
		}
		at = skipComma(data, skipValue(data, value))
	}
	return -1
}

// memberAt returns the text of the key that begins at at, and where its value
// begins.
func memberAt(data []byte, at int) (key []byte, value int) {
	key, at = textAt(data, at)
	return key, skipSpace(data, skipSpace(data, at)+1) // past the colon
}

func skipSpace(data []byte, at int) int {
	for at < len(data) && data[at] <= ' ' && isSpace(data[at]) {
		at++
	}
	return at
}

// skipComma moves to the next key or value, or to the closing bracket.
func skipComma(data []byte, at int) int {
	at = skipSpace(data, at)
	if data[at] == ',' {
		at = skipSpace(data, at+1)
	}
	return at
}

// skipValue returns the end of the valid value that begins at at.
func skipValue(data []byte, at int) int {
	switch data[at] {
	case '"':
		return skipString(data, at)
	case '{', '[':
		depth := 0
		for {
			switch data[at] {
			case '"':
				at = skipString(data, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
	}
	for at < len(data) && !isSpace(data[at]) && data[at] != ',' && data[at] != '}' && data[at] != ']' {
		at++
	}
	return at
}

// nesting returns the nesting depth of a valid value.
func nesting(raw []byte) int {
	depth, deepest := 0, 0
	for at := 0; at < len(raw); at++ {
		switch raw[at] {
		case '"':
			at = skipString(raw, at) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

func skipString(data []byte, at int) int {
	at = special(data, at+1)
	for data[at] == '\\' {
		at = special(data, at+2)
	}
	return at + 1 // valid strings have no control characters
}
