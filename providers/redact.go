package providers

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// keyLike matches keys of model servers, also those that a server has masked in the middle.
var keyLike = regexp.MustCompile(`\b(sk|rk|pk)-[A-Za-z0-9_*•.-]{4,}`)

// minKeyStart is the length of the beginning of a key by which a part of it is recognised.
const minKeyStart = 6

// redactedKey replaces keys.
const redactedKey = "[key]"

// Redact removes keys from a text that a model server or an agent wrote: the keys themselves, also
// encoded, what begins like one of them, and what looks like a key.
func Redact(text string, keys ...string) string {
	for _, key := range keys {
		if key == "" {
			continue
		}
		text = strings.ReplaceAll(text, key, redactedKey)
		if len(key) < 2*minKeyStart {
			continue // its encoded forms are too short to be distinguished from other text
		}
		for _, form := range encodedForms(key) {
			text = strings.ReplaceAll(text, form, redactedKey)
		}
		part := regexp.MustCompile(regexp.QuoteMeta(key[:minKeyStart]) + `[^\s"'<>,;)]*`)
		text = part.ReplaceAllString(text, redactedKey)
	}
	return keyLike.ReplaceAllString(text, redactedKey)
}

// encodedForms returns a key as servers quote it when they print a header or a request.
func encodedForms(key string) []string {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(key)             // a string can be encoded
	escaped, _ := json.Marshal(key) // likewise
	inner := func(quoted []byte) string { return strings.Trim(strings.TrimSpace(string(quoted)), `"`) }
	forms := []string{
		inner(plain.Bytes()), inner(escaped), url.QueryEscape(key), url.PathEscape(key),
		hex.EncodeToString([]byte(key)), strings.ToUpper(hex.EncodeToString([]byte(key))),
		base64.RawStdEncoding.EncodeToString([]byte(key)), base64.RawURLEncoding.EncodeToString([]byte(key)),
	}
	// Inside of a longer text, such as user:key, base64 depends on the offset of the key. Its characters
	// at both ends also have bits of the neighbours and stay.
	for offset, cut := range []int{0, 2, 3} {
		whole := append(make([]byte, offset), key...)
		whole = whole[:len(whole)-len(whole)%3]
		forms = append(forms, base64.RawStdEncoding.EncodeToString(whole)[cut:], base64.RawURLEncoding.EncodeToString(whole)[cut:])
	}
	return forms
}

// RedactError returns err with a text from which keys are removed; err itself if it has none. A [Failure]
// stays one, without what wraps it.
func RedactError(err error, keys ...string) error {
	if err == nil {
		return nil
	}
	clean := Redact(err.Error(), keys...)
	if clean == err.Error() {
		return err
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return &Failure{Class: f.Class, RetryAfter: f.RetryAfter, Err: RedactError(f.Err, keys...)}
	}
	return &redactedError{clean, err}
}

// redactedError is an error with another text.
type redactedError struct {
	text  string
	cause error
}

func (e *redactedError) Error() string { return e.text }

// Unwrap returns the cause, for its type only: its text has keys.
func (e *redactedError) Unwrap() error { return e.cause }
