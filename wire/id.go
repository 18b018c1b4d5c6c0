package wire

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrID is wrapped by every error about an invalid id.
var ErrID = errors.New("not a valid id")

// SessionID identifies a session. A session has the same id for ever, in every protocol:
// letters, digits, '_' and '-', at most 64 of them. The narrow alphabet keeps ids safe in
// URLs, file names, log lines and Redis hash tags. Frames of a connection that was opened
// under the session's name have that name in its place.
type SessionID string

// ReplicaID identifies one run of a hub process. A restarted process has a new id, so that
// it is never mistaken for the previous one. Same rules as [SessionID].
type ReplicaID string

// MonitorID identifies a monitor of a session; `monitor-0` is the first and always exists.
// Same rules as [SessionID].
type MonitorID string

// ConnectionID identifies an open connection; the hub chooses it. Same rules as
// [SessionID].
type ConnectionID string

// ClientID identifies a tab or program over all its connections; the client chooses it. Up
// to 64 characters without control characters.
type ClientID string

// MessageID identifies a message; the client chooses it. It is the idempotency key: the
// same id sent again has no second effect. Up to 64 characters without control characters.
type MessageID string

// WindowID identifies a window within its monitor. Agents and apps choose it, so it may
// contain spaces, slashes or any script: up to 64 characters without control characters,
// which are at most the 256 bytes that a store accepts as a name.
type WindowID string

// AgentID identifies an agent's turn for clients: its role, such as `main-monitor-0-msg-1`
// or `window-win1/action-3`. Up to 192 characters without control characters, because it is
// composed of other ids.
type AgentID string

// DialogID identifies a yes or no question. Up to 64 characters without control characters.
type DialogID string

// PromptID identifies a question that is answered with a choice or a text. Up to 64
// characters without control characters.
type PromptID string

// RequestID connects a request of the hub with its answer. Up to 192 characters without
// control characters, because it may contain a window's id.
type RequestID string

// PlanID identifies a plan. Up to 64 characters without control characters.
type PlanID string

// TodoID identifies a todo of a plan. Up to 64 characters without control characters.
type TodoID string

// TaskID identifies a task, which is one conversation with an agent. Up to 64 characters
// without control characters.
type TaskID string

// NoticeID identifies a toast or a notification. Up to 64 characters without control
// characters.
type NoticeID string

// AppID identifies an app. Up to 64 characters without control characters.
type AppID string

// ShortcutID identifies a shortcut on the desktop. Up to 64 characters without control
// characters.
type ShortcutID string

// The maximum lengths of ids, in characters.
const (
	maxID     = 64
	maxLongID = 192
)

// idRule describes the ids of one kind. The decoder's check and the pattern in the schema
// are both derived from it.
type idRule struct {
	what string
	max  int
	name bool // only letters, digits, '_' and '-'
}

func (SessionID) rule() idRule    { return idRule{"session id", maxID, true} }
func (ReplicaID) rule() idRule    { return idRule{"replica id", maxID, true} }
func (MonitorID) rule() idRule    { return idRule{"monitor id", maxID, true} }
func (ConnectionID) rule() idRule { return idRule{"connection id", maxID, true} }
func (ClientID) rule() idRule     { return idRule{"client id", maxID, false} }
func (MessageID) rule() idRule    { return idRule{"message id", maxID, false} }
func (WindowID) rule() idRule     { return idRule{"window id", maxID, false} }
func (AgentID) rule() idRule      { return idRule{"agent id", maxLongID, false} }
func (DialogID) rule() idRule     { return idRule{"dialog id", maxID, false} }
func (PromptID) rule() idRule     { return idRule{"prompt id", maxID, false} }
func (RequestID) rule() idRule    { return idRule{"request id", maxLongID, false} }
func (PlanID) rule() idRule       { return idRule{"plan id", maxID, false} }
func (TodoID) rule() idRule       { return idRule{"todo id", maxID, false} }
func (TaskID) rule() idRule       { return idRule{"task id", maxID, false} }
func (NoticeID) rule() idRule     { return idRule{"notice id", maxID, false} }
func (AppID) rule() idRule        { return idRule{"app id", maxID, false} }
func (ShortcutID) rule() idRule   { return idRule{"shortcut id", maxID, false} }

// Validate reports whether id follows the rules of [SessionID].
func (id SessionID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [ReplicaID].
func (id ReplicaID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [MonitorID].
func (id MonitorID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [ConnectionID].
func (id ConnectionID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [ClientID].
func (id ClientID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [MessageID].
func (id MessageID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [WindowID].
func (id WindowID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [AgentID].
func (id AgentID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [DialogID].
func (id DialogID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [PromptID].
func (id PromptID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [RequestID].
func (id RequestID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [PlanID].
func (id PlanID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [TodoID].
func (id TodoID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [TaskID].
func (id TaskID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [NoticeID].
func (id NoticeID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [AppID].
func (id AppID) Validate() error { return id.rule().check(string(id)) }

// Validate reports whether id follows the rules of [ShortcutID].
func (id ShortcutID) Validate() error { return id.rule().check(string(id)) }

func (r idRule) check(s string) error {
	if len(s) > 0 && len(s) <= r.max && isName(s) {
		return nil
	}
	if n := utf8.RuneCountInString(s); n == 0 || n > r.max {
		return fmt.Errorf("%w: %s has %d characters, want 1 to %d", ErrID, r.what, n, r.max)
	}
	for i, c := range s {
		switch {
		case r.name && !isNameRune(c):
			return fmt.Errorf("%w: %s has %q at %d, want letters, digits, '_' or '-'", ErrID, r.what, c, i)
		case isControl(c):
			return fmt.Errorf("%w: %s has the control character %q at %d", ErrID, r.what, c, i)
		case c == utf8.RuneError && !utf8.ValidString(s):
			return fmt.Errorf("%w: %s is not valid UTF-8", ErrID, r.what)
		}
	}
	return nil
}

// isName reports whether s has only characters that ids of any kind may have,
// which most ids do.
func isName(s string) bool {
	for i := range len(s) {
		if !isNameRune(rune(s[i])) {
			return false
		}
	}
	return true
}

// pattern returns the same rule as a regular expression, in the syntax that Go and
// JavaScript share.
func (r idRule) pattern() string {
	set := `[^\x00-\x1f\x7f-\x9f]`
	if r.name {
		set = `[0-9A-Za-z_-]`
	}
	return "^" + set + "{1," + strconv.Itoa(r.max) + "}$"
}

func isNameRune(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// isControl reports whether c is in C0, DEL or C1, which is Unicode's category Cc.
func isControl(c rune) bool { return c < 0x20 || c >= 0x7f && c <= 0x9f }
