package contextpool

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// turn is a turn under way. The exported fields are stored.
type turn struct {
	// Number orders turns and identifies them. Attempt counts the runs of the turn from 1. Cut
	// counts how often the turn was cut off since the last message joined it.
	Number  uint64         `json:"number"`
	Attempt int            `json:"attempt"`
	Cut     int            `json:"cut,omitempty"`
	State   turnState      `json:"state"`
	Role    wire.AgentID   `json:"role"`
	Kind    wire.AgentKind `json:"kind"`
	// ID is the message that began the turn. A task has the ID of its parent.
	ID      wire.MessageID `json:"id"`
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window,omitempty"`
	// Agent names the agent whose thread the turn uses: a lasting agent, or one that exists for
	// this turn only.
	Agent string `json:"agent"`
	// Beside is the lasting window agent in parallel to which a button's turn runs.
	Beside string `json:"beside,omitempty"`
	// Lasting says that Agent keeps its thread after the turn, for later turns: the main agent of a
	// monitor or the agent of a window.
	Lasting  bool   `json:"lasting,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Provider string `json:"provider"`
	// User is the user who began the turn.
	User string `json:"user,omitempty"`
	// Guest says that someone other than the session's owner began the turn.
	Guest bool `json:"guest,omitempty"`
	// Viewer describes the screen of that person; nil if unknown.
	Viewer *wire.Viewer `json:"viewer,omitempty"`
	// StartSent says that TASK_STARTED was emitted.
	StartSent bool `json:"begun,omitempty"`
	// Tools counts the ended tool calls by tool name.
	Tools map[string]wire.ToolUses `json:"tools,omitempty"`
	// Taken lists the messages that the turn answers. Row is the row of the first. PendingRows
	// are the rows of joined messages that are not in the thread yet.
	Taken       []wire.MessageID `json:"taken,omitempty"`
	Row         wire.RowID       `json:"row,omitempty"`
	PendingRows []wire.RowID     `json:"heard,omitempty"`
	// Parent is the key of the turn that a task belongs to. Tasks counts the tasks that the
	// turn has delegated.
	Parent string `json:"parent,omitempty"`
	Tasks  int    `json:"tasks,omitempty"`
	// Cleared are the scopes of calls that a user has confirmed although outside data was read.
	Cleared []string `json:"cleared,omitempty"`
	// StopReason is the reason why the turn is being stopped, empty if it is not. DisposeAgent
	// says that the agent is deleted when the turn ends.
	StopReason   string `json:"stopping,omitempty"`
	DisposeAgent bool   `json:"doomed,omitempty"`
	// InThread says that the thread has entries of this turn, which include the first ThreadUnits
	// UTF-16 units of its text.
	InThread    bool `json:"remembered,omitempty"`
	ThreadUnits int  `json:"kept,omitempty"`
	// ParagraphAt is the length of the text when the newest message was added to the turn: the text after it is
	// another paragraph. 0 if there was no text or no such message.
	ParagraphAt int `json:"paragraphAt,omitempty"`
	// RowUnits is the number of UTF-16 units of the text that are in rows already; TextRows
	// counts those rows.
	RowUnits int `json:"told,omitempty"`
	TextRows int `json:"parts,omitempty"`
	// CallCount counts the tool calls and ActionCount the actions of the turn, including those
	// that are no longer stored.
	CallCount   int             `json:"called,omitempty"`
	ActionCount int             `json:"done,omitempty"`
	Usage       providers.Usage `json:"usage,omitzero"`
	Started     wire.Millis     `json:"started"`
	// QueuedSince is the arrival time of the message if it was queued.
	QueuedSince wire.Millis `json:"since,omitempty"`
	// Context is the number of tokens in the newest model call of a lasting agent, 0 if unknown.
	// Truncations counts how often the thread was truncated because the model's input was too
	// long.
	Context     int `json:"context,omitempty"`
	Truncations int `json:"shrunk,omitempty"`
	// Condensing is set if the turn summarises its agent's thread and answers no message. Job
	// is set if the turn executes a job of a plan.
	Condensing *condensing   `json:"condensing,omitempty"`
	Job        *workflow.Job `json:"job,omitempty"`
	// Titling is set if the turn finds the title of the session and answers no message.
	Titling *titling `json:"titling,omitempty"`
	// Client is set if the turn executes one tool call of a program outside the hub.
	Client *ClientCall `json:"client,omitempty"`
	// ThinkingRow is the growing row, if there is one, of the thinking text after its first
	// ThinkingKept UTF-16 units. Those units are final: a restarted turn does not produce them
	// again.
	ThinkingRow  wire.Millis `json:"thoughts,omitempty"`
	ThinkingKept int         `json:"mused,omitempty"`

	// rewound says that the turn ends because of a rewind, and rowRemoved that the rewind also
	// removes the row that began it.
	rewound, rowRemoved bool
	// openTools counts the tool calls in progress. toolUsed says that the turn has used a tool
	// under this owner.
	openTools int
	toolUsed  bool
	// toolStarts holds the start times of the tool calls in progress, by call id.
	toolStarts map[string]time.Time

	// lastCallTokens is the number of tokens in the newest model call; unlike Context it is also
	// set for agents that do not last. usageSentAt is the time of the last
	// TASK_TOKEN_USAGE_UPDATED.
	lastCallTokens int
	usageSentAt    time.Time

	prompt  prompt
	calls   []*call
	actions []wire.Action
	bytes   int // encoded size of actions

	// text is the text so far, textUnits its length and thinkingUnits the length of the
	// thinking text, both in UTF-16 units. A new owner restores them from the desktop state.
	text          strings.Builder
	textUnits     int
	thinkingUnits int
	// thinking is the beginning of the thinking text after ThinkingKept. thinkingUnsaved says
	// that ThinkingRow lacks a part of it. thinkingWritten says that the row was written since
	// the turn began, restarted or committed its thinking: while the agent emits text, one
	// write is enough.
	thinking        strings.Builder
	thinkingUnsaved bool
	thinkingWritten bool
	onResult        func(providers.ToolResult) // delivers the result of a task
	// retries counts the model calls of this run that were repeated.
	retries int
	// failureClass classifies the failure of the run, and uncertain says why the progress of
	// the turn is unknown; both are for the plan of a job.
	failureClass providers.Class
	uncertain    string
	// clientInput is the input of a program's call, and result its result, if the run reported one.
	clientInput json.RawMessage
	result      *providers.ToolResult
}

// prompt is the input that a turn began with. It does not change.
type prompt struct {
	// Content is the user's text, which may be long. Before and After are the texts that the
	// agent reads around it.
	Content string            `json:"content,omitempty"`
	Before  string            `json:"before,omitempty"`
	After   string            `json:"after,omitempty"`
	Images  []providers.Image `json:"images,omitempty"`
	// Tools are those that the sender of the message executes.
	Tools []wire.ClientTool `json:"tools,omitempty"`
	// Windows are the windows open at the beginning of the turn.
	Windows []policies.WindowInfo `json:"windows,omitempty"`
	// Mode is a copy of the mode in which the turn works, nil for none, and Instructions are the custom
	// instructions of the session. Both stay when they change for later turns.
	Mode         *modes.Mode `json:"mode,omitempty"`
	Instructions string      `json:"instructions,omitempty"`
}

// setText splits the agent's input, which contains the content, into Before and After.
func (p *prompt) setText(text string) {
	p.Before, p.After, _ = strings.Cut(text, policies.Content(p.Content))
}

// text returns the agent's input.
func (p *prompt) text() string { return p.Before + policies.Content(p.Content) + p.After }

func (t *turn) key() string { return "t" + strconv.FormatUint(t.Number, 10) }

func (t *turn) runID() string { return t.key() + "." + strconv.Itoa(t.Attempt) }

func (t *turn) compare(o *turn) int { return cmp.Compare(t.Number, o.Number) }

// messageID returns the message that the events of the turn name. Events of a task name none,
// because a message has exactly one end; a turn that summarises and a program's call have no
// message.
func (t *turn) messageID() wire.MessageID {
	if t.Kind == wire.AgentTask || t.Kind == wire.AgentClient || t.Condensing != nil {
		return ""
	}
	return t.ID
}

// addMessage adds a message to those that the turn answers and resets Cut, because the new
// message has not been cut off yet. The caller stores the turn.
func (t *turn) addMessage(id wire.MessageID) {
	t.Taken, t.Cut = append(t.Taken, id), 0
}

// joinedMessages returns the messages that the turn took while it ran.
func (t *turn) joinedMessages() []wire.MessageID {
	return slices.DeleteFunc(slices.Clone(t.Taken), func(id wire.MessageID) bool { return id == t.ID })
}

// trigger returns the turn's cause as the reload cache compares it.
func (t *turn) trigger() policies.Trigger {
	g := policies.Trigger{Type: policies.TriggerMain, Text: t.prompt.Content, Windows: t.prompt.Windows}
	if t.Kind == wire.AgentWindow {
		g.Type, g.Target = policies.TriggerWindow, t.Window
	}
	return g
}

// appendHiddenText appends to the text of a turn whose text is not published while it grows.
func (t *turn) appendHiddenText(text string) {
	t.text.WriteString(truncation.Bytes(sanitize(text), max(condensedBytes-t.text.Len(), 0)))
}

// recordContext sets Context from the usage of the newest model call.
func (t *turn) recordContext(u providers.Usage) {
	if t.Lasting {
		t.Context = max(u.Input+u.CacheRead+u.CacheWrite+u.Output, 0)
	}
}
