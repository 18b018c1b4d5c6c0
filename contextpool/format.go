package contextpool

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// errTrailing means that there is more in a kept value than there should be.
var errTrailing = errors.New("something follows the value")

// encode is the kept form of a value. What is kept has one by its type, and free
// JSON in it was checked before.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // which makes six bytes of one
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("contextpool: %T has no kept form: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decode reads what encode wrote. Fields that are not known are those of a newer hub
// that had the session before: while hubs are replaced, both have it in turns.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errTrailing
	}
	return nil
}

// nameBytes is how long a part of a name in the store may be.
const nameBytes = 180

// nameOf shortens what is put together from ids to what a store takes as a part
// of a name.
func nameOf(id string) string {
	if len(id) <= nameBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return strings.ToValidUTF8(id[:nameBytes/2], "") + "#" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// cutMark ends a text that was cut.
const cutMark = " […]"

// cut is as much of a text as there is room for, and a sign that there was more.
// What is not UTF-8 is replaced: what is kept must read back as the same.
func cut(text string, limit int) string {
	text = mended(text)
	if len(text) <= limit {
		return text
	}
	return wholeRunes(text, limit-len(cutMark)) + cutMark
}

// mended is a text of a backend without what a client may not send: what is not
// UTF-8, and U+0000, become U+FFFD.
func mended(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// wholeRunes is the beginning of a text, without half a character at its end.
func wholeRunes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// units is the length of a text as JavaScript counts it.
func units(text string) int {
	n := 0
	for _, c := range text {
		if n++; c > 0xffff {
			n++
		}
	}
	return n
}

// firstUnits is the beginning of a text that has at most so many units.
func firstUnits(text string, limit int) string {
	for at, c := range text {
		if limit--; c > 0xffff {
			limit--
		}
		if limit < 0 {
			return text[:at]
		}
	}
	return text
}
