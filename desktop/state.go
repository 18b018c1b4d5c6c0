package desktop

import (
	"cmp"
	"math"
	"reflect"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// State is the desktop at one position of its log. Create it with [New] or [Restore].
//
// Each part holds tables of its own and knows no other part; State passes each event to the
// parts it concerns.
type State struct {
	session wire.SessionID
	at      wire.Position
	info    sessionInfo
	surface surface
	agents  agents
	rows    Rows
	plan    plan

	unwritten unwritten
}

// New returns the desktop of a session with an empty log: monitor-0 and nothing else.
func New(session wire.SessionID) *State {
	s := newState(session)
	s.addFirstMonitor()
	return s
}

// newState returns a state with empty tables.
func newState(session wire.SessionID) *State {
	c := theSchema()
	s := &State{
		session: session,
		info:    sessionInfo{about: tableOf(&c.about), presence: tableOf(&c.presence), approval: tableOf(&c.approval), mode: tableOf(&c.mode), instructions: tableOf(&c.instructions)},
		surface: surface{
			monitors: monitors{all: tableOf(&c.monitors), queues: tableOf(&c.queues)},
			windows:  windows{all: tableOf(&c.windows), contents: tableOf(&c.contents), pieces: tableOf(&c.pieces)},
			notices: Notices{
				dialogs: tableOf(&c.dialogs), prompts: tableOf(&c.prompts),
				notifications: tableOf(&c.notifications), toasts: tableOf(&c.toasts), toastsDue: never,
			},
			icons: icons{badges: tableOf(&c.badges), shortcuts: tableOf(&c.shortcuts)},
		},
		agents: agents{all: tableOf(&c.agents), texts: texts{pieces: tableOf(&c.texts)}},
		rows:   Rows{all: tableOf(&c.rows)},
		plan: plan{
			current: tableOf(&c.plan), layer: tableOf(&c.layer), todos: tableOf(&c.todos), requests: tableOf(&c.requests),
		},
	}
	for i, t := range s.tables() {
		t.join(tableMark{&s.unwritten, 1 << i})
	}
	return s
}

// tables returns the tables of all parts, in the order in which they are written.
func (s *State) tables() [23]anyTable {
	sf := &s.surface
	return [...]anyTable{
		&s.info.about, &s.info.presence, &s.info.approval, &s.info.mode, &s.info.instructions, &sf.monitors.all, &sf.windows.all, &sf.windows.contents, &sf.windows.pieces,
		&sf.notices.dialogs, &sf.notices.prompts, &sf.notices.notifications, &sf.notices.toasts, &sf.icons.badges, &sf.icons.shortcuts,
		&s.agents.all, &s.agents.texts.pieces, &sf.monitors.queues, &s.rows.all,
		&s.plan.current, &s.plan.layer, &s.plan.todos, &s.plan.requests,
	}
}

// addFirstMonitor creates monitor-0 if it does not exist. That is no change to write: a
// restored empty state has it as well.
func (s *State) addFirstMonitor() {
	s.surface.monitors.addFirst()
	s.surface.monitors.all.clearChanges()
}

// Session returns the session's id.
func (s *State) Session() wire.SessionID { return s.session }

// At returns the position of the newest applied event.
func (s *State) At() wire.Position { return s.at }

// Apply folds an event into the state. Events must come in the order of the log; one that
// is not newer than [State.At] is ignored. A session_state in mode snapshot replaces
// everything: one in the log, or one without a position, which is the first event of a
// connection and may also go back. Types that do not concern the desktop only advance the
// position.
//
// The state and its snapshots share the payload, so it must not be modified afterwards.
func (s *State) Apply(e wire.Event) {
	if _, is := e.Data.(wire.SessionState); is && s.applySnapshot(e) {
		return
	}
	if e.At.Compare(s.at) <= 0 {
		return
	}
	s.at = e.At
	if wire.AddresseeOf(e.Data) != "" {
		return // other connections do not receive it, so not even its time may have an effect
	}
	now := millis(e.Time)
	s.applyPayload(e.Data, now)
	if notices := &s.surface.notices; now >= notices.toastsDue {
		notices.pruneToasts(now)
	}
}

// applySnapshot applies an event if it is a snapshot.
func (s *State) applySnapshot(e wire.Event) bool {
	p, is := e.Data.(wire.SessionState)
	if !is || p.Mode != wire.StateSnapshot {
		return false
	}
	switch greeting := e.At.IsZero(); {
	case greeting:
		s.load(&p)
		s.at = p.LastMessageID
	case e.At.Compare(s.at) > 0:
		s.load(&p)
		s.at = e.At
	}
	return true
}

// applyPayload passes the payload of an event to the parts that it concerns.
func (s *State) applyPayload(data wire.ServerPayload, now wire.Millis) {
	switch p := data.(type) {
	case wire.Actions:
		in := actionContext{monitor: cmp.Or(p.MonitorID, firstMonitor), agent: p.AgentID, message: p.MessageID, now: now}
		for _, a := range p.Actions {
			s.surface.applyAction(in, a)
		}
	case wire.MonitorStatus:
		s.surface.setMonitor(p)
	case wire.ApprovalRequest:
		s.surface.openDialog(p, now)
	case wire.DialogClosed:
		s.surface.notices.dialogs.drop(p.DialogID)
	case wire.PromptClosed:
		s.surface.notices.prompts.drop(p.PromptID)
	case wire.Presence:
		s.info.presence.put(only{}, p)
	case wire.OwnerChanged:
		s.info.edit().Owner = p.Replica
	case wire.SessionRenamed:
		s.info.edit().Title = p.Title
	case wire.ProviderChanged:
		s.info.edit().Provider = p.Provider
	case wire.AutoApprovalChanged:
		s.info.setApproval(p)
	case wire.ModeChanged:
		s.info.setMode(p.Mode)
	case wire.InstructionsChanged:
		s.info.setInstructions(p.Instructions)
	case wire.MessageAccepted:
		if !p.Duplicate {
			s.surface.monitors.dequeue(p.MessageID)
			s.agents.accept(p, now)
		}
	case wire.MessageQueued:
		s.surface.monitors.enqueue(p, now)
	case wire.MessageRejected:
		s.surface.monitors.dequeue(p.MessageID)
	case wire.QueueUpdated:
		s.surface.monitors.setQueue(p)
	case wire.AgentThinking:
		s.agents.applyThinking(p, now)
	case wire.AgentResponse:
		s.agents.applyResponse(p, now)
	case wire.ToolProgress:
		s.agents.setTool(p, now)
	case wire.WindowAgentStatus:
		s.agents.setWindowAgent(p, now)
	case wire.TurnInterrupted:
		s.agents.end(p.AgentID)
	case wire.MessageUpdated:
		s.setRow(p)
	case wire.HistoryRewound:
		s.rows.rewind(p)
	default:
		if !s.surface.windows.applyNotebook(data, now) {
			s.plan.apply(data, now)
		}
	}
}

// setRow stores a new or changed row.
func (s *State) setRow(p wire.MessageUpdated) {
	row := p.Message
	row.MonitorID = cmp.Or(row.MonitorID, p.MonitorID)
	row.AgentID = cmp.Or(row.AgentID, p.AgentID)
	row.MessageID = cmp.Or(row.MessageID, p.MessageID)
	s.info.countRow(&row)
	s.rows.put(row)
}

// never is later than every time.
const never wire.Millis = math.MaxInt64

// millis converts a time to milliseconds.
func millis(t time.Time) wire.Millis { return wire.Millis(t.UnixMilli()) }

// plain returns the value that v points to if v is a pointer in an interface; both encode
// alike.
func plain[T any](v T) T {
	if value, is := pointedTo(v); is {
		return value
	}
	return v
}

// pointedTo returns the value that an interface holds a pointer to, if it does.
func pointedTo[T any](v T) (value T, is bool) {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return value, false
	}
	return reflect.TypeAssert[T](p.Elem())
}
