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
	// partial has the ts of the rows of texts that were sent and are not rows of the log yet, and unsent
	// the turns of agents whose texts have changed since they were sent.
	partial map[wire.AgentID]float64
	unsent  map[wire.AgentID]wire.MessageID

	texts map[wire.MessageID]*texts
	// oldest has the id of the oldest row of a monitor that the task knows, 0 if there are no older ones, and
	// read the number of rows that were added.
	oldest map[wire.MonitorID]wire.RowID
	read   map[wire.MonitorID]int

	subtasks map[wire.AgentID]*subtask
	// lastReturned is the subtask that returned last to a task.
	lastReturned map[string]string
	// focused is the task or subtask that a user of Roo would see.
	focused string

	endedUsage   totals                  // of turns that have ended
	runningUsage map[wire.AgentID]totals // of turns that run

	out []event // not taken yet
}

// subtask is a task that an agent delegated.
type subtask struct {
	id     string
	parent string // empty if unknown
	result string
}

// NewTask returns the task of a session in its present state. Before [Task.EmitState] and [Task.Replay] it gets the
// rows that [Task.NeedsRows] asks for.
func NewTask(id wire.SessionID, state wire.SessionState) *Task {
	t := &Task{
		id: string(id), focused: string(id), state: desktop.New(id), running: map[wire.AgentID]bool{}, partial: map[wire.AgentID]float64{},
		unsent: map[wire.AgentID]wire.MessageID{}, texts: map[wire.MessageID]*texts{}, oldest: map[wire.MonitorID]wire.RowID{}, read: map[wire.MonitorID]int{},
		subtasks: map[wire.AgentID]*subtask{}, lastReturned: map[string]string{}, runningUsage: map[wire.AgentID]totals{},
	}
	t.load(state)
	return t
}

