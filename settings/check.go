package settings

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Code says why a value or a change was refused.
type Code string

// The codes of refusals.
const (
	CodeUnknown   Code = "unknown"   // there is no such setting
	CodeType      Code = "type"      // the value has another type
	CodeRange     Code = "range"     // the value is too small, too large, too short or too long
	CodeChoice    Code = "choice"    // the value is none of the choices
	CodeScope     Code = "scope"     // the setting has no value in this scope
	CodePinned    Code = "pinned"    // the operator has pinned the value
	CodeForbidden Code = "forbidden" // the caller may not change it
	CodeSecret    Code = "secret"    // the value is set as a secret
	CodeConflict  Code = "conflict"  // the value has changed since the caller saw it
)

// Refusal says why one value was refused. It is an error.
type Refusal struct { //nolint:errname // it is an answer to whoever asked, not a fault
	Name   string
	Code   Code
	Detail string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Name + ": " + r.Detail }

func (s Setting) refuse(code Code, format string, args ...any) *Refusal {
	return &Refusal{Name: s.Name, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Check returns a value in its canonical form, or why it is not valid.
func (s Setting) Check(value json.RawMessage) (json.RawMessage, *Refusal) {
	switch s.Type {
	case TypeBool:
		text := string(bytes.TrimSpace(value))
		if text != "true" && text != "false" {
			return nil, s.refuse(CodeType, "want true or false")
		}
		return json.RawMessage(text), nil
	case TypeInt, TypeNumber:
		return s.checkNumber(value)
	case TypeList:
		return s.checkList(value)
	default:
		return s.checkText(value)
	}
}

func (s Setting) checkNumber(value json.RawMessage) (json.RawMessage, *Refusal) {
	what := "a number"
	if s.Type == TypeInt {
		what = "a whole number"
	}
	number, ok := decode[json.Number](value, "0123456789-")
	if !ok {
		return nil, s.refuse(CodeType, "want %s", what)
	}
	f, err := strconv.ParseFloat(string(number), 64)
	if s.Type == TypeInt && err == nil && f != math.Trunc(f) {
		return nil, s.refuse(CodeType, "want %s", what)
	}
	if err != nil || f < s.Min || f > s.Max {
		return nil, s.refuse(CodeRange, "want %s from %s to %s", what, formatNumber(s.Min), formatNumber(s.Max))
	}
	return json.RawMessage(formatNumber(f)), nil
}

// formatNumber returns f without an exponent. Zero has no sign.
func formatNumber(f float64) string { return strconv.FormatFloat(f+0, 'f', -1, 64) }

func (s Setting) checkText(value json.RawMessage) (json.RawMessage, *Refusal) {
	text, ok := decode[string](value, `"`)
	if !ok {
		return nil, s.refuse(CodeType, "want a text")
	}
	if s.Type == TypeChoice {
		if !slices.Contains(s.Choices, text) {
			return nil, s.refuse(CodeChoice, "want one of %s", strings.Join(s.Choices, ", "))
		}
		return encode(text), nil
	}
	if n := float64(utf8.RuneCountInString(text)); n < s.Min || n > s.Max {
		return nil, s.refuse(CodeRange, "want %s to %s characters", formatNumber(s.Min), formatNumber(s.Max))
	}
	if s.MaxBytes > 0 && len(text) > s.MaxBytes {
		return nil, s.refuse(CodeRange, "want at most %d bytes", s.MaxBytes)
	}
	if strings.ContainsRune(text, 0) {
		return nil, s.refuse(CodeType, "want a text without U+0000")
	}
	return encode(text), nil
}

func (s Setting) checkList(value json.RawMessage) (json.RawMessage, *Refusal) {
	items, ok := decode[[]json.RawMessage](value, "[")
	if !ok {
		return nil, s.refuse(CodeType, "want a list of texts")
	}
	if n := float64(len(items)); n < s.Min || n > s.Max {
		return nil, s.refuse(CodeRange, "want %s to %s items", formatNumber(s.Min), formatNumber(s.Max))
	}
	texts := make([]string, 0, len(items))
	for i, item := range items {
		text, ok := decode[string](item, `"`)
		switch {
		case !ok || strings.ContainsRune(text, 0):
			return nil, s.refuse(CodeType, "item %d: want a text", i+1)
		case text == "" || utf8.RuneCountInString(text) > maxItemRunes:
			return nil, s.refuse(CodeRange, "item %d: want 1 to %d characters", i+1, maxItemRunes)
		}
		texts = append(texts, text)
	}
	return encode(texts), nil
}

// decode decodes a value that begins with one of the characters of starts. Without that check null
// would be a value of every type, and a quoted number a [json.Number].
func decode[T any](value json.RawMessage, starts string) (v T, ok bool) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || !strings.ContainsRune(starts, rune(value[0])) || !utf8.Valid(value) {
		return v, false
	}
	return v, json.Unmarshal(value, &v) == nil
}

// encode returns a value without floats that JSON lacks as JSON.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail: only texts, numbers, times and JSON
	}
	return data
}
