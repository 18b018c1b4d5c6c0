package contextpool

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workflow"
)

// turnState is the state of a turn under way.
type turnState string

const (
	turnAccepted turnState = "accepted" // waits for a slot and a provider
	turnRunning  turnState = "running"
	turnWaiting  turnState = "waiting" // has no run until its tasks have ended
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
	Beside   string `json:"beside,omitempty"`
	Lasting  bool   `json:"lasting,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Provider string `json:"provider"`
	// Guest says that someone other than the session's owner began the turn.
	Guest bool `json:"guest,omitempty"`
	// StartSent says that TASK_STARTED was emitted.
	Begun bool `json:"begun,omitempty"`
	// Tools counts the ended tool calls by tool name.
	Tools map[string]wire.ToolUses `json:"tools,omitempty"`
	// Taken lists the messages that the turn answers. Row is the row of the first. PendingRows
	// are the rows of joined messages that are not in the thread yet.
	Taken []wire.MessageID `json:"taken,omitempty"`
	Row   wire.RowID       `json:"row,omitempty"`
	Heard []wire.RowID     `json:"heard,omitempty"`
	// Parent is the key of the turn that a task belongs to. Tasks counts the tasks that the
	// turn has delegated.
	Parent string `json:"parent,omitempty"`
	Tasks  int    `json:"tasks,omitempty"`
	// Stopping is the reason why the turn is being stopped, empty if it is not. DisposeAgent
	// says that the agent is deleted when the turn ends.
	Stopping string `json:"stopping,omitempty"`
	Doomed   bool   `json:"doomed,omitempty"`
	// InThread says that the thread has entries of this turn, which include the first KeptUnits
	// UTF-16 units of its text.
	Remembered bool `json:"remembered,omitempty"`
	Kept       int  `json:"kept,omitempty"`
	// RowUnits is the number of UTF-16 units of the text that are in rows already; TextRows
	// counts those rows.
	Told  int `json:"told,omitempty"`
	Parts int `json:"parts,omitempty"`
	// CallCount counts the tool calls and ActionCount the actions of the turn, including those
	// that are no longer stored.
	Called  int             `json:"called,omitempty"`
	Done    int             `json:"done,omitempty"`
	Usage   providers.Usage `json:"usage,omitzero"`
	Started wire.Millis     `json:"started"`
	// QueuedSince is the arrival time of the message if it was queued.
	Since wire.Millis `json:"since,omitempty"`
	// Context is the number of tokens in the newest model call. Truncations counts how often
	// the thread was truncated because the model's input was too long.
	Context int `json:"context,omitempty"`
	Shrunk  int `json:"shrunk,omitempty"`
	// Condensing is set if the turn summarises its agent's thread and answers no message. Job
	// is set if the turn executes a job of a plan.
	Condensing *condensing   `json:"condensing,omitempty"`
	Job        *workflow.Job `json:"job,omitempty"`
	// ThinkingRow is the growing row, if there is one, of the thinking text after its first
	// ThinkingKept UTF-16 units. Those units are final: a restarted turn does not produce them
	// again.
	Thoughts wire.Millis `json:"thoughts,omitempty"`
	Mused    int         `json:"mused,omitempty"`

	// threads is the pool's map.
	threads map[string]*thread
	// rewound says that the turn ends because of a rewind, and rowRemoved that the rewind also
	// removes the row that began it.
	rewound, undone bool
	// openTools counts the tool calls in progress. toolUsed says that the turn has used a tool
	// under this owner.
	using int
	acted bool
	// toolStarts holds the start times of the tool calls in progress, by call id.
	began map[string]time.Time

	// lastCallTokens is the number of tokens in the newest model call, also for agents that do
	// not last. usageSentAt is the time of the last TASK_TOKEN_USAGE_UPDATED.
	newest    int
	usageTold time.Time

	prompt  prompt
	calls   []*call
	actions []wire.Action
	bytes   int // encoded size of actions

	// text is the text so far, textUnits its length and thinkingUnits the length of the
	// thinking text, both in UTF-16 units. A new owner restores them from the desktop state.
	text    strings.Builder
	said    int
	thought int
	// thinking is the beginning of the thinking text after ThinkingKept. thinkingUnsaved says
	// that ThinkingRow lacks a part of it. thinkingWritten says that the row was written since
	// the turn began, restarted or committed its thinking: while the agent emits text, one
	// write is enough.
	thoughts strings.Builder
	unshown  bool
	mulled   bool
	done     func(providers.ToolResult) // delivers the result of a task
	// failureClass classifies the failure of the run, and uncertain says why the progress of
	// the turn is unknown; both are for the plan of a job.
	failure providers.Class
	unsure  string
}

// prompt is the input that a turn began with. It does not change.
type prompt struct {
	// Content is the user's text, which may be long. Before and After are the texts that the
	// agent reads around it.
	Content string            `json:"content,omitempty"`
	Before  string            `json:"before,omitempty"`
	After   string            `json:"after,omitempty"`
	Images  []providers.Image `json:"images,omitempty"`
	// Windows are the windows open at the beginning of the turn.
	Windows []policies.WindowSight `json:"windows,omitempty"`
}

// setText splits the agent's input, which contains the content, into Before and After.
func (p *prompt) set(text string) {
	p.Before, p.After, _ = strings.Cut(text, policies.Content(p.Content))
}

// text returns the agent's input.
func (p *prompt) text() string { return p.Before + policies.Content(p.Content) + p.After }

// call is a tool call whose result is not in the thread yet.
type call struct {
	Number int    `json:"number"`
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	// Input is the shortened input for the call's row, stored while the call is open.
	Input []byte `json:"input,omitempty"`
	// Child is the key of the task that the call waits for, if any. The call ends in the step
	// in which the task ends.
	Child  string               `json:"child,omitempty"`
	Ended  bool                 `json:"ended,omitempty"`
	Result providers.ToolResult `json:"result,omitzero"`
}

func (t *turn) key() string { return "t" + strconv.FormatUint(t.Number, 10) }
func (t *turn) run() string { return t.key() + "." + strconv.Itoa(t.Attempt) }

// toolStarted records the start time of a tool call.
func (t *turn) begun(id string, now time.Time) {
	if t.began == nil {
		t.began = map[string]time.Time{}
	}
	t.began[id] = now
}

func (t *turn) order(o *turn) int { return cmp.Compare(t.Number, o.Number) }

// messageID returns the message that the events of the turn name. Events of a task name none,
// because a message has exactly one end; a turn that summarises has no message.
func (t *turn) message() wire.MessageID {
	if t.Kind == wire.AgentTask || t.Condensing != nil {
		return ""
	}
	return t.ID
}

// addMessage adds a message to those that the turn answers and resets Cut, because the new
// message has not been cut off yet. The caller stores the turn.
func (t *turn) join(id wire.MessageID) {
	t.Taken, t.Cut = append(t.Taken, id), 0
}

// joinedMessages returns the messages that the turn took while it ran.
func (t *turn) joined() []wire.MessageID {
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

// beginMainTurn starts a turn for a message to a main agent. With TakenEphemeral and a slot it
// creates an ephemeral agent for the message.
func (p *Pool) begin(w *waiting, how wire.Taken, slot *agentpool.Slot) {
	t := &turn{
		Kind: wire.AgentMain, ID: w.ID, Monitor: w.Monitor, Agent: mainAgent(w.Monitor), Lasting: true,
		Profile: tools.ProfileMain, Guest: w.Guest, Taken: []wire.MessageID{w.ID}, Row: w.Row, Since: w.Since,
	}
	role := "main-"
	if how == wire.TakenEphemeral {
		t.Kind, t.Lasting, t.Profile, role = wire.AgentEphemeral, false, tools.ProfileAll, "ephemeral-"
	}
	p.enter(t, role+string(w.Monitor)+"-"+string(w.ID))
	p.see(t, w)
	options := p.reload.Options(p.step.Now(), t.trigger())
	if how == wire.TakenEphemeral {
		t.prompt.set(policies.Ephemeral(policies.EphemeralPrompt{
			Draw: len(w.Images) > 0, Windows: windowIDs(t.prompt.Windows), Reload: options, Content: w.Text,
		}))
	} else {
		happened, ops := p.timeline(w.Monitor).Drain()
		p.step.Keep(ops...)
		t.prompt.set(p.reminder(t) + policies.Main(policies.MainPrompt{
			Timeline: happened, Draw: len(w.Images) > 0, Windows: windowIDs(t.prompt.Windows), Reload: options, Content: w.Text,
		}))
	}
	p.accept(&w.Message, t.Role, how)
	p.record(t, policies.SpeakerUser, w.Text, w.Row)
	p.launch(t, slot)
}

// previousConversation returns the recent conversation from the tape for a main agent that has
// no thread: a backend held the conversation, and the turn uses another provider.
func (p *Pool) reminder(t *turn) string {
	if h := p.threads[t.Agent]; h.hasEntries() || h.knownTo(t.Provider) {
		return ""
	}
	said := p.tape.Messages(Heard{Monitor: t.Monitor})
	from, bytes := len(said), 0
	for from > 0 && len(said)-from < remindedOf && bytes+len(said[from-1].Text) <= remindedBytes {
		from--
		bytes += len(said[from].Text)
	}
	if from == len(said) {
		return ""
	}
	return FormatTape(said[from:]) + "\n\n"
}

// Bounds of the text of previousConversation.
const (
	remindedOf    = 20
	remindedBytes = 32 << 10
)

// registerTurn adds a turn to those under way, with a unique role.
func (p *Pool) enter(t *turn, role string) {
	p.about.Turns++
	p.keepAbout()
	t.Number, t.Attempt, t.State, t.threads = p.about.Turns, 1, turnAccepted, p.threads
	t.Started, t.Provider = wire.Millis(p.step.Now().UnixMilli()), p.Provider()
	t.Role = wire.AgentID(role)
	for n := 2; slices.ContainsFunc(p.sorted(), func(o *turn) bool { return o.Role == t.Role }); n++ {
		t.Role = wire.AgentID(role + "/" + strconv.Itoa(n))
	}
	if !t.Lasting {
		t.Agent = "once:" + string(t.Role) // differs from the name of every lasting agent
	}
	p.turns[t.key()] = t
	if t.Kind == wire.AgentMain || t.Kind == wire.AgentEphemeral {
		p.budget.TryAcquire(t.Monitor, t.key())
	}
}

// fillPrompt sets the message's content and the open windows in the prompt of a turn.
func (p *Pool) see(t *turn, w *waiting) {
	t.prompt.Images, t.prompt.Content = w.Images, w.Text
	for _, open := range p.step.Desk().Windows(t.Monitor) {
		t.prompt.Windows = append(t.prompt.Windows, policies.WindowSight{
			ID: open.WindowID, Renderer: wire.RendererOf(open.Content),
		})
	}
}

func windowIDs(sights []policies.WindowSight) []wire.WindowID {
	ids := make([]wire.WindowID, len(sights))
	for i, s := range sights {
		ids[i] = s.ID
	}
	return ids
}

// launchTurn stores a prepared turn and starts its run.
func (p *Pool) launch(t *turn, slot *agentpool.Slot) {
	if h := p.threads[t.Agent]; t.Lasting && h != nil && h.Tried {
		h.Tried = false
		p.keepThread(h)
	}
	p.taskCreated(t)
	p.keepTurn(t)
	p.keepPrompt(t)
	p.start(t, slot)
}

// startRun starts a run of the turn after the step is committed.
func (p *Pool) start(t *turn, slot *agentpool.Slot) {
	r := agentpool.Run{
		ID: t.run(), Agent: t.Agent, Role: t.Role, Kind: t.Kind, Turn: t.ID, Monitor: t.Monitor, Window: t.Window,
		Profile: t.Profile, Provider: t.Provider, Prompt: t.prompt.text(), Images: t.prompt.Images,
		Guest: t.Guest, Lasting: t.Lasting, Slot: slot, Attempt: t.Attempt,
		Waited: time.Duration(int64(t.Started)-int64(cmp.Or(t.Since, t.Started))) * time.Millisecond,
	}
	goesOn := t.Attempt > 1 && t.Remembered
	switch {
	case t.Condensing != nil:
		p.condenseRun(t, &r)
	case t.Job != nil:
		p.jobRun(t, &r)
	case t.Lasting:
		r.From = p.threads[t.Agent].thread(goesOn)
	case t.Kind == wire.AgentTask:
		if parent := p.turns[t.Parent]; parent != nil {
			r.From, r.Fork = p.threads[parent.Agent].fork(), true
		}
	case t.Kind == wire.AgentWindow:
		r.From, r.Fork = p.threads[t.Beside].fork(), true
	}
	if goesOn {
		r.Continue, r.Prompt, r.Images, r.Done = true, "", nil, t.results()
	}
	p.step.Then(func() { p.runner.Start(r) })
}

// endedResults returns the results of ended tool calls that are not in the thread yet, by call
// id.
func (t *turn) results() map[string]providers.ToolResult {
	done := map[string]providers.ToolResult{}
	for _, c := range t.calls {
		if c.Ended {
			done[shortCall(c.ID)] = c.Result // the thread uses the short id
		}
	}
	return done
}

// recordOnTape appends a text of the turn to the tape. Tasks are not on the tape.
func (p *Pool) record(t *turn, by policies.Speaker, text string, row wire.RowID) {
	if text == "" || t.Kind == wire.AgentTask {
		return
	}
	p.step.Keep(p.tape.Append(Said{
		By: by, Text: text, Time: wire.Millis(p.step.Now().UnixMilli()), Monitor: t.Monitor, Window: t.Window, Row: row,
	})...)
}
