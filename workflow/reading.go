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

	"github.com/everdesk/everdesk/wire"
)

const (
	// maxAnswer is how much of what a model said is looked through for JSON, in
	// bytes, and maxTries at how many brackets.
	maxAnswer = 256 << 10
	maxTries  = 32
	// maxFaults is how many faults are told. A model mends no more at once, and
	// people read fewer.
	maxFaults = 20
)

// free is the format of values that have none.
var free = wire.FormatOf[json.RawMessage]()

// fault is one thing that is wrong, and where.
type fault struct{ place, text string }

func (f fault) String() string {
	if f.place == "" {
		return f.text
	}
	return f.place + ": " + f.text
}

// faultsError is everything that is wrong with what a model or a person wrote.
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

// checker collects what is wrong.
type checker struct{ faults faultsError }

func (c *checker) wrong(place, format string, args ...any) {
	if len(c.faults.list) == maxFaults {
		c.faults.more++
		return
	}
	c.faults.list = append(c.faults.list, fault{place, fmt.Sprintf(format, args...)})
}

// count is how much is wrong so far.
func (c *checker) count() int { return len(c.faults.list) + c.faults.more }

func (c *checker) err() error {
	if c.count() == 0 {
		return nil
	}
	return &c.faults
}

// object are the members of an object; nil if it is none.
func (c *checker) object(place string, raw json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		c.wrong(place, "want an object, got %s", shown(raw))
		return nil
	}
	return members
}

// each calls do with the members of an object, in the order of their names. What do
// does not know is wrong: a misspelt name would be a dependency that is lost.
func (c *checker) each(place string, members map[string]json.RawMessage, do func(at, name string, raw json.RawMessage) (known bool)) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := place + "." + cut(oneLine(name), 40)
		if !do(at, name, members[name]) {
			c.wrong(at, "there is no such field")
		}
	}
}

func absent(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// list are the elements of an array.
func (c *checker) list(place string, raw json.RawMessage, most int) []json.RawMessage {
	if absent(raw) {
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil {
		c.wrong(place, "want a list, got %s", shown(raw))
		return nil
	}
	if len(elements) > most {
		c.wrong(place, "has %d entries, at most %d are allowed", len(elements), most)
		return elements[:most]
	}
	return elements
}

// text is a string of at most so many characters, without space around it.
func (c *checker) text(place string, raw json.RawMessage, most int) string {
	if absent(raw) {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		c.wrong(place, "want a text, got %s", shown(raw))
		return ""
	}
	s = strings.TrimSpace(printable(s))
	if n := utf8.RuneCountInString(s); n > most {
		c.wrong(place, "has %d characters, at most %d are allowed", n, most)
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
		c.wrong(place, "want true or false, got %s", shown(raw))
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
		c.wrong(place, "want a number, got %s", shown(raw))
		return 0
	case f < least || f > most:
		c.wrong(place, "want a number from %s to %s, got %s", decimal(least), decimal(most), shown(raw))
		return 0
	}
	return f
}

func (c *checker) integer(place string, raw json.RawMessage, least, most int) int {
	f := c.number(place, raw, float64(least), float64(most))
	if f != math.Trunc(f) {
		c.wrong(place, "want a whole number, got %s", shown(raw))
		return 0
	}
	return int(f)
}

// numberOf is a JSON number that is finite.
func numberOf(raw json.RawMessage) (float64, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') || !json.Valid(raw) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return f, err == nil
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// findObject is the last JSON object in a text that has a member of this name. Models
// like to talk around what they were asked for, to fence it, and to mend it at once.
// The error says how far the best of what looked like JSON went.
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

// wholeObject is the JSON object that a text is, with nothing but a fence around it.
// It can stand in an event.
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

// shown is a value as a fault quotes it.
func shown(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return cut(oneLine(string(raw)), 40)
}

// cut is s with at most n bytes, and a sign that there was more.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// printable is s without what controls a terminal or hides text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// oneLine has no line breaks and nothing else that controls.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// compact is v as JSON that can stand in an event.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}
