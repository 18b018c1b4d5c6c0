package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Codes of errors.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeNoMethod       = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
	// CodeBusy is this package's code for too many calls at once.
	CodeBusy = -32000
)

// ErrMessage means that a received message is no JSON-RPC.
var ErrMessage = errors.New("not a message of JSON-RPC")

// Error is an error of the other end, or one to answer a call with.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// message is any message of the protocol.
type message struct {
	Version string          `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// messageKind is the kind of a message.
type messageKind int

const (
	kindCall messageKind = iota
	kindNotification
	kindResult
)

// maxID bounds the id of a call of the other end, which is sent back with the result.
const maxID = 256

// decode decodes a message and returns its kind.
func decode(line []byte) (m message, kind messageKind, err error) {
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, 0, fmt.Errorf("%w: %w", ErrMessage, err)
	}
	if len(m.ID) > maxID {
		return message{}, 0, fmt.Errorf("%w: its id has %d bytes", ErrMessage, len(m.ID))
	}
	hasID := len(m.ID) > 0 && string(m.ID) != "null"
	if hasID && (m.ID[0] == '{' || m.ID[0] == '[' || m.ID[0] == 't' || m.ID[0] == 'f') {
		return message{}, 0, fmt.Errorf("%w: its id is neither a number nor a string", ErrMessage)
	}
	switch {
	case m.Method != "" && hasID:
		return m, kindCall, nil
	case m.Method != "":
		return m, kindNotification, nil
	case hasID:
		return m, kindResult, nil
	case m.Error != nil:
		return message{}, 0, fmt.Errorf("%w: an error without a call: %s", ErrMessage, m.Error.Message)
	default:
		return message{}, 0, fmt.Errorf("%w: it has neither a method nor an id", ErrMessage)
	}
}

// encodeValue encodes parameters or a result; nil is left out.
func encodeValue(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return raw, nil
}
