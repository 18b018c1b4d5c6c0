package contextpool

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/wire"
)

// errTrailing means that a stored value is followed by more data.
var errTrailing = errors.New("the value is followed by more data")

// encode returns the stored form of a value. All stored types have one, and raw JSON in them
// was validated before; anything else panics.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // HTML escaping would turn one byte into six
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("contextpool: %T has no kept form: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// decode reads the output of encode. It ignores unknown fields: during a rolling update a newer
// hub may have owned the session before.
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

// nameBytes bounds one part of a key in the store.
const nameBytes = 180

// storeName shortens a name composed of ids to nameBytes. The hash keeps it unique.
func storeName(id string) string {
	if len(id) <= nameBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return strings.ToValidUTF8(id[:nameBytes/2], "") + "#" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// truncationMark ends a truncated text.
const truncationMark = " […]"

// truncate returns at most limit bytes of a text, ending with truncationMark if it was longer.
// It replaces invalid UTF-8, because stored text must read back unchanged.
func truncate(text string, limit int) string {
	text = sanitize(text)
	if len(text) <= limit {
		return text
	}
	return truncation.Bytes(text, limit-len(truncationMark)) + truncationMark
}

// sanitize replaces invalid UTF-8 and U+0000 with U+FFFD. Backends send such text, and clients
// may not.
func sanitize(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// utf16Len returns the length of a text in UTF-16 units, as JavaScript counts.
func utf16Len(text string) int {
	n := 0
	for _, c := range text {
		if n++; c > 0xffff {
			n++
		}
	}
	return n
}

// utf16Prefix returns the longest prefix of a text with at most limit UTF-16 units.
func utf16Prefix(text string, limit int) string {
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

// errMisplaced means that a stored value does not match the key it is stored under.
var errMisplaced = errors.New("the value belongs to another key")

var actionFormat = sync.OnceValue(wire.FormatOf[wire.Action])

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return nil
}
