package wire

import (
	"fmt"
	"strconv"
	"strings"
)

// Error says why a frame or another value was refused. Its code is one of [Codes].
type Error struct {
	Code Code
	// Path names the field, such as data.interactions[2].bounds.x, or is
	// empty when the frame as a whole is wrong.
	Path string
	// Message says what is wrong, for users.
	Message string
	// Ref is the id of the refused message, if it could be read.
	Ref MessageID
}

// Error implements error.
func (e *Error) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("%s: %s: %s", e.Code, e.Path, e.Message)
}

// Notice returns the event that reports the error to the client.
func (e *Error) Notice() ErrorNotice {
	n := e.Code.Notice(strings.TrimPrefix(e.Error(), e.Code.String()+": "))
	n.MessageID, n.Field = e.Ref, e.Path
	return n
}

// asAnswer converts the error to that of an invalid answer if entry is an answer to a
// question of a plan, so that invalid answers have one code wherever they are found.
func (e *Error) asAnswer(entry *Entry) *Error {
	if strings.HasPrefix(entry.Type, "hitl_") {
		e.Code, e.Path = CodeHITLInvalidResponse, strings.TrimPrefix(e.Path, "data.")
	}
	return e
}

func invalid(message string) *Error {
	return &Error{Code: CodeInvalidMessage, Message: message}
}

// in puts the name of the containing field before the path. Each level of decoding adds its
// own part while the error is returned.
func (e *Error) in(name string) *Error {
	name = shorten(name)
	if e.Path != "" && e.Path[0] != '[' {
		name += "."
	}
	e.Path = name + e.Path
	return e
}

// at puts the index of the containing item before the path.
func (e *Error) at(index int) *Error {
	item := "[" + strconv.Itoa(index) + "]"
	if e.Path != "" && e.Path[0] != '[' {
		item += "."
	}
	e.Path = item + e.Path
	return e
}

// shorten truncates a client's text to 64 bytes for an error message.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
