package problem

import (
	"fmt"
	"net/http"

	"github.com/everdesk/everdesk/wire"
)

// MediaType is the media type of RFC 9457.
const MediaType = "application/problem+json"

// Error is a problem document (RFC 9457) as the error a handler returns.
type Error struct {
	wire.Problem
	ReasonCode   wire.ReasonCode `json:"reason_code,omitempty" doc:"Names the reason in detail, if it is one of the reason codes."`
	Field        string          `json:"field,omitempty" doc:"The part of the request that was wrong."`
	MessageID    wire.MessageID  `json:"messageId,omitempty" doc:"The message that was refused."`
	RetryAfterMS int             `json:"retry_after_ms,omitempty" wire:"min=0" doc:"How long to wait before trying again."`
}

// Error implements error.
func (p *Error) Error() string { return p.Name + ": " + p.Detail }

// New returns the problem of a code. An empty detail means the default text of the code.
func New(code wire.Code, detail string) *Error {
	return &Error{Problem: code.Problem(detail)}
}

// WithStatus replaces the HTTP status that p has from its code, and returns p.
func (p *Error) WithStatus(status int) *Error {
	p.Status, p.Title = status, http.StatusText(status)
	return p
}

// Status returns a problem with a more exact HTTP status than that of an invalid message, such as 404
// or 405.
func Status(status int, detail string) *Error {
	return New(wire.CodeInvalidMessage, detail).WithStatus(status)
}

// Query returns the response to an invalid query parameter or field.
func Query(field, detail string) *Error {
	p := New(wire.CodeInvalidMessage, detail)
	p.Field = field
	return p
}

// PanicError is a recovered panic with its stack.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }
