package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/wire"
)

// doRestoreCheckpoint begins to restore the files and windows of a checkpoint.
func (cv *conversation) doRestoreCheckpoint(c *Command, m wire.RestoreCheckpoint) reply {
	if r := cv.refuseGuest(c); r.Verdict == verdictRejected {
		return r
	}
	cp := &cv.agents.checkpoints
	if r := cp.refuseRestore(); r.Verdict == verdictRejected {
		return r
	}
	if cv.agents.hasRunningTurns() {
		return refused(wire.CodeSessionInvalidState, "agents are at work: stop them before files are restored")
	}
	mark, ok := cp.find(m.Hash)
	if !ok {
		return refused(wire.CodeInvalidMessage, "there is no checkpoint %q", m.Hash)
	}
	monitor := cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor)
	cp.beginRestore(&checkpointOp{Monitor: monitor, Message: c.Message.ID, Hash: mark.Hash, By: c.From.Connection, Answers: true})
	return reply{Verdict: verdictPending, Monitor: monitor}
}

// setCheckpoints switches checkpoints on or off.
func (cv *conversation) setCheckpoints(c *Command, m wire.SetCheckpoints) reply {
	if r := cv.refuseGuest(c); r.Verdict == verdictRejected {
		return r
	}
	cp := &cv.agents.checkpoints
	if cp.repo == nil {
		return refused(wire.CodeSessionInvalidState, "checkpoints are not available on this hub")
	}
	if m.Enabled == (cp.state.Off == "") {
		return reply{}
	}
	row := wire.UIRow{
		Type: wire.RowSay, Say: wire.SayCheckpointSaved, Text: "Checkpoints are on.",
		MonitorID: cmp.Or(m.MonitorID, c.From.Monitor, firstMonitor), MessageID: c.Message.ID,
	}
	cp.state.Off, cp.failed = "", false
	if !m.Enabled {
		cp.state.Off, row.Text, row.Checkpoint = "a user switched them off.", "Checkpoints are off.", switchedOff
	}
	cp.storeState()
	cv.w.AddRow(row)
	return reply{}
}

// refuseRestore returns a rejection if nothing can be restored now.
func (c *checkpointing) refuseRestore() reply {
	switch {
	case c.repo == nil:
		return refused(wire.CodeSessionInvalidState, "there are no checkpoints to restore: they are not available on this hub")
	case c.state.Restore != nil:
		return refused(wire.CodeSessionInvalidState, "a checkpoint is being restored")
	}
	return reply{}
}

// checkpointFor returns the checkpoint to which the files are restored when the conversation is rewound
// to a row.
func (cv *conversation) checkpointFor(c *Command, ts wire.Millis) (string, reply) {
	if r := cv.refuseGuest(c); r.Verdict == verdictRejected {
		return "", r
	}
	cp := &cv.agents.checkpoints
	if r := cp.refuseRestore(); r.Verdict == verdictRejected {
		return "", r
	}
	mark, ok := cp.markAt(ts)
	if !ok {
		return "", refused(wire.CodeSessionInvalidState, "there are no checkpoints to restore at this row: the first one is later")
	}
	return mark.Hash, reply{}
}

// beginRestore begins a restore after the commit, or after the save that runs.
func (c *checkpointing) beginRestore(op *checkpointOp) {
	op.ID, op.Reason = rand.Text(), saveForRestore
	c.state.Restore = op
	c.storeState()
	if !c.running {
		c.startRestore()
	}
}

func (c *checkpointing) startRestore() {
	c.running = true
	op, windows := c.state.Restore, windowsOf(c.w.state)
	c.w.AfterCommit(func() { c.stopped.Go(func() { c.runRestore(op, windows) }) })
}

// stopWait bounds how long a restore waits for interrupted runs. One that does not stop by then may still change files.
const stopWait = 15 * time.Second

// runRestore restores the files and the windows of a checkpoint. It runs beside the session, and waits for the runs that
// the rewind has ended: a tool or a program may write until it has stopped.
func (c *checkpointing) runRestore(op *checkpointOp, windows checkpointWindows) {
	ctx := c.port.owner.held.ctx
	stopping, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	if err := c.port.owner.agents.runner.AwaitDisposed(stopping); err != nil && ctx.Err() == nil {
		c.log.WarnContext(ctx, "interrupted runs have not stopped, restoring files", "err", err)
	}
	done, err := c.repo.Restore(ctx, c.w.id, op.Hash, op.toNote(), windows.encode())
	restored := windowRestore{c: c}
	if err == nil && restored.run(ctx, c.readWindows(ctx, op.Hash)) != nil || ctx.Err() != nil {
		return // the next owner finishes it
	}
	c.finish(func() { c.endRestore(op, done, restored, err) })
}

