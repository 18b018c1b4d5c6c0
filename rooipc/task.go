package rooipc

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// Task translates the log of a session into events of a task. Make it with [NewTask]; after each other
// call send the frames of [Task.Take].
type Task struct {
	id    string
	state *desktop.State

	// running are the agents of the session's own turns. The task is active while there is one.
	running map[wire.AgentID]bool
	// growing are the rows of texts that were sent and are not rows of the log yet, and grown the agents
	// whose texts have changed since they were sent.
	growing map[wire.AgentID]float64
	grown   map[wire.AgentID]wire.MessageID

	subtasks map[wire.AgentID]*subtask
	// returned is the subtask of a task that returned last.
	returned map[string]string
	focus    string

	// spent is the usage of ended turns, and usage that of running ones.
	spent totals
	usage map[wire.AgentID]totals

	out []event
}

// subtask is a task that an agent delegated.
type subtask struct {
	id     string
	parent string // empty if unknown
	result string
}

// NewTask returns the task of a session in its present state.
func NewTask(id wire.SessionID, state wire.SessionState) *Task {
	t := &Task{
		id: string(id), focus: string(id), state: desktop.New(id), running: map[wire.AgentID]bool{}, growing: map[wire.AgentID]float64{},
		grown: map[wire.AgentID]wire.MessageID{}, subtasks: map[wire.AgentID]*subtask{}, returned: map[string]string{}, usage: map[wire.AgentID]totals{},
	}
	t.load(state)
	return t
}

// load replaces the state.
func (t *Task) load(state wire.SessionState) {
	t.state.Apply(wire.Event{Session: wire.SessionID(t.id), Data: state})
	clear(t.running)
	clear(t.usage)
	for _, a := range t.state.Agents() {
		if a.Status == wire.AgentStatusIdle || isSubtask(a.Role) {
			continue
		}
		t.running[a.Role] = true
		if t.state.AgentText(a.Role) != "" {
			t.grown[a.Role] = a.MessageID
		}
	}
	t.spent = t.spentIn(nil)
}

// ID returns the id of the task.
func (t *Task) ID() string { return t.id }

// Take returns the frames since the last call. at is the position of the log that they complete.
func (t *Task) Take(at wire.Position) [][]byte {
	frames := make([][]byte, len(t.out))
	for i, e := range t.out {
		seq := ""
		if i == len(t.out)-1 && !at.IsZero() {
			seq = at.String()
		}
		frames[i] = frameOfEvent(e, seq)
	}
	t.out = nil
	return frames
}

// Created says that the task was created, and that the client watches it.
func (t *Task) Created() {
	t.emit(eventTaskCreated, t.id)
	t.emit(eventTaskFocused, t.id)
}

// Left says that the client does not watch the task any more.
func (t *Task) Left() { t.emit(eventTaskUnfocused, t.focus) }

// Opened sends the task as it is: its newest rows and what it does. A client that has seen a part of it
// gets the same rows again, with the same ts.
func (t *Task) Opened() {
	t.Created()
	var open wire.Ask
	for _, row := range t.rows() {
		t.emitRow(row, wire.RowCreated)
		if row.Type == wire.RowAsk && !row.IsAnswered {
			open = row.Ask
		}
	}
	if mode := t.state.Mode().ID; mode != "" {
		t.emit(eventTaskModeSwitched, t.id, mode)
	}
	for _, queue := range t.state.Snapshot().Queues {
		t.queued(queue.Value)
	}
	switch {
	case open != "" && open.Class() == wire.AskInteractive:
		t.emit(eventTaskInteractive, t.id)
	case open != "" && open.Class() == wire.AskResumable:
		t.emit(eventTaskResumable, t.id)
	case len(t.running) > 0:
		t.emit(eventTaskStarted, t.id)
	default:
		t.emit(eventTaskIdle, t.id)
	}
	t.Flush()
}

// Restart continues with the present state, because the log no longer has what followed the last event.
func (t *Task) Restart(state wire.SessionState) {
	t.load(state)
	t.Opened()
}

// Replay sends events of the log that the state has already, which the client missed. Of texts that grew
// meanwhile it gets the present version.
func (t *Task) Replay(missed []wire.Event) {
	t.unwind(missed)
	for _, e := range missed {
		if _, ok := e.Data.(wire.AgentResponse); !ok {
			t.translate(e.Data)
		}
	}
	t.Flush()
}

