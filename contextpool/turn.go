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

// turnState is how far a turn is.
type turnState string

const (
	turnAccepted turnState = "accepted" // it waits for a slot and a provider
	turnRunning  turnState = "running"
	turnWaiting  turnState = "waiting" // it has no run until its tasks have ended
)

// turn is a turn under way.
type turn struct {
	// Number orders turns and names them. Attempt counts its runs from 1, Cut how
	// often it was cut off since a message joined it last.
	Number  uint64         `json:"number"`
	Attempt int            `json:"attempt"`
	Cut     int            `json:"cut,omitempty"`
	State   turnState      `json:"state"`
	Role    wire.AgentID   `json:"role"`
	Kind    wire.AgentKind `json:"kind"`
	// ID is the message that began it. A task has that of its parent.
	ID      wire.MessageID `json:"id"`
	Monitor wire.MonitorID `json:"monitor"`
	Window  wire.WindowID  `json:"window,omitempty"`
	// Agent is whose conversation it is: that of an agent that lasts, or of one
	// that is there for this turn alone.
	Agent string `json:"agent"`
	// Beside is the agent that lasts of a turn that runs beside its others.
	Beside   string `json:"beside,omitempty"`
	Lasting  bool   `json:"lasting,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Provider string `json:"provider"`
	// Guest says that somebody else than the owner of the session began it.
	Guest bool `json:"guest,omitempty"`
	// Begun says that it was told that it runs.
	Begun bool `json:"begun,omitempty"`
	// Tools counts its calls that have ended, by the name of the tool.
	Tools map[string]wire.ToolUses `json:"tools,omitempty"`
	// Taken are the messages it answers, Row is the row of the first, and Heard are
	// those of the ones that its conversation does not have yet.
	Taken []wire.MessageID `json:"taken,omitempty"`
	Row   wire.RowID       `json:"row,omitempty"`
	Heard []wire.RowID     `json:"heard,omitempty"`
	// Parent is the key of the turn that a task is for, Tasks how many it had.
	Parent string `json:"parent,omitempty"`
	Tasks  int    `json:"tasks,omitempty"`
	// Stopping is why it is to end, if it is. Doomed says that nobody needs its
	// agent afterwards.
	Stopping string `json:"stopping,omitempty"`
	Doomed   bool   `json:"doomed,omitempty"`
	// Remembered says that the conversation has something of this turn, which
	// includes the first Kept units of its text.
	Remembered bool `json:"remembered,omitempty"`
	Kept       int  `json:"kept,omitempty"`
	// Told is how many units of its text have rows, which are Parts.
	Told  int `json:"told,omitempty"`
	Parts int `json:"parts,omitempty"`
	// Called counts its tool calls and Done its actions, of which not all may be
	// kept.
	Called  int             `json:"called,omitempty"`
	Done    int             `json:"done,omitempty"`
	Usage   providers.Usage `json:"usage,omitzero"`
	Started wire.Millis     `json:"started"`
	// Since is when its message came, if it had to wait.
	Since wire.Millis `json:"since,omitempty"`
	// Context is how many tokens its newest call of the model had, and Shrunk how
	// often its conversation was made shorter because that was too much.
	Context int `json:"context,omitempty"`
	Shrunk  int `json:"shrunk,omitempty"`
	// Condensing is there if the turn sums up and answers nobody, Job if it works
	// for a plan.
	Condensing *condensing   `json:"condensing,omitempty"`
	Job        *workflow.Job `json:"job,omitempty"`
	// Thoughts is the row of what it thought after the first Mused units of its
	// thinking, if there is one: those it will not think again.
	Thoughts wire.Millis `json:"thoughts,omitempty"`
	Mused    int         `json:"mused,omitempty"`

	// threads are those of the pool.
	threads map[string]*thread
	// rewound says that it ends because of a rewind, and undone that what began it
	// goes, too.
	rewound, undone bool
	// using counts the tools that it waits for, and acted says that it has used one
	// since this owner has it.
	using int
	acted bool
	// began says when tools began that have not ended.
	began map[string]time.Time

	// newest is how many tokens its newest call of the model had, also if it does
	// not last, and usageTold when it was told what the turn has cost so far.
	newest    int
	usageTold time.Time

	prompt  prompt
	calls   []*call
	actions []wire.Action
	bytes   int // of the actions

	// text is what it said so far, and thought how many units it thought. They
	// are on the desktop, from where a new owner has them.
	text    strings.Builder
	said    int // units
	thought int
	// thoughts is the beginning of what it thought after Mused, and unshown says
	// that its row has not all of it. mulled says that the row was written since
	// the turn began, went on or mused: once is enough while it speaks.
	thoughts strings.Builder
	unshown  bool
	mulled   bool
	done     func(providers.ToolResult) // of a task
	// failure is what kind of trouble its run had, and unsure why nobody knows how
	// far it came, for the plan it works for.
	failure providers.Class
	unsure  string
}

// prompt is what a turn began with. It does not change.
type prompt struct {
	// Content is what the user said, which may be long; Before and After are what
	// the agent is told around it.
	Content string            `json:"content,omitempty"`
	Before  string            `json:"before,omitempty"`
	After   string            `json:"after,omitempty"`
	Images  []providers.Image `json:"images,omitempty"`
	// Windows are those that were open.
	Windows []policies.WindowSight `json:"windows,omitempty"`
}

// set takes what the agent is told, the content in it.
func (p *prompt) set(text string) {
	p.Before, p.After, _ = strings.Cut(text, policies.Content(p.Content))
}

// text is what the agent is told.
func (p *prompt) text() string { return p.Before + policies.Content(p.Content) + p.After }

// call is a tool call whose result the conversation does not have yet.
type call struct {
	Number int    `json:"number"`
	ID     string `json:"id"`
	Tool   string `json:"tool"`
	// Input is what its row has of it, while the call is open.
	Input []byte `json:"input,omitempty"`
	// Child is the key of the task that the call waits for, if it does. It ends
	// with the task, in the same step.
	Child  string               `json:"child,omitempty"`
	Ended  bool                 `json:"ended,omitempty"`
	Result providers.ToolResult `json:"result,omitzero"`
}

func (t *turn) key() string { return "t" + strconv.FormatUint(t.Number, 10) }
func (t *turn) run() string { return t.key() + "." + strconv.Itoa(t.Attempt) }

// begun notes when a tool began.
func (t *turn) begun(id string, now time.Time) {
	if t.began == nil {
		t.began = map[string]time.Time{}
	}
	t.began[id] = now
}

func (t *turn) order(o *turn) int { return cmp.Compare(t.Number, o.Number) }

// message is the one that events of the turn are about. Those of a task are not
// about a message, which has one end alone, and nobody sent one to sum up.
func (t *turn) message() wire.MessageID {
	if t.Kind == wire.AgentTask || t.Condensing != nil {
		return ""
	}
	return t.ID
}

// join adds a message to those that the turn answers. How often the turn may be cut
// off counts from then on, because the message has not been cut off yet. The caller
// keeps the turn.
func (t *turn) join(id wire.MessageID) {
	t.Taken, t.Cut = append(t.Taken, id), 0
}

// joined are the messages that the turn took while it ran.
func (t *turn) joined() []wire.MessageID {
	return slices.DeleteFunc(slices.Clone(t.Taken), func(id wire.MessageID) bool { return id == t.ID })
}

// trigger is what made the turn.
func (t *turn) trigger() policies.Trigger {
	g := policies.Trigger{Type: policies.TriggerMain, Text: t.prompt.Content, Windows: t.prompt.Windows}
	if t.Kind == wire.AgentWindow {
		g.Type, g.Target = policies.TriggerWindow, t.Window
	}
	return g
}

// begin starts a turn for a message to a main agent: its own, or with a slot one
// of an agent made for it.
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

// reminder is what was said before, for a main agent whose conversation is lost:
// its backend kept it, and another one is asked now.
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

// How many messages a reminder has, and how long it is.
const (
	remindedOf    = 20
	remindedBytes = 32 << 10
)

// enter makes a turn one that is under way, under a role that no other has.
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
		t.Agent = "once:" + string(t.Role) // unlike that of any agent that lasts
	}
	p.turns[t.key()] = t
	if t.Kind == wire.AgentMain || t.Kind == wire.AgentEphemeral {
		p.budget.TryAcquire(t.Monitor, t.key())
	}
}

// see notes what the message of a turn says and what its agent finds.
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

// launch keeps a turn that has all it needs and starts it.
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

// start gives a turn to the session runner.
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

// results are those of the tool calls that the conversation has no results of.
func (t *turn) results() map[string]providers.ToolResult {
	done := map[string]providers.ToolResult{}
	for _, c := range t.calls {
		if c.Ended {
			done[shortCall(c.ID)] = c.Result // as the conversation has it
		}
	}
	return done
}

// record puts something that was said in a turn on the tape.
func (p *Pool) record(t *turn, by policies.Speaker, text string, row wire.RowID) {
	if text == "" || t.Kind == wire.AgentTask {
		return
	}
	p.step.Keep(p.tape.Append(Said{
		By: by, Text: text, Time: wire.Millis(p.step.Now().UnixMilli()), Monitor: t.Monitor, Window: t.Window, Row: row,
	})...)
}
