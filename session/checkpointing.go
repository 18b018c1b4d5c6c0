package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// Checkpoints saves and restores the files of sessions. The methods block.
type Checkpoints interface {
	// HasFiles reports whether a session has files or a workspace, or had files when a checkpoint was
	// saved.
	HasFiles(wire.SessionID) bool
	// Save saves a checkpoint of the files with the windows. Without a change since the last one it saves nothing.
	Save(ctx context.Context, id wire.SessionID, note checkpoints.Note, windows []byte) (checkpoints.Saved, error)
	// Restore brings the files to the state of a checkpoint, after it has saved the present one. The result
	// names that safety checkpoint also beside an error, which may leave a part of the changes.
	Restore(ctx context.Context, id wire.SessionID, hash string, note checkpoints.Note, windows []byte) (checkpoints.Restored, error)
	// Windows returns the windows that a checkpoint holds.
	Windows(ctx context.Context, id wire.SessionID, hash string) ([]byte, error)
}

const (
	checkpointsTable = "checkpoints"
	// checkpointStatus is the field of [checkpointState], and the fields of marks begin with
	// checkpointMarks.
	checkpointStatus = "status"
	checkpointMarks  = "mark."
	// maxMarks bounds the checkpoints that a session knows. The oldest are dropped.
	maxMarks = 500
	// maxKnownMessages bounds the messages and turns that are kept for the tools of turns.
	maxKnownMessages = 256
)

// Reasons of checkpoints.
const (
	saveForMessage = "message"
	saveForTool    = "tool"
	saveForRestore = "restore"
)

// checkpointMark is a checkpoint of the session. TS is the row from which on it holds, and Seq orders
// the marks.
type checkpointMark struct {
	Hash string      `json:"h"`
	TS   wire.Millis `json:"t"`
	Seq  int         `json:"n"`
}

// checkpointOp is a save or a restore that has begun.
type checkpointOp struct {
	ID      string            `json:"id"`
	Reason  string            `json:"reason"`
	Monitor wire.MonitorID    `json:"monitor,omitempty"`
	Message wire.MessageID    `json:"message,omitempty"`
	TS      wire.Millis       `json:"ts,omitempty"`
	Hash    string            `json:"hash,omitempty"` // of the checkpoint to restore
	By      wire.ConnectionID `json:"by,omitempty"`
	// Answers says that the end of the restore answers Message.
	Answers bool `json:"answers,omitempty"`
	// Then is a message that is submitted after the restore.
	Then *checkpointMessage `json:"then,omitempty"`
	// Late says that a tool did not wait for the save any longer, so that the checkpoint may have changes of that tool.
	Late bool `json:"late,omitempty"`
	// empty says that a session without files is saved too. windows are those of the moment of the
	// request, or nil for those of the begin.
	empty   bool
	windows *checkpointWindows
}

// checkpointMessage is the stored form of a message that waits for a restore.
type checkpointMessage struct {
	ID      wire.MessageID    `json:"id"`
	By      wire.ConnectionID `json:"by,omitempty"`
	Monitor wire.MonitorID    `json:"monitor"`
	Window  wire.WindowID     `json:"window,omitempty"`
	User    string            `json:"user,omitempty"`
	Guest   bool              `json:"guest,omitempty"`
	Text    string            `json:"text"`
	Images  []string          `json:"images,omitempty"`
}

// checkpointState is what is stored of the checkpoints of a session, beside the marks.
type checkpointState struct {
	// Off is why there are no checkpoints; empty while there are.
	Off string `json:"off,omitempty"`
	// Save and Restore have begun and not ended.
	Save    *checkpointOp `json:"save,omitempty"`
	Restore *checkpointOp `json:"restore,omitempty"`
}

// checkpointing saves and restores the files of a session beside its goroutine, one operation at a
// time. Each begins and ends with a commit. An operation that began at a previous owner is done again:
// it recognises what it did before. It belongs to the goroutine of the session.
type checkpointing struct {
	w    *stepWriter
	port port
	repo Checkpoints // nil if there are no checkpoints
	// desktops says that sessions without files have checkpoints of their windows.
	desktops bool
	// toolWait is how long a tool waits for the checkpoint before it.
	toolWait time.Duration
	log      *slog.Logger
	// stopped is done when the operation of this owner has ended.
	stopped sync.WaitGroup

	state checkpointState
	marks []checkpointMark // ordered by Seq
	// running says that an operation runs, wanted is the save to begin after it, and waiters are closed
	// when there is nothing to do.
	running bool
	saving  *checkpointOp // the save that runs; nil while a restore or nothing runs
	wanted  *checkpointOp
	waiters []chan struct{}
	// failed says that the last save failed, so that the next failure adds no row.
	failed bool
	// confirmed is the row up to which the last checkpoint is known to hold. messages are the rows at
	// which messages arrived, lastMessage is the newest of them, and saved are the turns whose first
	// writing tool has run.
	confirmed   wire.Millis
	lastMessage wire.Millis
	messages    map[wire.MessageID]wire.Millis
	saved       map[wire.MessageID]bool
}

