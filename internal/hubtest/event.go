package hubtest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/everdesk/everdesk/wire"
)

// Event holds the fields of a log event that the checks need.
type Event struct {
	At   wire.Position `json:"at"`
	Hash string        `json:"hash"` // of its bytes
	Type string        `json:"type"`
	// Message is the message that the event is about; Monitor and Agent are its monitor and
	// agent.
	Message wire.MessageID `json:"message,omitempty"`
	Monitor wire.MonitorID `json:"monitor,omitempty"`
	Agent   wire.AgentID   `json:"agent,omitempty"`
	// How is the way an agent accepted the message. Outcome and Reason are set at the end of its
	// turn; Reason is also the text of an error. Text is a piece of the answer, and Offset is its
	// position in UTF-16 units.
	How     wire.Taken   `json:"how,omitempty"`
	Outcome wire.Outcome `json:"outcome,omitempty"`
	Reason  string       `json:"reason,omitempty"`
	Text    string       `json:"text,omitempty"`
	Offset  int          `json:"offset,omitempty"`
	// Place is the place of the message in its queue, from 1; 0 is the end.
	Place int `json:"place,omitempty"`
	// Replica and Prev are set for a change of owner.
	Replica wire.ReplicaID `json:"replica,omitempty"`
	Prev    wire.Position  `json:"prev,omitzero"`
}

// IsEnd reports whether the event is the end of its message: the end of its turn, or a refusal.
func (e Event) IsEnd() bool {
	return e.Message != "" && (e.Type == typeResponse && e.Outcome != "" || e.Type == typeRejected)
}

// Interruptions returns how often the turn of a message was interrupted before the message was
// abandoned, for an event that ends the message for that reason, else 0.
func (e Event) Interruptions() (n int) {
	if _, err := fmt.Sscanf(e.Reason, "the turn was cut off %d times", &n); err != nil {
		return 0
	}
	return n
}

// outcome returns the outcome, for an event that ends a message.
func (e Event) outcome() string {
	if e.Type == typeRejected {
		return "rejected"
	}
	return string(e.Outcome)
}

// The types of events that the checks know.
const (
	typeAccepted = "MESSAGE_ACCEPTED"
	typeQueued   = "MESSAGE_QUEUED"
	typeRejected = "MESSAGE_REJECTED"
	typeResponse = "AGENT_RESPONSE"
	typeOwner    = "OWNER_CHANGED"
	typeState    = "session_state"
)

// isNewer reports whether a frame has an unknown type, as those that a newer version writes. A
// frame of a known type that cannot be decoded is not newer.
func isNewer(frame []byte) bool {
	head, ok := wire.Peek(frame)
	_, known := wire.Events().Lookup(head.Type)
	return ok && !known
}

// eventOf extracts the fields that the checks need from an event and its frame.
func eventOf(e wire.Event, frame []byte) Event {
	sum := sha256.Sum256(frame)
	out := Event{At: e.At, Hash: hex.EncodeToString(sum[:8])}
	if head, ok := wire.Peek(frame); ok {
		out.Type = head.Type
		if e.Data == nil { // written by a newer version
			out.At, out.Message = head.At, head.Message
		}
	}
	switch d := e.Data.(type) {
	case wire.MessageAccepted:
		out.Message, out.Monitor, out.Agent, out.How = d.MessageID, d.MonitorID, d.AgentID, d.How
	case wire.MessageQueued:
		out.Message, out.Monitor, out.Place = d.MessageID, d.MonitorID, d.Position
	case wire.ErrorNotice:
		out.Message, out.Reason = d.MessageID, d.Message
	case wire.MessageRejected:
		out.Message, out.Monitor = d.MessageID, d.MonitorID
	case wire.AgentResponse:
		out.Message, out.Monitor, out.Agent = d.MessageID, d.MonitorID, d.AgentID
		out.Text, out.Offset = d.Delta, d.Offset
		if d.IsComplete {
			out.Outcome, out.Reason = d.Outcome, d.Reason
		}
	case wire.OwnerChanged:
		out.Replica, out.Prev = d.Replica, d.Prev
	}
	return out
}
