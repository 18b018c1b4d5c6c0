package wire

import (
	"errors"
	"fmt"
)

// ErrID is matched by every refusal of an id.
var ErrID = errors.New("not a valid id")

// SessionID names one desktop. There is one id per session, for ever, on every
// door: letters, digits, '_' and '-', at most 64 of them. The narrow alphabet
// keeps ids safe in URLs, file names, log lines and Redis hash tags.
type SessionID string

// Validate reports whether id follows the rules of [SessionID].
func (id SessionID) Validate() error { return validateName("session id", string(id)) }

// ReplicaID names one process life of a hub. A restarted process has a new one,
// so that it is never taken for its dead self. Same rules as [SessionID].
type ReplicaID string

// Validate reports whether id follows the rules of [ReplicaID].
func (id ReplicaID) Validate() error { return validateName("replica id", string(id)) }

const maxName = 64

func validateName(what, s string) error {
	if s == "" || len(s) > maxName {
		return fmt.Errorf("%w: %s has %d characters, want 1 to %d", ErrID, what, len(s), maxName)
	}
	for i := range len(s) {
		if c := s[i]; !isNameByte(c) {
			return fmt.Errorf("%w: %s has %q at %d, want letters, digits, '_' or '-'", ErrID, what, c, i)
		}
	}
	return nil
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
