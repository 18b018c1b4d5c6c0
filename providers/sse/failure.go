package sse

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/providers"
)

// maxText bounds the error text of a server that is passed on.
const maxText = 400

// APIError is the error object of model APIs, which differ little.
type APIError struct {
	Kind    string // such as overloaded_error
	Code    string // such as context_length_exceeded
	Message string
}

// UnmarshalJSON decodes an error given as an object or as a plain string, and a code given as a
// string or a number.
func (t *APIError) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &t.Message) == nil {
		return nil
	}
	var o struct {
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message string          `json:"message"`
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Errorf("read an error: %w", err)
	}
	*t = APIError{Kind: o.Type, Code: strings.Trim(string(o.Code), `"`), Message: o.Message}
	return nil
}

// Failure converts a server's error to a failure; status is 0 if the error came inside a
// stream.
func (s *Server) Failure(status int, t APIError) *providers.Failure {
	text := cmp.Or(strings.TrimSpace(t.Message), t.Kind, t.Code, http.StatusText(status), "the server says no more")
	text = providers.Redact(text, s.cfg.Secret)
	if len(text) > maxText {
		for text = text[:maxText]; !utf8.ValidString(text); {
			text = text[:len(text)-1]
		}
		text += "…"
	}
	err := errors.New(text)
	if status != 0 {
		err = fmt.Errorf("the model server answered %d: %w", status, err)
	}
	return &providers.Failure{Class: classify(status, t), Err: err}
}

// failure is Failure for the body of a response.
func (s *Server) failure(status int, body []byte) *providers.Failure {
	var o struct {
		Error *APIError `json:"error"`
	}
	t := APIError{}
	switch {
	case json.Unmarshal(body, &o) == nil && o.Error != nil:
		t = *o.Error
	case json.Unmarshal(body, &t) == nil && t.Message != "":
	default:
		t = APIError{Message: strings.ToValidUTF8(string(body), "�")}
	}
	return s.Failure(status, t)
}

// statusOverloaded is a non-standard status of some servers.
const statusOverloaded = 529

// tooLong lists phrases that mean that a conversation is too long.
var tooLong = []string{
	"prompt is too long", "context length", "context window", "context size", "maximum context", "exceed context limit",
	"too many tokens", "input length and `max_tokens`",
}

// classify returns the class of an error: first by unambiguous names and statuses, then by the
// message, which is all there is inside a stream, and then by the rest.
func classify(status int, t APIError) providers.Class {
	if c := classifyName(t); c != "" {
		return c
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable, statusOverloaded:
		return classifyStatus(status)
	case 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		message := strings.ToLower(t.Message)
		if slices.ContainsFunc(tooLong, func(words string) bool { return strings.Contains(message, words) }) {
			return providers.ContextLength
		}
	}
	for _, name := range []string{t.Code, t.Kind} {
		switch name {
		case "api_error", "server_error", "timeout_error":
			return providers.Transport
		case "invalid_request_error", "invalid_prompt", "not_found_error", "model_not_found":
			return providers.Invalid
		}
	}
	return classifyStatus(status)
}

// classifyName classifies by names that have one meaning only.
func classifyName(t APIError) providers.Class {
	for _, name := range []string{t.Code, t.Kind} {
		switch name {
		case "context_length_exceeded", "request_too_large", "exceed_context_size_error":
			return providers.ContextLength
		case "authentication_error", "permission_error", "invalid_api_key", "insufficient_quota", "billing_error":
			return providers.Auth
		case "rate_limit_error", "rate_limit_exceeded":
			return providers.Rate
		case "overloaded_error", "server_is_overloaded", "slow_down":
			return providers.Overloaded
		case "content_policy_violation", "content_filter":
			return providers.Refused
		}
	}
	return ""
}

func classifyStatus(status int) providers.Class {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden,
		status == http.StatusProxyAuthRequired:
		return providers.Auth
	case status == http.StatusRequestEntityTooLarge:
		return providers.ContextLength
	case status == http.StatusTooManyRequests:
		return providers.Rate
	case status == http.StatusServiceUnavailable, status == statusOverloaded:
		return providers.Overloaded
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= http.StatusInternalServerError, status == 0:
		return providers.Transport
	}
	return providers.Invalid
}

// retryAfter returns the delay that the server asks for: given in seconds, in milliseconds or
// as a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms * float64(time.Millisecond))
	}
	if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		return bounded(s * float64(time.Second))
	}
	if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return bounded(float64(at.Sub(now)))
	}
	return 0
}

// bounded converts any number of nanoseconds to a duration of at most a day.
func bounded(ns float64) time.Duration {
	if !(ns > 0) { // also NaN
		return 0
	}
	return time.Duration(min(ns, float64(24*time.Hour)))
}
