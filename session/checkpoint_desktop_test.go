package session_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// largeText is a text of 900,000 bytes that begins with a name.
func largeText(name string) string { return name + strings.Repeat(".", 900_000-len(name)) }

// openLarge opens a window with a large text.
func (d *testDesktop) openLarge(m wire.MonitorID, id wire.WindowID, text string) {
	d.t.Helper()
	w := window(id)
	w.Content = wire.TextContent{Data: largeText(text)}
	d.emitOn(m, w)
}

// emitOn executes an action on a monitor.
func (d *testDesktop) emitOn(m wire.MonitorID, a wire.Action) {
	d.t.Helper()
	id := wire.MessageID(fmt.Sprintf("emit-%d", counter.Add(1)))
	answer := d.sendAndWait(id, wire.Emit{MonitorID: m, Actions: []wire.Action{a}})
	if no, is := answer.(wire.MessageRejected); is {
		d.t.Fatalf("%T on %s: got %+v, want it executed", a, m, no)
	}
}

// texts returns the beginnings of the texts of all windows, and the length of each.
func (d *testDesktop) texts() string {
	d.t.Helper()
	all := map[string]string{}
	for _, w := range d.snapshot().Windows {
		text := w.Content.(wire.TextContent).Data
		name, _, _ := strings.Cut(text, ".")
		all[string(w.MonitorID)+"/"+string(w.WindowID)] = fmt.Sprintf("%s:%d", name, len(text))
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, id+"="+all[id])
	}
	return strings.Join(lines, " ")
}

// A checkpoint holds all windows of a full desktop. A restore brings all of them back in commits that the store
// accepts, and its undo does so, too.
func TestRestoreOfLargeWindows(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	cfg := withCheckpoints(f)
	cfg.session.CheckpointDesktops = true
	o := startAgentHub(t, s, cfg)
	d := o.newDesktop(t, "ses-1")
	const other = "monitor-1"
	for i := range 4 {
		id := wire.WindowID(fmt.Sprintf("w%d", i))
		d.openLarge(firstMonitor, id, "one")
		d.openLarge(other, id, "one")
	}
	before := d.texts()
	d.sendText(firstMonitor, "m1", "/say hello")
	d.waitTurnEnd("m1")
	first := d.savedFor("message")
	for i := range 4 {
		id := wire.WindowID(fmt.Sprintf("w%d", i))
		d.openLarge(firstMonitor, id, "two")
		d.emitOn(other, wire.WindowClose{WindowID: id})
		d.openLarge(other, wire.WindowID(fmt.Sprintf("n%d", i)), "new")
	}
	after := d.texts()

	done, is := d.sendAndWait("r1", wire.RestoreCheckpoint{Hash: first.Hash}).(wire.CheckpointRestored)
	if !is || done.Windows != 12 {
		t.Errorf("restored: got %+v, want 4 closed, 4 changed and 4 opened windows", done)
	}
	if got := d.texts(); got != before {
		t.Errorf("windows after the restore: got %s, want %s", got, before)
	}
	undone, is := d.sendAndWait("u1", wire.RestoreCheckpoint{Hash: done.Safety}).(wire.CheckpointRestored)
	if !is || undone.Windows != 12 {
		t.Errorf("undo: got %+v, want 4 closed, 4 changed and 4 opened windows", undone)
	}
	if got := d.texts(); got != after {
		t.Errorf("windows after the undo: got %s, want %s", got, after)
	}
	d.waitIdle()
}