// unwind sets what is counted to the values before the missed events.
func (t *Task) unwind(missed []wire.Event) {
	rows := map[wire.Millis]bool{}
	for _, e := range slices.Backward(missed) {
		switch data := e.Data.(type) {
		case wire.TaskStarted:
			delete(t.running, data.AgentID)
		case wire.TaskCompleted:
			t.running[data.AgentID] = !isSubtask(data.AgentID)
		case wire.TaskAborted:
			t.running[data.AgentID] = !isSubtask(data.AgentID)
		case wire.MessageUpdated:
			rows[data.Message.TS] = rows[data.Message.TS] || data.Action == wire.RowCreated
		}
	}
	maps.DeleteFunc(t.running, func(_ wire.AgentID, own bool) bool { return !own })
	t.spent = t.spentIn(rows)
}

// Apply takes the next event of the log. Texts that grow are sent by [Task.Flush].
func (t *Task) Apply(e wire.Event) {
	t.state.Apply(e)
	if data, ok := e.Data.(wire.AgentResponse); ok {
		t.response(data)
		return
	}
	t.translate(e.Data)
}

// Grown reports whether [Task.Flush] has something to send.
func (t *Task) Grown() bool { return len(t.grown) > 0 }

// Flush sends the texts of running turns that have grown.
func (t *Task) Flush() {
	for _, agent := range slices.Sorted(maps.Keys(t.grown)) {
		t.sendGrowing(agent, t.grown[agent], true)
	}
	clear(t.grown)
}

func (t *Task) emit(name string, payload ...any) { t.out = append(t.out, event{name, payload}) }

// isSubtask reports whether an agent works on what another one delegated.
func isSubtask(agent wire.AgentID) bool {
	return strings.HasPrefix(string(agent), string(wire.AgentTask)+"-")
}

// idOf returns the id of the task that an event is about.
func (t *Task) idOf(ref wire.Task) string {
	if !isSubtask(ref.AgentID) {
		return t.id
	}
	s := t.subtasks[ref.AgentID]
	if s == nil || s.id != t.childID(ref.TaskID) {
		s = &subtask{id: t.childID(ref.TaskID)}
		t.subtasks[ref.AgentID] = s
	}
	return s.id
}

func (t *Task) childID(id wire.TaskID) string { return t.id + "/" + string(id) }

// translate sends what an event means to clients.
func (t *Task) translate(data wire.ServerPayload) {
	switch data := data.(type) {
	case wire.MessageUpdated:
		t.emitRow(data.Message, data.Action)
	case wire.QueueUpdated:
		t.queued(data.Messages)
	case wire.HistoryRewound:
		t.Created() // as Roo does: the task is opened again, with fewer rows
	case wire.ModeChanged:
		if data.Mode.ID != "" {
			t.emit(eventTaskModeSwitched, t.id, data.Mode.ID)
		}
	case wire.TaskModeSwitched:
		t.emit(eventTaskModeSwitched, t.idOf(data.Task), data.Mode)
	case wire.TaskInteractive:
		t.emit(eventTaskInteractive, t.idOf(data.Task))
	case wire.TaskResumable:
		t.emit(eventTaskResumable, t.idOf(data.Task))
	case wire.TaskIdle:
		t.emit(eventTaskIdle, t.idOf(data.Task))
	case wire.TaskActive:
		t.emit(eventTaskActive, t.idOf(data.Task))
	case wire.TaskAskResponded:
		t.emit(eventTaskAskResponded, t.idOf(data.Task))
	case wire.TaskToolFailed:
		t.emit(eventTaskToolFailed, t.idOf(data.Task), toolName(data.Tool), data.Error)
	case wire.TaskTokenUsageUpdated:
		t.recordUsage(data.Task, data.TokenUsage, data.ToolUsage)
		t.emitUsage(eventTaskUsage, data.Task)
	default:
		t.lifecycle(data)
	}
}

