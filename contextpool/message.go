package contextpool

import (
	"encoding/base64"
	"slices"
	"strconv"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Message is something a user said or did that an agent is to answer.
type Message struct {
	ID wire.MessageID `json:"id"`
	// By is the connection that sent it.
	By      wire.ConnectionID `json:"by,omitempty"`
	Monitor wire.MonitorID    `json:"monitor"`
	// Text and Images are what it says, which is kept apart.
	Text   string            `json:"-"`
	Images []providers.Image `json:"-"`
	// Window is the window it was said to, if it was.
	Window wire.WindowID `json:"window,omitempty"`
	// Guest says that it is of somebody else than the owner of the session.
	Guest bool `json:"guest,omitempty"`
	// Row is the row of it, if there is one; the pool sets it.
	Row wire.RowID `json:"row,omitempty"`
}

// row is how people see a message, in words that may differ from it.
func (m *Message) row(text string) wire.UIRow {
	r := wire.UIRow{
		Type: wire.RowSay, Say: wire.SayUserFeedback, Text: text, MonitorID: m.Monitor, MessageID: m.ID, WindowID: m.Window,
	}
	for _, i := range m.Images {
		r.Images = append(r.Images, "data:"+i.MediaType+";base64,"+base64.StdEncoding.EncodeToString(i.Data))
	}
	return r
}

// show adds the row of a message.
func (p *Pool) show(m *Message, text string) {
	m.Row = p.step.NextRow()
	p.step.Row(m.row(text))
}

// waiting is a message in a queue.
type waiting struct {
	Message
	// Arrived orders all that wait.
	Arrived uint64 `json:"arrived"`
	// Action is that of a button that may run beside others.
	Action string `json:"action,omitempty"`
	// Agent is whom a message to a window is for.
	Agent string `json:"agent,omitempty"`
	// Offered is the run that the message was given to and that has not said
	// whether it takes it.
	Offered string `json:"offered,omitempty"`
	// Since is when it came.
	Since wire.Millis `json:"since,omitempty"`
	// Told says that MESSAGE_QUEUED was sent.
	Told bool `json:"told,omitempty"`
}

// content is what a message in a queue says. It does not change.
type content struct {
	Text   string            `json:"text"`
	Images []providers.Image `json:"images,omitempty"`
}

func (w *waiting) content() *content { return &content{w.Text, w.Images} }

// size is about how many bytes it has.
func (w *waiting) size() int {
	n := len(w.Text) + 256
	for _, i := range w.Images {
		n += len(i.Data)
	}
	return n
}

// name gives a message a name that no other has which is under way: the session
// does not remember for ever which ids were used.
func (p *Pool) name(m *Message) {
	given := m.ID
	for n := 2; p.knows(m.ID); n++ {
		m.ID = given + wire.MessageID("-"+strconv.Itoa(n))
	}
}

func (p *Pool) knows(id wire.MessageID) bool {
	for _, t := range p.turns {
		if slices.Contains(t.Taken, id) {
			return true
		}
	}
	same := func(q *policies.Queue[*waiting]) bool {
		return slices.ContainsFunc(q.Keys(), func(key string) bool {
			return slices.ContainsFunc(q.All(key), func(w *waiting) bool { return w.ID == id })
		})
	}
	return same(p.mains) || same(p.windows)
}

func (p *Pool) accept(m *Message, agent wire.AgentID, how wire.Taken) {
	p.step.Answer(wire.MessageAccepted{
		MessageID: m.ID, AgentID: agent, MonitorID: m.Monitor, How: how, By: m.By,
	})
}

func (p *Pool) reject(m *Message, code wire.Code, reason string) {
	p.rowRefused(m.ID, refusedIcon, reason)
	p.answerNo(m, code, reason)
}

func (p *Pool) answerNo(m *Message, code wire.Code, reason string) {
	p.step.Answer(wire.MessageRejected{
		MessageID: m.ID, Code: code, Reason: reason, MonitorID: m.Monitor, By: m.By,
	})
}