func (c *checkpointing) restore(table map[string][]byte) error {
	c.messages, c.saved = map[wire.MessageID]wire.Millis{}, map[wire.MessageID]bool{}
	for field, data := range table {
		if field == checkpointStatus {
			if err := json.Unmarshal(data, &c.state); err != nil {
				return fmt.Errorf("checkpoints: %w", err)
			}
			continue
		}
		var m checkpointMark
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("checkpoint %q: %w", field, err)
		}
		c.marks = append(c.marks, m)
	}
	slices.SortFunc(c.marks, func(a, b checkpointMark) int { return a.Seq - b.Seq })
	return nil
}

// all returns the ops that store everything.
func (c *checkpointing) all() []store.Op {
	var ops []store.Op
	if c.state != (checkpointState{}) {
		ops = append(ops, c.stateOp())
	}
	for _, m := range c.marks {
		ops = append(ops, m.storeOp())
	}
	return ops
}

func (c *checkpointing) stateOp() store.Op {
	data, _ := json.Marshal(c.state) // it has nothing that JSON cannot have
	return store.Set(checkpointsTable, checkpointStatus, data)
}

func (m checkpointMark) storeOp() store.Op {
	data, _ := json.Marshal(m) // as above
	return store.Set(checkpointsTable, checkpointMarks+m.Hash, data)
}

func (c *checkpointing) storeState() { c.w.AddOps(c.stateOp()) }

// working reports whether an operation has begun that the next owner must finish.
func (c *checkpointing) working() bool { return c.state.Save != nil || c.state.Restore != nil }

// available reports whether checkpoints are saved.
func (c *checkpointing) available() bool { return c.repo != nil && c.state.Off == "" }

// markAt returns the checkpoint that holds at a row.
func (c *checkpointing) markAt(ts wire.Millis) (checkpointMark, bool) {
	for _, m := range slices.Backward(c.marks) {
		if m.TS <= ts {
			return m, true
		}
	}
	return checkpointMark{}, false
}

// find returns the checkpoint with this hash, or a unique beginning of it.
func (c *checkpointing) find(hash string) (checkpointMark, bool) {
	var found []checkpointMark
	for _, m := range c.marks {
		if strings.HasPrefix(m.Hash, hash) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return checkpointMark{}, false
	}
	return found[0], true
}

// addMark records a checkpoint. A hash that is known keeps its mark.
func (c *checkpointing) addMark(hash string, ts wire.Millis) bool {
	if slices.ContainsFunc(c.marks, func(m checkpointMark) bool { return m.Hash == hash }) {
		return false
	}
	m := checkpointMark{Hash: hash, TS: ts, Seq: 1}
	if n := len(c.marks); n > 0 {
		m.Seq = c.marks[n-1].Seq + 1
	}
	c.marks = append(c.marks, m)
	c.w.AddOps(m.storeOp())
	for len(c.marks) > maxMarks {
		c.w.AddOps(store.Unset(checkpointsTable, checkpointMarks+c.marks[0].Hash))
		c.marks = c.marks[1:]
	}
	return true
}

// importMarks returns the ops that store the marks of imported checkpoints. Rows say from which row on
// each holds.
func importMarks(rows map[wire.MonitorID][]wire.UIRow, saved []checkpoints.Checkpoint) []store.Op {
	numbers := map[string]int{}
	for _, c := range saved[max(0, len(saved)-maxMarks):] {
		numbers[c.Hash] = c.Number
	}
	var ops []store.Op
	for _, all := range rows {
		for _, row := range all {
			var r checkpointRow
			if row.Say != wire.SayCheckpointSaved || json.Unmarshal(row.Checkpoint, &r) != nil || r.Restored {
				continue
			}
			if n, ok := numbers[r.To]; ok {
				ops = append(ops, checkpointMark{Hash: r.To, TS: r.TS, Seq: n}.storeOp())
			}
		}
	}
	return ops
}

