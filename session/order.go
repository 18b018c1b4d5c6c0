package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/wire"
)

// orderKind is what a hub wants of a session's owner.
type orderKind string

const (
	orderRename   orderKind = "rename"
	orderShare    orderKind = "share"
	orderDelete   orderKind = "delete"
	orderAct      orderKind = "act"      // what an admin has done
	orderYield    orderKind = "yield"    // to leave the session to another replica
	orderPresence orderKind = "presence" // who watches at another replica
	orderBarrier  orderKind = "mark"     // nothing, see live.line
	orderRestore  orderKind = "restore"  // to take over what the store has lost
)

// order is what a hub wants of a session's owner, as opposed to a client.
type order struct {
	Kind orderKind `json:"kind"`
	// ID names the order for who looks in the directory for what became of it.
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
	User  string `json:"user,omitempty"`
	Share Share  `json:"share,omitempty"`
	// Message is of orderAct, in the form of the native dialect.
	Message json.RawMessage `json:"message,omitempty"`
	// Epoch is of orderYield, and that of the owner it is for; Replica is the heir.
	Epoch uint64 `json:"epoch,omitempty"`
	// Until is of orderYield, and when it is void, by the store's clock.
	Until wire.Millis `json:"until,omitempty"`
	// Replica, Total and Connections are of orderPresence.
	Replica     wire.ReplicaID    `json:"replica,omitempty"`
	Total       int               `json:"total,omitempty"`
	Connections []wire.Connection `json:"connections,omitempty"`
	// Commands, End, Joined and Actions are of orderRestore: parcels, the last event of the
	// turn that answered them, if it has ended, the messages that joined it, and the events
	// with what it did. Lost says that there was more, which no replica knows.
	Commands []json.RawMessage `json:"commands,omitempty"`
	End      json.RawMessage   `json:"end,omitempty"`
	Joined   []wire.MessageID  `json:"joined,omitempty"`
	Actions  []json.RawMessage `json:"actions,omitempty"`
	Lost     bool              `json:"lost,omitempty"`
}

// inboxItem is the form of an item in the store's inbox: an order, or a message and
// who sent it.
type inboxItem struct {
	Order      *order            `json:"order,omitempty"`
	Connection wire.ConnectionID `json:"connection,omitempty"`
	User       string            `json:"user,omitempty"`
	Monitor    wire.MonitorID    `json:"monitor,omitempty"`
	Invited    bool              `json:"invited,omitempty"`
	Message    json.RawMessage   `json:"message,omitempty"`
	// Refused is there instead of a message that went wrong at another owner.
	Refused *refusedMessage `json:"refused,omitempty"`
}

// refusedMessage is what the sender of a message is told.
type refusedMessage struct {
	ID     wire.MessageID `json:"id,omitempty"`
	Code   wire.Code      `json:"code"`
	Reason string         `json:"reason"`
}

// encode makes the stored form of an item.
func (it *item) encode() ([]byte, error) {
	p := inboxItem{Order: it.order}
	if it.order == nil {
		from := it.cmd.From
		p.Connection, p.User, p.Monitor, p.Invited = from.Connection, from.User, from.Monitor, from.Invited
		if it.poison != nil {
			p.Refused = &refusedMessage{it.cmd.Message.ID, it.poison.Code, it.poison.Reason}
		} else {
			p.Message = wire.Native{}.AppendMessage(nil, it.cmd.Message)
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pack a command: %w", err)
	}
	return data, nil
}

// decodeItem reads what pack wrote, at any hub.
func decodeItem(data []byte) (item, error) {
	var p inboxItem
	if err := json.Unmarshal(data, &p); err != nil {
		return item{}, fmt.Errorf("unpack a command: %w", err)
	}
	if p.Order != nil {
		return item{order: p.Order}, nil
	}
	from := Sender{Connection: p.Connection, User: p.User, Monitor: p.Monitor, Invited: p.Invited}
	if r := p.Refused; r != nil {
		return item{
			cmd:    Command{From: from, Message: wire.Message{ID: r.ID}},
			poison: &Error{Code: r.Code, Reason: r.Reason},
		}, nil
	}
	if len(p.Message) == 0 {
		return item{}, errors.New("unpack a command: it has neither order nor message")
	}
	m, err := wire.Native{}.DecodeMessage(p.Message)
	if e, ok := errors.AsType[*wire.Error](err); ok {
		// A newer hub took it, and who sent it waits for an answer.
		return item{
			cmd:    Command{From: from, Message: wire.Message{ID: e.Ref}},
			poison: refusal(wire.CodeInvalidMessage, "the hub that runs the session does not know what that is"),
		}, nil
	}
	return item{cmd: Command{From: from, Message: m}}, err
}
