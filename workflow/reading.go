package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxAnswer bounds the text of a model that is searched for JSON, in bytes; maxTries
	// bounds the opening brackets that are tried.
	maxAnswer = 256 << 10
	maxTries  = 32
	// maxFaults bounds the reported faults. A model corrects no more at once, and users
	// read fewer.
	maxFaults = 20
)

// free is the format of arbitrary JSON values.
var free = wire.FormatOf[json.RawMessage]()

// fault is one fault and its place.
type fault struct{ place, text string }

func (f fault) String() string {
	if f.place == "" {
		return f.text
	}
	return f.place + ": " + f.text
}

// faultsError lists all faults of a text of a model or user.
type faultsError struct {
	list []fault
	more int
}

func (e *faultsError) Error() string { return strings.Join(e.lines(), "; ") }

func (e *faultsError) lines() []string {
	var lines []string
	for _, f := range e.list {
		lines = append(lines, f.String())
	}
	if e.more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.more))
	}
	return lines
}

// checker collects faults.
type checker struct{ faults faultsError }

func (c *checker) addFault(place, format string, args ...any) {
	if len(c.faults.list) == maxFaults {
		c.faults.more++
		return
	}
	c.faults.list = append(c.faults.list, fault{place, fmt.Sprintf(format, args...)})
}

// count returns the number of faults so far.
func (c *checker) count() int { return len(c.faults.list) + c.faults.more }

func (c *checker) err() error {
	if c.count() == 0 {
		return nil
	}
	return &c.faults
}

// object decodes an object, or reports a fault and returns nil.
func (c *checker) object(place string, raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		c.addFault(place, "want an object, got %s", quoteValue(raw))
		return nil
	}
	return members
}

// each calls do with the members of an object in the order of their names. A name that do
// does not know is a fault: ignoring a misspelt name could lose a dependency.
func (c *checker) each(place string, members map[string]json.RawMessage, do func(at, name string, raw json.RawMessage) (known bool)) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := place + "." + truncateBytes(oneLine(name), 40)
		if !do(at, name, members[name]) {
			c.addFault(at, "there is no such field")
		}
	}
}

func absent(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// list decodes an array of at most limit elements.
func (c *checker) list(place string, raw json.RawMessage, limit int) []json.RawMessage {
	if absent(raw) {
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		c.addFault(place, "want a list, got %s", quoteValue(raw))
		return nil
	}
	if len(elements) > limit {
		c.addFault(place, "has %d entries, at most %d are allowed", len(elements), limit)
		return elements[:limit]
	}
	return elements
}

// text decodes a string of at most limit characters, without surrounding space.
func (c *checker) text(place string, raw json.RawMessage, limit int) string {
	if absent(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		c.addFault(place, "want a text, got %s", quoteValue(raw))
		return ""
	}
	s = strings.TrimSpace(printable(s))
	if n := utf8.RuneCountInString(s); n > limit {
		c.addFault(place, "has %d characters, at most %d are allowed", n, limit)
		return ""
	}
	return s
}

func (c *checker) boolean(place string, raw json.RawMessage) bool {
	if absent(raw) {
		return false
	}
	var b bool
	if json.Unmarshal(raw, &b) != nil {
		c.addFault(place, "want true or false, got %s", quoteValue(raw))
	}
	return b
}

func (c *checker) number(place string, raw json.RawMessage, least, most float64) float64 {
	if absent(raw) {
		return 0
	}
	f, ok := numberOf(raw)
	switch {
	case !ok:
		c.addFault(place, "want a number, got %s", quoteValue(raw))
		return 0
	case f < least || f > most:
		c.addFault(place, "want a number from %s to %s, got %s", decimal(least), decimal(most), quoteValue(raw))
		return 0
	}
	return f
}

func (c *checker) integer(place string, raw json.RawMessage, least, most int) int {
	f := c.number(place, raw, float64(least), float64(most))
	if f != math.Trunc(f) {
		c.addFault(place, "want a whole number, got %s", quoteValue(raw))
		return 0
	}
	return int(f)
}

// numberOf decodes a finite JSON number.
func numberOf(raw json.RawMessage) (float64, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || !json.Valid(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// findObject returns the last JSON object in a text that has the given member. Models
// surround JSON with prose and fences, and correct it in the same answer. The error says
// how far the best candidate got.
func findObject(text, member string) (found json.RawMessage, err error) {
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("the answer has %d bytes, at most %d are allowed", len(text), maxAnswer)
	}
	var broken error
	seen := false
	for at, tries := 0, 0; tries < maxTries; tries++ {
		next := strings.IndexByte(text[at:], '{')
		if next < 0 {
			break
		}
		at += next
		from := json.NewDecoder(strings.NewReader(text[at:]))
		var members map[string]json.RawMessage
		if err := from.Decode(&members); err != nil {
			if broken == nil {
				broken = err
			}
			at++
			continue
		}
		seen = true
		end := at + int(from.InputOffset())
		if _, ok := members[member]; ok {
			found = json.RawMessage(text[at:end])
		}
		at = end
	}
	switch {
	case found != nil:
		return found, nil
	case errors.Is(broken, io.ErrUnexpectedEOF):
		return nil, errors.New("the JSON ends in the middle")
	case broken != nil:
		return nil, fmt.Errorf("the JSON cannot be read: %w", broken)
	case seen:
		return nil, fmt.Errorf("the JSON object has no %q", member)
	}
	return nil, errors.New("there is no JSON object in the answer")
}

// wholeObject decodes a text that is one JSON object, possibly in a Markdown fence. The
// result is valid for an event.
func wholeObject(text string) (json.RawMessage, bool) {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		_, inner, _ = strings.Cut(inner, "\n")
		if text, ok = strings.CutSuffix(inner, "```"); !ok {
			return nil, false
		}
		text = strings.TrimSpace(text)
	}
	if len(text) > maxAnswer || !strings.HasPrefix(text, "{") {
		return nil, false
	}
	raw, err := free.Decode([]byte(text))
	return raw, err == nil
}

// quoteValue shortens a value for an error message.
func quoteValue(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return truncateBytes(oneLine(string(raw)), 40)
}

// truncateBytes returns at most n bytes of s, and an ellipsis if there was more.
func truncateBytes(s string, n int) string {
	return truncation.BytesMarked(s, n, "…")
}

// printable removes control characters, which could control a terminal or hide text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine replaces line breaks and other control characters by spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// compact encodes v as JSON for an event.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}