// load replaces the state.
func (t *Task) load(state wire.SessionState) {
	t.state.Apply(wire.Event{Session: wire.SessionID(t.id), Data: state})
	clear(t.running)
	clear(t.runningUsage)
	for _, a := range t.state.Agents() {
		if a.Status == wire.AgentStatusIdle || isSubtask(a.Role) {
			continue
		}
		t.running[a.Role] = true
		if t.state.AgentText(a.Role) != "" {
			t.unsent[a.Role] = a.MessageID
		}
	}
	t.endedUsage = t.usageOfRows(nil)
	t.recordAll()
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

// EmitCreated says that the task was created, and that the client watches it.
func (t *Task) EmitCreated() {
	t.emit(eventTaskCreated, t.id)
	t.emit(eventTaskFocused, t.id)
}

// EmitUnfocused says that the client does not watch the task any more.
func (t *Task) EmitUnfocused() { t.emit(eventTaskUnfocused, t.focused) }

// EmitState sends the task as it is: its newest rows and what it does. A client that has seen a part of it
// gets the same rows again, with the same ts.
func (t *Task) EmitState() {
	t.EmitCreated()
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
		t.emitQueue(queue.Value)
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

// Restart continues with the present state, because the log no longer has what followed the last event. A new task
// in this state needs the older rows.
func (t *Task) Restart(state wire.SessionState, older []RowPage) {
	t.load(state)
	for _, p := range older {
		t.AddRows(p)
	}
	t.EmitState()
}

// Replay sends events of the log that the state has already, which the client missed. Of texts that grew
// meanwhile it gets the present version.
func (t *Task) Replay(missed []wire.Event) {
	t.resetCounts(missed)
	for _, e := range missed {
		if _, ok := e.Data.(wire.AgentResponse); !ok {
			t.translate(e.Data)
		}
	}
	t.Flush()
}

// resetCounts sets what is counted to the values before the missed events.
func (t *Task) resetCounts(missed []wire.Event) {
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
	t.endedUsage = t.usageOfRows(rows)
}

// Apply takes the next event of the log. Texts that grow are sent by [Task.Flush].
func (t *Task) Apply(e wire.Event) {
	t.state.Apply(e)
	switch data := e.Data.(type) {
	case wire.AgentResponse:
		t.applyResponse(data)
		return
	case wire.MessageUpdated:
		t.record(data.Message)
		if data.Message.Say == wire.SayUserFeedback {
			t.forgetOld()
		}
	case wire.HistoryRewound:
		t.recordRewind(data)
	}
	t.translate(e.Data)
}

// HasUnsentText reports whether [Task.Flush] has something to send.
func (t *Task) HasUnsentText() bool { return len(t.unsent) > 0 }

// Flush sends the texts of running turns that have grown.
func (t *Task) Flush() {
	for _, agent := range slices.Sorted(maps.Keys(t.unsent)) {
		t.emitPartialText(agent, t.unsent[agent], true)
	}
	clear(t.unsent)
}

func (t *Task) emit(name string, payload ...any) { t.out = append(t.out, event{name, payload}) }

// isSubtask reports whether an agent works on what another one delegated.
func isSubtask(agent wire.AgentID) bool {
	return strings.HasPrefix(string(agent), string(wire.AgentTask)+"-")
}

// taskID returns the id of the task that an event is about.
func (t *Task) taskID(ref wire.Task) string {
	if !isSubtask(ref.AgentID) {
		return t.id
	}
	s := t.subtasks[ref.AgentID]
	if s == nil || s.id != t.subtaskID(ref.TaskID) {
		s = &subtask{id: t.subtaskID(ref.TaskID)}
		t.subtasks[ref.AgentID] = s
	}
	return s.id
}

func (t *Task) subtaskID(id wire.TaskID) string { return t.id + "/" + string(id) }

// translate sends what an event means to clients.
func (t *Task) translate(data wire.ServerPayload) {
	switch data := data.(type) {
	case wire.MessageUpdated:
		t.emitRow(data.Message, data.Action)
	case wire.QueueUpdated:
		t.emitQueue(data.Messages)
	case wire.HistoryRewound:
		t.EmitCreated() // as Roo does: the task is opened again, with fewer rows
	case wire.ModeChanged:
		if data.Mode.ID != "" {
			t.emit(eventTaskModeSwitched, t.id, data.Mode.ID)
		}
	case wire.TaskModeSwitched:
		t.emit(eventTaskModeSwitched, t.taskID(data.Task), data.Mode)
	case wire.TaskInteractive:
		t.emit(eventTaskInteractive, t.taskID(data.Task))
	case wire.TaskResumable:
		t.emit(eventTaskResumable, t.taskID(data.Task))
	case wire.TaskIdle:
		t.emit(eventTaskIdle, t.taskID(data.Task))
	case wire.TaskActive:
		t.emit(eventTaskActive, t.taskID(data.Task))
	case wire.TaskAskResponded:
		t.emit(eventTaskAskResponded, t.taskID(data.Task))
	case wire.TaskToolFailed:
		t.emit(eventTaskToolFailed, t.taskID(data.Task), toolName(data.Tool), data.Error)
	case wire.TaskTokenUsageUpdated:
		t.recordUsage(data.Task, data.TokenUsage, data.ToolUsage)
		t.emitUsage(eventTaskUsage, data.Task)
	default:
		t.translateLifecycle(data)
	}
}

// translateLifecycle sends the begin and the end of turns and of subtasks.
func (t *Task) translateLifecycle(data wire.ServerPayload) {
	switch data := data.(type) {
	case wire.TaskCreated:
		if isSubtask(data.AgentID) {
			t.emit(eventTaskCreated, t.taskID(data.Task))
		}
	case wire.TaskStarted:
		t.turnStarted(data.Task)
	case wire.TaskCompleted:
		t.recordUsage(data.Task, data.TokenUsage, data.ToolUsage)
		t.turnEnded(data.Task, true)
	case wire.TaskAborted:
		t.turnEnded(data.Task, false)
	case wire.TaskSpawned:
		t.subtaskSpawned(t.taskID(data.Task), t.subtaskID(data.ChildTaskID))
	case wire.TaskPaused:
		t.emit(eventTaskPaused, t.taskID(data.Task))
	case wire.TaskUnpaused:
		t.parentUnpaused(t.taskID(data.Task))
	}
}

func (t *Task) turnStarted(ref wire.Task) {
	if isSubtask(ref.AgentID) {
		t.emit(eventTaskStarted, t.taskID(ref))
		return
	}
	if t.running[ref.AgentID] = true; len(t.running) == 1 {
		t.emit(eventTaskStarted, t.id)
	}
}

// turnEnded sends the end of a turn. The task of the session ends with the last of its turns.
func (t *Task) turnEnded(ref wire.Task, completed bool) {
	id := t.taskID(ref)
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
	t.addEndedUsage(ref)
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
	delete(t.runningUsage, agent)
	if s.parent != "" {
		t.lastReturned[s.parent] = s.id
		t.emit(eventDelegationDone, s.parent, s.id, s.result)
	}
}

func (t *Task) subtaskSpawned(parent, child string) {
	for _, s := range t.subtasks {
		if s.id == child {
			s.parent = parent
		}
	}
	t.emit(eventTaskSpawned, parent, child)
	t.emit(eventDelegated, parent, child)
	if t.focused == parent {
		t.setFocus(child)
	}
}

func (t *Task) parentUnpaused(parent string) {
	t.emit(eventTaskUnpaused, parent)
	if child := t.lastReturned[parent]; child != "" {
		delete(t.lastReturned, parent)
		t.emit(eventDelegationResumed, parent, child)
	}
	t.setFocus(parent)
}

// setFocus makes a task the one that the user would see.
func (t *Task) setFocus(id string) {
	if t.focused != id {
		t.emit(eventTaskUnfocused, t.focused)
		t.focused = id
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

func (t *Task) emitQueue(all []wire.QueuedMessage) {
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
