package contextpool

import (
	"encoding/base64"
	"strconv"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Message is a user's message or button press that an agent answers.
type Message struct {
	ID wire.MessageID `json:"id"`
	// By is the connection that sent the message.
	By      wire.ConnectionID `json:"by,omitempty"`
	Monitor wire.MonitorID    `json:"monitor"`
	// Text, Images and Tools are the content, which is stored separately. The sender executes the tools.
	Text   string            `json:"-"`
	Images []providers.Image `json:"-"`
	Tools  []wire.ClientTool `json:"-"`
	// Window is the addressed window, empty for the main agent.
	Window wire.WindowID `json:"window,omitempty"`
	// User is the user who sent the message.
	User string `json:"user,omitempty"`
	// Guest says that someone other than the session's owner sent the message.
	Guest bool `json:"guest,omitempty"`
	// Viewer describes the screen of the sender; nil if unknown.
	Viewer *wire.Viewer `json:"viewer,omitempty"`
	// Row is the id of the message's row, 0 if there is none. The pool sets it.
	Row wire.RowID `json:"row,omitempty"`
}

// row returns the row that shows the message, with a text that may differ from it.
func (m *Message) row(text string) wire.UIRow {
	r := wire.UIRow{
		Type: wire.RowSay, Say: wire.SayUserFeedback, Text: text, MonitorID: m.Monitor, MessageID: m.ID, WindowID: m.Window,
	}
	for _, i := range m.Images {
		r.Images = append(r.Images, "data:"+i.MediaType+";base64,"+base64.StdEncoding.EncodeToString(i.Data))
	}
	return r
}

// queuedMessage is a message in a queue.
type queuedMessage struct {
	Message
	// Arrived orders all queued messages.
	Arrived uint64 `json:"arrived"`
	// Action is the actionId of a button whose turn may run in parallel to others.
	Action string `json:"action,omitempty"`
	// Agent is the window agent that a message to a window is queued for.
	Agent string `json:"agent,omitempty"`
	// Offered is the run that the message was sent to, until the run accepts or refuses it.
	Offered string `json:"offered,omitempty"`
	// Since is the arrival time.
	Since wire.Millis `json:"since,omitempty"`
	// Told says that MESSAGE_QUEUED was sent.
	Told bool `json:"told,omitempty"`
}

// queuedContent is the stored content of a queued message. It does not change.
type queuedContent struct {
	Text   string            `json:"text"`
	Images []providers.Image `json:"images,omitempty"`
	Tools  []wire.ClientTool `json:"tools,omitempty"`
}

func (w *queuedMessage) content() *queuedContent { return &queuedContent{w.Text, w.Images, w.Tools} }

// size returns the approximate size in bytes.
func (w *queuedMessage) size() int {
	n := len(w.Text) + 256
	for _, i := range w.Images {
		n += len(i.Data)
	}
	for _, t := range w.Tools {
		n += len(t.Description) + len(t.Parameters)
	}
	return n
}

// isForTurn reports whether a message is queued for the agent of the turn.
func (w *queuedMessage) isForTurn(t *turn) bool {
	if w.Window != "" {
		return w.Agent == t.Agent
	}
	return t.Kind == wire.AgentMain && w.Monitor == t.Monitor
}

func (w *queuedMessage) field() string { return strconv.FormatUint(w.Arrived, 10) }
