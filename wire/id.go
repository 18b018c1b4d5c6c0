package wire

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrID is matched by every refusal of an id.
var ErrID = errors.New("not a valid id")

// SessionID names one desktop. There is one id per session, for ever, on every
// door: letters, digits, '_' and '-', at most 64 of them. The narrow alphabet
// keeps ids safe in URLs, file names, log lines and Redis hash tags. Frames of a
// connection that was opened under the session's name have that in its place.
type SessionID string

// ReplicaID names one process life of a hub. A restarted process has a new one,
// so that it is never taken for its dead self. Same rules as [SessionID].
type ReplicaID string

// MonitorID names one monitor of a session; `monitor-0` is the first and is
// always there. Same rules as [SessionID].
type MonitorID string

// ConnectionID names one open connection; the hub chooses it. Same rules as
// [SessionID].
type ConnectionID string

// ClientID is how a tab or program names itself, the same over all its
// connections. Up to 64 characters without control characters.
type ClientID string

// MessageID is a client's own name for a message it sends, and its idempotency
// key: the same id sent again has no second effect. Up to 64 characters without
// control characters.
type MessageID string

// WindowID names a window within its monitor. Agents and apps choose it, so it
// may hold spaces, slashes or any script: up to 64 characters, which are at most
// the 256 bytes a store takes as a name, without control characters.
type WindowID string

// AgentID names an agent's turn as clients see it: its role, such as
// `main-monitor-0-msg-1` or `window-win1/action-3`. Up to 192 characters without
// control characters, since it is put together from other ids.
type AgentID string

// DialogID names a question that is answered with yes or no. Up to 64
// characters without control characters.
type DialogID string

// PromptID names a question that is answered with a choice or a text. Up to 64
// characters without control characters.
type PromptID string

// RequestID pairs a request of the hub with its answer. Up to 192 characters
// without control characters, since it may hold a window's id.
type RequestID string

// PlanID names a plan. Up to 64 characters without control characters.
type PlanID string

// TodoID names one step of a plan. Up to 64 characters without control
// characters.
type TodoID string

// TaskID names a task, which is one conversation with an agent. Up to 64
// characters without control characters.
type TaskID string

// NoticeID names a toast or a notification. Up to 64 characters without control
// characters.
type NoticeID string

// AppID names an app. Up to 64 characters without control characters.
type AppID string

// ShortcutID names a shortcut on the desktop. Up to 64 characters without
// control characters.
type ShortcutID string

// The longest ids, in characters.
const (
	maxID     = 64
	maxLongID = 192
)

// idRule says what ids of one kind look like. The check of the decoder and the
// pattern in the schema are both made from it.
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

// pattern is the same rule as a regular expression, in the syntax that Go and
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

// isControl covers C0, DEL and C1, which is Unicode's category Cc.
func isControl(c rune) bool { return c < 0x20 || c >= 0x7f && c <= 0x9f }
