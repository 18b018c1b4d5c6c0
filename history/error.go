package history

import (
	"errors"

	"github.com/everdesk/everdesk/wire"
)

// Error is a reason why a history cannot be changed.
type Error struct {
	Code wire.ReasonCode
	Text string
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// ReasonCode returns the code of the [Error] that err wraps, or an empty one.
func ReasonCode(err error) wire.ReasonCode {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
