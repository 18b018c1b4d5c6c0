package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// orderKind is the kind of an order.
type orderKind string

const (
	orderRename    orderKind = "rename"
	orderShare     orderKind = "share"
	orderUser      orderKind = "user" // give the session to another user
	orderDelete    orderKind = "delete"
	orderAct       orderKind = "act"        // an admin action
	orderYield     orderKind = "yield"      // hand the session over to another replica
	orderRelocate  orderKind = "relocate"   // hand the session over to a replica that forwards many commands
	orderPresence  orderKind = "presence"   // the tabs of another replica
	orderBarrier   orderKind = "mark"       // no effect, see inboxReceiver.sendBarrier
	orderRestore   orderKind = "restore"    // restore what the store has lost
	orderCall      orderKind = "call"       // execute a tool call of a program
	orderStopCalls orderKind = "stop-calls" // interrupt tool calls of programs
	orderFiles     orderKind = "files"      // publish that files have changed
)

// order is a command of a hub, as opposed to a client, for the owner of a session.
type order struct {
	Kind orderKind `json:"kind"`
	// ID identifies the order for the hub that looks for its result in the card.
	ID    string `json:"id,omitempty"`
	Title string `json:"title,omitempty"`
	User  string `json:"user,omitempty"`
	// From belongs to orderUser: the order is refused if the session belongs to another user meanwhile.
	From  string `json:"from,omitempty"`
	Share Share  `json:"share,omitempty"`
	// Message belongs to orderAct, in the native dialect.
	Message json.RawMessage `json:"message,omitempty"`
	// Epoch belongs to orderYield and orderRelocate and is that of the owner they are meant for;
	// Replica is the heir.
	Epoch uint64 `json:"epoch,omitempty"`
	// Until belongs to the same and to orderCall: the order is void after it, by the store's clock.
	Until wire.Millis `json:"until,omitempty"`
	// Replica, Incarnation, Total and Connections belong to orderPresence. Hubs without shared leases
	// send no Incarnation.
	Replica     wire.ReplicaID    `json:"replica,omitempty"`
	Incarnation uint64            `json:"incarnation,omitempty"`
	Total       int               `json:"total,omitempty"`
	Connections []wire.Connection `json:"connections,omitempty"`
	// Commands, End, Joined and Actions belong to orderRestore: inbox items, the final event of the
	// turn that answered them, if it has ended, the messages that joined it, and the events with
	// its actions. Lost says that more was lost, which no replica has.
	Commands []json.RawMessage `json:"commands,omitempty"`
	End      json.RawMessage   `json:"end,omitempty"`
	Joined   []wire.MessageID  `json:"joined,omitempty"`
	Actions  []json.RawMessage `json:"actions,omitempty"`
	Lost     bool              `json:"lost,omitempty"`
	// Call belongs to orderCall, and to orderStopCalls: with the token alone it means all calls of the
	// token. Reason says why they are interrupted.
	Call   *ClientCall `json:"call,omitempty"`
	Reason string      `json:"reason,omitempty"`
	// Files belongs to orderFiles.
	Files []wire.FileChange `json:"files,omitempty"`
}

// inboxItem is the form of an item in the store's inbox: an order, or a message and its sender.
type inboxItem struct {
	Order *order `json:"order,omitempty"`
	inboxSender
	Message json.RawMessage `json:"message,omitempty"`
	// Refused replaces a message that failed at another owner.
	Refused *refusedMessage `json:"refused,omitempty"`
}

// inboxSender is the sender of a message.
type inboxSender struct {
	Connection wire.ConnectionID `json:"connection,omitempty"`
	User       string            `json:"user,omitempty"`
	Monitor    wire.MonitorID    `json:"monitor,omitempty"`
	Invited    bool              `json:"invited,omitempty"`
}

func (s inboxSender) sender() Sender {
	return Sender{Connection: s.Connection, User: s.User, Monitor: s.Monitor, Invited: s.Invited}
}

// refusedMessage is the refusal for the sender of a message.
type refusedMessage struct {
	ID     wire.MessageID `json:"id,omitempty"`
	Code   wire.Code      `json:"code"`
	Reason string         `json:"reason"`
}

// Most of what goes through an inbox are messages. They are encoded without encoding/json, which would
// parse the message once more: as the sender's object, with the message as its last field.
var senderFormat = sync.OnceValue(wire.FormatOf[inboxSender])

const messageField = `,"message":`

// encode makes the stored form of an item.
func (it *item) encode() ([]byte, error) {
	from := it.cmd.From
	p := inboxItem{Order: it.order}
	if it.order == nil {
		p.inboxSender = inboxSender{Connection: from.Connection, User: from.User, Monitor: from.Monitor, Invited: from.Invited}
		if it.poison != nil {
			p.Refused = &refusedMessage{it.cmd.Message.ID, it.poison.Code, it.poison.Reason}
		} else if from.Connection != "" {
			data := senderFormat().Append(nil, &p.inboxSender)
			data = append(data[:len(data)-1], messageField...)
			return append(wire.Native{}.AppendMessage(data, it.cmd.Message), '}'), nil
		} else {
			p.Message = wire.Native{}.AppendMessage(nil, it.cmd.Message)
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode inbox item: %w", err)
	}
	return data, nil
}

// cutMessage returns the sender and the message of an encoded item in the form that encode prefers,
// or false. The field is not found within a string, where its quotes would be escaped.
func cutMessage(data []byte) (from inboxSender, message []byte, ok bool) {
	sender, rest, found := bytes.Cut(data, []byte(messageField))
	message, closed := bytes.CutSuffix(rest, []byte("}"))
	if !found || !closed || !bytes.HasPrefix(sender, []byte(`{"connection":`)) {
		return inboxSender{}, nil, false
	}
	from, err := senderFormat().DecodeOwn(append(bytes.Clone(sender), '}'))
	return from, message, err == nil
}

// decodeItem decodes the form that encode of any hub makes.
func decodeItem(data []byte) (item, error) {
	if from, message, ok := cutMessage(data); ok {
		if m, err := (wire.Native{}).DecodeMessage(message); err == nil {
			return item{cmd: Command{From: from.sender(), Message: m}}, nil
		}
	}
	var p inboxItem
	if err := json.Unmarshal(data, &p); err != nil {
		return item{}, fmt.Errorf("decode inbox item: %w", err)
	}
	if p.Order != nil {
		return item{order: p.Order}, nil
	}
	from := p.sender()
	if r := p.Refused; r != nil {
		return item{
			cmd:    Command{From: from, Message: wire.Message{ID: r.ID}},
			poison: &Error{Code: r.Code, Reason: r.Reason},
		}, nil
	}
	if len(p.Message) == 0 {
		return item{}, errors.New("decode inbox item: neither an order nor a message")
	}
	m, err := wire.Native{}.DecodeMessage(p.Message)
	if e, ok := errors.AsType[*wire.Error](err); ok {
		// A newer hub accepted the message, and its sender waits for an answer.
		return item{
			cmd:    Command{From: from, Message: wire.Message{ID: e.Ref}},
			poison: refusal(wire.CodeInvalidMessage, "the hub that owns the session does not know this message type"),
		}, nil
	}
	return item{cmd: Command{From: from, Message: m}}, err
}
