package wire

import "encoding/json"

// Messages and events about the connection itself. Of these only an [ErrorNotice] can be in
// the log.

// Auth sends credentials when the handshake had none. One of the fields is enough.
type Auth struct {
	Inbound
	Token  string `json:"token,omitempty"`
	APIKey string `json:"api_key,omitempty"`
	Ticket string `json:"ticket,omitempty"`
}

// AuthResult names the user that the client is authenticated as.
type AuthResult struct {
	Outbound
	OK    bool     `json:"ok"`
	User  string   `json:"user,omitempty"`
	Roles []string `json:"roles,omitempty"`
}

// Ping checks whether the client is alive.
type Ping struct{ Outbound }

// Pong answers a ping.
type Pong struct{ Inbound }

// AuthRefreshRequired tells the client to send auth again, with a new token,
// before the connection is closed.
type AuthRefreshRequired struct {
	Outbound
	// ExpiresAt is the time at which the token expires or expired.
	ExpiresAt Millis `json:"expires_at"`
	// GraceMS is how long the hub waits for the new token.
	GraceMS int `json:"grace_ms" wire:"min=0"`
}

// GoElsewhere announces that this replica will close the connection, and when to connect
// again.
type GoElsewhere struct {
	Outbound
	AfterMS int    `json:"after_ms" wire:"min=0"`
	Reason  string `json:"reason,omitempty"`
}

// StoreStatus tells the clients of a session that the store is unavailable, or available
// again. Meanwhile the hub accepts nothing new and loses nothing accepted; the connection
// stays open.
type StoreStatus struct {
	Outbound
	Available bool `json:"available"`
	// Full says that the store answers but has no space left.
	Full bool `json:"full,omitempty"`
	// Since is the time of the change.
	Since Millis `json:"since"`
}

// SettingsChanged tells the tabs of a user that settings or secrets have changed, whichever tab,
// program or replica changed them. It carries no values: a client that shows one of them reads it
// again.
type SettingsChanged struct {
	Outbound
	Scope SettingScope `json:"scope"`
	// Names are the settings and secrets that may have changed. A name such as appData/todo/todo.json is a file
	// of an app.
	Names []string `json:"names"`
}

// SettingScope is the range in which the value of a setting applies.
type SettingScope string

// The scopes, from the widest.
const (
	SettingScopeHub     SettingScope = "hub"     // all users of the hub
	SettingScopeUser    SettingScope = "user"    // all sessions of a user
	SettingScopeSession SettingScope = "session" // one session
)

func (SettingScope) values() []string {
	return list(SettingScopeHub, SettingScopeUser, SettingScopeSession)
}

// ErrorNotice reports an error to the connection that it concerns, or, as an event of the
// log, the error of a plan to all connections of the session. If the connection cannot stay
// open, a close frame follows.
type ErrorNotice struct {
	Outbound
	Code    Code   `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
	// Context holds more details about the error.
	Context         json.RawMessage `json:"context,omitempty"`
	Recoverable     bool            `json:"recoverable"`
	SuggestedAction SuggestedAction `json:"suggested_action,omitempty"`
	// RetryAfterMS is the delay before a retry, with the action wait.
	RetryAfterMS int `json:"retry_after_ms,omitempty" wire:"min=0"`
	// MessageID is the refused message, if it could be read.
	MessageID MessageID `json:"messageId,omitempty"`
	// Field is the invalid field of the message.
	Field string `json:"field,omitempty"`
}

// ConnectionStatus is the first event of the desktop dialect.
type ConnectionStatus struct {
	Outbound
	Status    LinkStatus `json:"status"`
	Provider  string     `json:"provider,omitempty"`
	SessionID SessionID  `json:"sessionId,omitempty"`
	Error     string     `json:"error,omitempty"`
}

// LinkStatus is the state of a connection.
type LinkStatus string

// The states of a connection.
const (
	LinkConnected    LinkStatus = "connected"
	LinkDisconnected LinkStatus = "disconnected"
	LinkError        LinkStatus = "error"
)

func (LinkStatus) values() []string { return list(LinkConnected, LinkDisconnected, LinkError) }
