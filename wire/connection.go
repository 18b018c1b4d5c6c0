package wire

import "encoding/json"

// Messages and events about the connection itself. None of them is in the log.

// Auth brings credentials, when the handshake had none. One of the fields is
// enough.
type Auth struct {
	Inbound
	Token  string `json:"token,omitempty"`
	APIKey string `json:"api_key,omitempty"`
	Ticket string `json:"ticket,omitempty"`
}

// AuthResult says who the client is taken for.
type AuthResult struct {
	Outbound
	OK    bool     `json:"ok"`
	User  string   `json:"user,omitempty"`
	Roles []string `json:"roles,omitempty"`
}

// Ping asks whether the client is there.
type Ping struct{ Outbound }

// Pong answers a ping.
type Pong struct{ Inbound }

// AuthRefreshRequired tells the client to send auth again, with a new token,
// before the connection is closed.
type AuthRefreshRequired struct {
	Outbound
	// ExpiresAt is when the token expires or expired.
	ExpiresAt Millis `json:"expires_at"`
	// GraceMS is how long the hub waits for the new one.
	GraceMS int `json:"grace_ms" wire:"min=0"`
}

// GoElsewhere tells the client that this replica will close the connection and
// when to connect again.
type GoElsewhere struct {
	Outbound
	AfterMS int    `json:"after_ms" wire:"min=0"`
	Reason  string `json:"reason,omitempty"`
}

// StoreStatus tells the clients of a session that the hub cannot reach its store,
// or can again. Meanwhile nothing new is accepted and nothing accepted is lost;
// the connection lives on.
type StoreStatus struct {
	Outbound
	Available bool `json:"available"`
	// Since is when it began to be so.
	Since Millis `json:"since"`
}

// ErrorNotice tells one connection what went wrong. The connection lives on.
type ErrorNotice struct {
	Outbound
	Code    Code   `json:"code"`
	Name    string `json:"name"`
	Message string `json:"message"`
	// Context holds more about where it went wrong.
	Context         json.RawMessage `json:"context,omitempty"`
	Recoverable     bool            `json:"recoverable"`
	SuggestedAction SuggestedAction `json:"suggested_action,omitempty"`
	// RetryAfterMS is how long to wait, with the action wait.
	RetryAfterMS int `json:"retry_after_ms,omitempty" wire:"min=0"`
	// MessageID is the message that was refused, when it could be read.
	MessageID MessageID `json:"messageId,omitempty"`
	// Field is the part of the message that was wrong.
	Field string `json:"field,omitempty"`
}

// ConnectionStatus is how the desktop dialect says hello.
type ConnectionStatus struct {
	Outbound
	Status    LinkStatus `json:"status"`
	Provider  string     `json:"provider,omitempty"`
	SessionID SessionID  `json:"sessionId,omitempty"`
	Error     string     `json:"error,omitempty"`
}

// LinkStatus is how a connection is doing.
type LinkStatus string

// The states of a connection.
const (
	LinkConnected    LinkStatus = "connected"
	LinkDisconnected LinkStatus = "disconnected"
	LinkError        LinkStatus = "error"
)

func (LinkStatus) values() []string { return list(LinkConnected, LinkDisconnected, LinkError) }