// readWindows returns the windows of a checkpoint. Files are restored without them if they cannot be
// read.
func (c *checkpointing) readWindows(ctx context.Context, hash string) []byte {
	windows, err := c.repo.Windows(ctx, c.w.id, hash)
	if err != nil {
		c.log.WarnContext(ctx, "reading the windows of a checkpoint failed", "err", err)
	}
	return windows
}

// endRestore records the result of a restore and submits the message that waited.
func (c *checkpointing) endRestore(op *checkpointOp, done checkpoints.Restored, windows windowRestore, err error) {
	c.state.Restore = nil
	c.storeState()
	if done.SafetyNew {
		c.announce(done.Safety, done.From, op)
	}
	if len(done.Paths) > 0 { // tabs that show one of them read it again, also if the rest failed
		var files []wire.FileChange
		for _, p := range done.Paths {
			files = append(files, wire.FileChange{Path: p.Path, Removed: p.Deleted})
		}
		c.w.Emit(wire.FilesChanged{Files: files})
	}
	if err != nil {
		c.log.Warn("restoring a checkpoint failed", "err", err)
		c.fail(op, err)
		return
	}
	monitor := c.monitorOf(op)
	e := wire.CheckpointRestored{
		Hash: op.Hash, Safety: done.Safety.Hash, Files: done.Changed, Windows: windows.changed, MonitorID: monitor, By: op.By,
	}
	at := c.w.nextPosition()
	if op.Answers {
		e.MessageID = op.Message
	}
	c.w.Emit(e)
	text := fmt.Sprintf("Files and windows were restored to the checkpoint %.7s: %d files and %d windows changed.", op.Hash, done.Changed, windows.changed)
	if windows.refused > 0 {
		text += fmt.Sprintf(" %d windows could not be restored, because an agent uses them, or they are too many or too large.", windows.refused)
	}
	c.addRow(monitor, text, checkpointRow{To: op.Hash, Safety: done.Safety.Hash, Restored: true, Files: done.Changed})
	replies := &c.port.owner.commands.replies
	if known, ok := replies.ledger.find(op.Message); ok && op.Answers {
		known.Reply = reply{Verdict: verdictEmitted, Monitor: monitor, At: at}
		replies.ledger.update(op.Message, known, &c.w.step.ops)
	}
	c.submitThen(op)
}

// submitThen gives the message that waited for a restore to its agent.
func (c *checkpointing) submitThen(op *checkpointOp) {
	if op.Then == nil {
		return
	}
	m := contextpool.Message{ID: op.Then.ID, By: op.Then.By, Monitor: op.Then.Monitor, Window: op.Then.Window, User: op.Then.User, Guest: op.Then.Guest, Text: op.Then.Text}
	for _, url := range op.Then.Images {
		if image, err := readImage(url); err == nil { // it was read before
			m.Images = append(m.Images, image)
		}
	}
	before := c.w.lastTS + 1
	c.port.owner.commands.replies.submitToAgent(m, func() { c.port.owner.agents.poolForUpdate().EndEdit(m) })
	c.messageArrived(m.ID, m.Monitor, before)
}

// fail reports that a restore failed, to the sender and in the conversation.
func (c *checkpointing) fail(op *checkpointOp, err error) {
	if op == nil {
		return
	}
	monitor, reason := c.monitorOf(op), "the files could not be restored: "+publicReason(err)
	c.addErrorRow(monitor, "T"+reason[1:])
	replies := &c.port.owner.commands.replies
	rejected := wire.MessageRejected{Code: wire.CodeSessionInvalidState, Reason: reason, MonitorID: monitor, By: op.By}
	switch {
	case op.Answers && op.Message != "":
		rejected.MessageID = op.Message
		replies.addReply(rejected)
	case op.Then != nil:
		rejected.MessageID = op.Then.ID
		replies.addReply(rejected)
	default:
		c.w.Emit(wire.CheckpointRestored{Hash: op.Hash, Error: reason, MonitorID: monitor, By: op.By})
	}
}