// lifecycle sends the begin and the end of turns and of subtasks.
func (t *Task) lifecycle(data wire.ServerPayload) {
	switch data := data.(type) {
	case wire.TaskCreated:
		if isSubtask(data.AgentID) {
			t.emit(eventTaskCreated, t.idOf(data.Task))
		}
	case wire.TaskStarted:
		t.started(data.Task)
	case wire.TaskCompleted:
		t.recordUsage(data.Task, data.TokenUsage, data.ToolUsage)
		t.ended(data.Task, true)
	case wire.TaskAborted:
		t.ended(data.Task, false)
	case wire.TaskSpawned:
		t.spawned(t.idOf(data.Task), t.childID(data.ChildTaskID))
	case wire.TaskPaused:
		t.emit(eventTaskPaused, t.idOf(data.Task))
	case wire.TaskUnpaused:
		t.unpaused(t.idOf(data.Task))
	}
}

func (t *Task) started(ref wire.Task) {
	if isSubtask(ref.AgentID) {
		t.emit(eventTaskStarted, t.idOf(ref))
		return
	}
	if t.running[ref.AgentID] = true; len(t.running) == 1 {
		t.emit(eventTaskStarted, t.id)
	}
}

// ended sends the end of a turn. The task of the session ends with the last of its turns.
func (t *Task) ended(ref wire.Task, completed bool) {
	id := t.idOf(ref)
	if isSubtask(ref.AgentID) {
		t.emitEnd(ref, id, completed)
		t.returnSubtask(ref.AgentID)
		return
	}
	delete(t.running, ref.AgentID)
	if len(t.running) == 0 {
		t.setFocus(t.id)
		t.emitEnd(ref, id, completed)
		t.emit(eventTaskIdle, id)
	}
	t.settleUsage(ref)
}

func (t *Task) emitEnd(ref wire.Task, id string, completed bool) {
	if !completed {
		t.emit(eventTaskAborted, id)
		return
	}
	t.emitUsage(eventTaskUsage, ref)
	tokens, tools := t.usageOf(ref)
	t.emit(eventTaskCompleted, id, tokens, tools, map[string]bool{"isSubtask": isSubtask(ref.AgentID)})
}

// returnSubtask sends the result of a subtask to its parent.
func (t *Task) returnSubtask(agent wire.AgentID) {
	s := t.subtasks[agent]
	delete(t.subtasks, agent)
	delete(t.usage, agent)
	if s.parent != "" {
		t.returned[s.parent] = s.id
		t.emit(eventDelegationDone, s.parent, s.id, s.result)
	}
}

func (t *Task) spawned(parent, child string) {
	for _, s := range t.subtasks {
		if s.id == child {
			s.parent = parent
		}
	}
	t.emit(eventTaskSpawned, parent, child)
	t.emit(eventDelegated, parent, child)
	if t.focus == parent {
		t.setFocus(child)
	}
}

func (t *Task) unpaused(parent string) {
	t.emit(eventTaskUnpaused, parent)
	if child := t.returned[parent]; child != "" {
		delete(t.returned, parent)
		t.emit(eventDelegationResumed, parent, child)
	}
	t.setFocus(parent)
}

// setFocus makes a task the one that the user would see.
func (t *Task) setFocus(id string) {
	if t.focus != id {
		t.emit(eventTaskUnfocused, t.focus)
		t.focus = id
		t.emit(eventTaskFocused, id)
	}
}

// queuedMessage is a message that waits.
type queuedMessage struct {
	Timestamp wire.Millis    `json:"timestamp"`
	ID        wire.MessageID `json:"id"`
	Text      string         `json:"text"`
	Images    []string       `json:"images,omitempty"`
}

func (t *Task) queued(all []wire.QueuedMessage) {
	list := []queuedMessage{}
	for _, q := range all {
		list = append(list, queuedMessage{q.Timestamp, q.ID, q.Text, q.Images})
	}
	t.emit(eventQueue, t.id, list)
}

// rows returns the newest rows of all monitors, oldest first.
func (t *Task) rows() []wire.UIRow {
	var all []wire.UIRow
	for _, monitor := range t.state.Rows().Monitors() {
		all = append(all, t.state.Rows().On(monitor)...)
	}
	slices.SortFunc(all, func(a, b wire.UIRow) int { return cmp.Compare(a.TS, b.TS) })
	return all
}