// messageArrived saves a checkpoint for a message of a user, if the session has files or the windows
// alone are saved. ts is before the rows of the message.
func (c *checkpointing) messageArrived(id wire.MessageID, monitor wire.MonitorID, ts wire.Millis) {
	if !c.available() {
		return
	}
	if len(c.messages) >= maxKnownMessages {
		clear(c.messages)
		clear(c.saved)
	}
	c.messages[id], c.lastMessage = ts, ts
	op := &checkpointOp{Reason: saveForMessage, Monitor: monitor, Message: id, TS: ts, empty: c.desktops}
	if c.wanted == nil && (len(c.marks) > 0 || c.desktops) {
		op.windows = new(windowsOf(c.w.state)) // before an agent changes them
	}
	c.requestSave(op)
}

// requestSave begins a save after the commit, or after the running operation. Of several that wait the
// first counts: it holds for the others, too.
func (c *checkpointing) requestSave(op *checkpointOp) {
	op.ID = rand.Text()
	if c.running || c.working() {
		if c.wanted == nil {
			c.wanted = op
		} else if op.empty {
			c.wanted.empty = true
		}
		return
	}
	c.startSave(op)
}

func (c *checkpointing) startSave(op *checkpointOp) {
	c.running, c.saving = true, op
	c.w.AfterCommit(func() { c.stopped.Go(func() { c.runSave(op) }) })
}

// awaitTool saves a checkpoint before the first tool of a turn that changes files, and waits for it and
// for every other operation that runs.
func (p port) awaitTool(ctx context.Context, caller tools.Caller) {
	c := &p.owner.agents.checkpoints
	done := make(chan struct{})
	if err := p.runInStep(ctx, func() {
		if c.available() && !c.saved[caller.Turn] {
			c.saved[caller.Turn] = true
			ts, known := c.messages[caller.Turn]
			if !known {
				ts = c.lastMessage // of a task, most likely
			}
			if ts == 0 || c.confirmed >= ts {
				ts = c.w.lastTS + 1
			}
			c.requestSave(&checkpointOp{Reason: saveForTool, Monitor: caller.Monitor, Message: caller.Turn, TS: ts, empty: true})
		}
		if c.running {
			c.waiters = append(c.waiters, done)
		} else {
			close(done)
		}
	}); err != nil {
		return // the call itself fails for the same reason
	}
	timer := time.NewTimer(c.toolWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		_ = p.runInStep(ctx, c.markLate) // as above
	case <-ctx.Done():
	case <-p.owner.held.ctx.Done():
	}
}

// recover continues what a previous owner has begun. A restore saves the state before it, so that a
// save that had begun is not needed any more.
func (c *checkpointing) recover() {
	switch {
	case c.repo == nil && c.working():
		c.fail(c.state.Restore, errors.New("checkpoints are not available on this hub"))
		c.state.Save, c.state.Restore = nil, nil
		c.storeState()
	case c.state.Restore != nil:
		c.state.Save = nil
		c.startRestore()
	case c.state.Save != nil:
		op := c.state.Save
		op.empty = true
		c.startSave(op)
	}
}

// runSave saves a checkpoint. It runs beside the session.
func (c *checkpointing) runSave(op *checkpointOp) {
	ctx := c.port.owner.held.ctx
	if !op.empty && !c.repo.HasFiles(c.w.id) {
		c.finish(func() {})
		return
	}
	windows := op.windows
	if err := c.port.runInStep(ctx, func() {
		c.state.Save = op
		c.storeState()
		if windows == nil {
			windows = new(windowsOf(c.w.state))
		}
	}); err != nil {
		return // the next owner knows nothing of it, or repeats it
	}
	saved, err := c.repo.Save(ctx, c.w.id, op.toNote(), windows.encode())
	if ctx.Err() != nil {
		return
	}
	c.finish(func() { c.endSave(op, saved, err) })
}

func (op *checkpointOp) toNote() checkpoints.Note {
	return checkpoints.Note{Reason: op.Reason, Message: string(op.Message), Monitor: string(op.Monitor), TS: int64(op.TS), Op: op.ID}
}

// finish runs end, which ends an operation, in a step, and begins the next operation.
func (c *checkpointing) finish(end func()) {
	_ = c.port.put(c.port.owner.held.ctx, item{work: func() { // an error means that the owner ended
		end()
		c.running, c.saving = false, nil
		c.startNext()
	}})
}

