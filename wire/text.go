package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Control characters are escaped, so the result
// has no line break; invalid UTF-8 becomes U+FFFD; everything else stays as it is, because
// the output is not embedded in HTML.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	switch {
	case isPlain(s):
		dst = append(dst, s...)
	case utf8.ValidString(s):
		dst = appendValid(dst, s)
	default:
		dst = appendMended(dst, s)
	}
	return append(dst, '"')
}

func appendValid(dst []byte, s string) []byte {
	start := 0
	for i := special(s, 0); i < len(s); i = special(s, start) {
		dst = append(dst, s[start:i]...)
		dst = appendEscaped(dst, s[i])
		start = i + 1
	}
	return append(dst, s[start:]...)
}

func appendMended(dst []byte, s string) []byte {
	for _, r := range s { // yields U+FFFD for each invalid byte
		if r < ' ' || r == '"' || r == '\\' {
			dst = appendEscaped(dst, byte(r)) //nolint:gosec // it is ASCII
			continue
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// appendNumber appends f, with an exponent for the same numbers as JavaScript. Unlike there
// the exponent has at least two digits, and -0 keeps its sign. NaN and infinities become 0,
// because JSON cannot express them.
func appendNumber(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(dst, '0')
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}

// appendRaw appends a free-form value without white space between its tokens. Invalid JSON
// becomes null, so that it cannot break the frame.
func appendRaw(dst []byte, raw json.RawMessage) []byte {
	if checkText(raw, rawText) != nil {
		return append(dst, "null"...)
	}
	return appendCompact(dst, raw)
}

// appendCompact appends JSON text without white space between its tokens.
func appendCompact(dst, text []byte) []byte {
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && isSpace(c):
			dst = append(dst, text[start:i]...)
			start = i + 1
		}
	}
	return append(dst, text[start:]...)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// unquote decodes a valid JSON string. A lone surrogate becomes U+FFFD.
func unquote(quoted []byte) string {
	body := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(body, '\\') >= 0 {
		return unescape(body)
	}
	return string(body)
}

func unescape(body []byte) string {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			out = append(out, body[i])
			continue
		}
		i++
		switch body[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(body[i+1:])
			i += 4
			if high := r >= 0xd800 && r < 0xdc00; high && i+6 < len(body) && body[i+1] == '\\' && body[i+2] == 'u' {
				if low := hex4(body[i+3:]); low >= 0xdc00 && low < 0xe000 {
					r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
					i += 6
				}
			}
			out = utf8.AppendRune(out, r) // writes a lone surrogate as U+FFFD
		default:
			out = append(out, body[i])
		}
	}
	return string(out)
}

func hex4(digits []byte) rune {
	var r rune
	for _, c := range digits[:4] {
		r = r<<4 | rune(hexValue(c))
	}
	return r
}

func hexValue(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