// startNext begins the restore or the save that waits, or wakes the waiters if there is none.
func (c *checkpointing) startNext() {
	switch op := c.wanted; {
	case c.state.Restore != nil:
		c.startRestore()
	case op != nil && c.available():
		c.wanted = nil
		if op.Reason == saveForTool && c.confirmed >= op.TS {
			op.TS = c.w.lastTS + 1
		}
		c.requestSave(op)
	default:
		c.wanted = nil
		for _, w := range c.waiters {
			close(w)
		}
		c.waiters = nil
	}
}

// endSave records the result of a save.
func (c *checkpointing) endSave(op *checkpointOp, saved checkpoints.Saved, err error) {
	c.state.Save = nil
	defer c.storeState()
	if err != nil {
		c.saveFailed(op, err)
		return
	}
	c.failed, c.confirmed = false, max(c.confirmed, op.TS)
	if saved.New {
		c.announce(saved.Checkpoint, saved.From, op)
		c.warnIfLate(saved.Checkpoint, op)
	}
}

// announce records a new checkpoint, as a mark, an event and a row.
func (c *checkpointing) announce(made checkpoints.Checkpoint, from string, op *checkpointOp) {
	ts := op.TS
	if made.Reason == saveForRestore {
		ts = c.w.lastTS + 1
	}
	if !c.addMark(made.Hash, ts) {
		return
	}
	monitor := c.monitorOf(op)
	c.w.Emit(wire.CheckpointSaved{Hash: made.Hash, TS: ts, From: from, Reason: made.Reason, MonitorID: monitor})
	c.addRow(monitor, made.Hash, checkpointRow{From: from, To: made.Hash, Reason: made.Reason, TS: ts, Suppress: made.Reason == saveForMessage})
}

// checkpointRow is the checkpoint field of a row.
type checkpointRow struct {
	From   string `json:"from,omitempty"`
	To     string `json:"to"`
	Reason string `json:"reason,omitempty"`
	// TS is the row from which on a saved checkpoint holds.
	TS wire.Millis `json:"ts,omitempty"`
	// Suppress says that lists of rows need not show it.
	Suppress bool `json:"suppressMessage,omitempty"`
	// Safety and Files belong to a restore: the checkpoint that undoes it, and what it changed.
	Safety   string `json:"safety,omitempty"`
	Restored bool   `json:"restored,omitempty"`
	Files    int    `json:"files,omitempty"`
}

// switchedOff is the checkpoint field of rows that say that checkpoints are off: clients offer to switch them on.
var switchedOff = json.RawMessage(`{"off":true}`)

func (c *checkpointing) addRow(monitor wire.MonitorID, text string, r checkpointRow) {
	data, _ := json.Marshal(r) // it has strings and numbers only
	c.w.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayCheckpointSaved, Text: text, Checkpoint: data, MonitorID: monitor})
}

// monitorOf returns the monitor of an operation, or the first one if it was removed.
func (c *checkpointing) monitorOf(op *checkpointOp) wire.MonitorID {
	if op.Monitor == "" || !c.w.state.HasMonitor(op.Monitor) {
		return firstMonitor
	}
	return op.Monitor
}

// saveFailed switches checkpoints off if the tree is too large or too slow, and shows other errors once.
func (c *checkpointing) saveFailed(op *checkpointOp, err error) {
	c.log.Warn("saving a checkpoint failed", "err", err)
	row := wire.UIRow{
		Type: wire.RowSay, Say: wire.SayError, MonitorID: c.monitorOf(op),
		Text: "No checkpoint could be saved: " + publicReason(err) + " It is tried again with the next message.",
	}
	switch {
	case errors.Is(err, checkpoints.ErrTooLarge) || errors.Is(err, checkpoints.ErrTooSlow) || errors.Is(err, checkpoints.ErrProtected):
		c.state.Off = publicReason(err)
		row.Text = "Checkpoints are off: " + publicReason(err) +
			" Switch them on again with /checkpoints on, :checkpoints on in a terminal, or hub checkpoints SESSION on."
		row.Checkpoint = switchedOff
	case c.failed:
		return
	}
	c.failed = true
	c.w.AddRow(row)
}

func (c *checkpointing) addErrorRow(monitor wire.MonitorID, text string) {
	c.w.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayError, Text: text, MonitorID: monitor})
}
