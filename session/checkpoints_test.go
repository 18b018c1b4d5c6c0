package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/demo"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// sessionFiles are the checkpoints of a deployment, with faults.
type sessionFiles struct {
	store  *checkpoints.Store
	folder string

	mu sync.Mutex
	// saving, restoring and restored, unless nil, are called before a save, and before and after a restore.
	saving    func(context.Context, checkpoints.Note) error
	restoring func()
	restored  func(context.Context)
	saves     int
}

func newSessionFiles(t *testing.T, s *deployment) *sessionFiles {
	t.Helper()
	store, err := checkpoints.Open(t.Context(), checkpoints.Config{Dir: t.TempDir()})
	requireNoError(t, err)
	return &sessionFiles{store: store, folder: s.filesFolder}
}

func (f *sessionFiles) of(id wire.SessionID) checkpoints.Worktree {
	return checkpoints.SessionWorktree(string(id), filepath.Join(f.folder, string(id)))
}

func (f *sessionFiles) HasFiles(id wire.SessionID) bool {
	entries, _ := os.ReadDir(f.of(id).Path)
	return len(entries) > 0 || f.store.Exists(f.of(id))
}

func (f *sessionFiles) Save(ctx context.Context, id wire.SessionID, note checkpoints.Note, windows []byte) (checkpoints.Saved, error) {
	f.mu.Lock()
	saving := f.saving
	f.saves++
	f.mu.Unlock()
	if saving != nil {
		if err := saving(ctx, note); err != nil {
			return checkpoints.Saved{}, err
		}
	}
	return f.store.Save(ctx, f.of(id), string(id), note, windows)
}

func (f *sessionFiles) Restore(ctx context.Context, id wire.SessionID, hash string, note checkpoints.Note, windows []byte) (checkpoints.Restored, error) {
	f.mu.Lock()
	restoring := f.restoring
	f.mu.Unlock()
	if restoring != nil {
		restoring()
	}
	done, err := f.store.Restore(ctx, f.of(id), string(id), hash, note, windows)
	f.mu.Lock()
	restored := f.restored
	f.mu.Unlock()
	if restored != nil {
		restored(ctx)
	}
	return done, err
}

func (f *sessionFiles) Windows(ctx context.Context, id wire.SessionID, hash string) ([]byte, error) {
	return f.store.Windows(ctx, f.of(id), string(id), hash)
}

// content returns the files of the session ses-1, as name and text.
func (f *sessionFiles) content(t *testing.T) string {
	t.Helper()
	const id = "ses-1"
	var all []string
	entries, err := os.ReadDir(f.of(id).Path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(f.of(id).Path, e.Name()))
		requireNoError(t, err)
		all = append(all, e.Name()+"="+string(text))
	}
	return strings.Join(all, " ")
}

func writeFile(name, text string) string {
	return fmt.Sprintf(`/task default /call storage:write {"path":%q,"content":%q}`, name, text)
}

func withCheckpoints(f *sessionFiles) hubConfig {
	return hubConfig{session: session.Config{Checkpoints: f}}
}

// savedFor waits for the first checkpoint of a reason.
func (d *testDesktop) savedFor(reason string) wire.CheckpointSaved {
	d.t.Helper()
	return waitEvent(d.t, d.eventLog, func(e wire.CheckpointSaved) bool { return e.Reason == reason })
}

// Checkpoints are saved with messages and before the first writing tool of a turn. A rewind restores the
// files and the windows, and a restore of the safety checkpoint undoes it.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	o := startAgentHub(t, s, withCheckpoints(f))
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m0", "/say nothing")
	d.waitTurnEnd("m0")
	d.sendText(firstMonitor, "m1", writeFile("a.txt", "one"))
	d.waitTurnEnd("m1")
	first := d.savedFor("tool")
	if f.saves != 1 {
		t.Errorf("saves before the first file: got %d, want only the one before the tool", f.saves)
	}
	d.sendText(firstMonitor, "m2", "/window w Title | text", writeFile("a.txt", "two"), writeFile("b.txt", "new"))
	d.waitTurnEnd("m2")
	second := d.savedFor("message")
	if second.From != first.Hash {
		t.Errorf("the second checkpoint follows %s, want %s", second.From, first.Hash)
	}
	if got := f.content(t); got != "a.txt=two b.txt=new" {
		t.Fatalf("files: got %q, want those of the second message", got)
	}
	row := d.waitRow(wire.SayCheckpointSaved)
	if row.Text == "" || !strings.Contains(string(row.Checkpoint), `"to"`) {
		t.Errorf("the row of a checkpoint: got %+v, want the hash and the checkpoint", row)
	}

	// Both: conversation and files.
	done, is := d.sendAndWait("r1", wire.Rewind{TS: d.rowOf("two").TS, RestoreCheckpoint: true}).(wire.HistoryRewound)
	if !is || done.Checkpoint != second.Hash {
		t.Fatalf("a rewind with files: got %+v, want the checkpoint %s", done, second.Hash)
	}
	restored := waitEvent(t, d.eventLog, func(e wire.CheckpointRestored) bool { return e.Hash == second.Hash })
	if restored.Files != 2 || restored.Windows != 1 || restored.Safety == "" || restored.Error != "" {
		t.Errorf("restored: got %+v, want 2 files, a window and a safety checkpoint", restored)
	}
	told := waitEvent(t, d.eventLog, func(e wire.FilesChanged) bool { return len(e.Files) == 2 })
	if told.Files[0] != (wire.FileChange{Path: "a.txt"}) || told.Files[1] != (wire.FileChange{Path: "b.txt", Removed: true}) {
		t.Errorf("FILES_CHANGED after a restore: got %+v, want a.txt and the removed b.txt", told.Files)
	}
	if got := f.content(t); got != "a.txt=one" {
		t.Errorf("files after the rewind: got %q, want those before the second message", got)
	}
	if got := d.windows(firstMonitor); len(got) != 0 {
		t.Errorf("windows after the rewind: got %v, want none", got)
	}

	// Files only: the undo.
	undone, is := d.sendAndWait("u1", wire.RestoreCheckpoint{Hash: restored.Safety}).(wire.CheckpointRestored)
	if !is || undone.Files != 2 || undone.Windows != 1 || undone.MessageID != "u1" {
		t.Fatalf("undo: got %+v, want 2 files and a window", undone)
	}
	if got := f.content(t); got != "a.txt=two b.txt=new" {
		t.Errorf("files after the undo: got %q, want those of the second message", got)
	}
	if got := d.windows(firstMonitor); len(got) != 1 || got[0] != "w" {
		t.Errorf("windows after the undo: got %v, want w", got)
	}
	if again, is := d.sendAndWait("u1", wire.RestoreCheckpoint{Hash: restored.Safety}).(wire.MessageRepeated); !is {
		t.Errorf("the same restore again: got %+v, want a MessageRepeated", again)
	}

	// Another message in place of the first, with the files of that time.
	accepted, is := d.sendAndWait("e1", wire.EditMessage{TS: d.rowOf("one").TS, Text: writeFile("c.txt", "edited"), RestoreCheckpoint: true}).(wire.MessageAccepted)
	if !is {
		t.Fatalf("an edit with files: got %+v, want it accepted", accepted)
	}
	d.waitTurnEnd("e1")
	if got := f.content(t); got != "c.txt=edited" {
		t.Errorf("files after the edit: got %q, want only the new one", got)
	}
	for id, want := range map[wire.MessageID]wire.ClientPayload{
		"bad1": wire.RestoreCheckpoint{Hash: "0123456"},
		"bad2": wire.Rewind{TS: d.rowOf("nothing").TS, RestoreCheckpoint: true},
	} {
		if no, is := d.sendAndWait(id, want).(wire.MessageRejected); !is || no.Reason == "" {
			t.Errorf("%+v: got %+v, want a refusal", want, no)
		}
	}
	d.waitIdle()
}

// A save never delays a message, and an unfinished one is done again by the next owner.
func TestSlowSaveDelaysNoMessage(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	started := make(chan struct{}, 1)
	f.saving = func(ctx context.Context, n checkpoints.Note) error {
		if n.Reason == "message" {
			started <- struct{}{}
			<-ctx.Done() // the hub stops
		}
		return ctx.Err()
	}
	o := startAgentHub(t, s, withCheckpoints(f))
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", writeFile("a.txt", "one"))
	d.waitTurnEnd("m1")
	d.sendText(firstMonitor, "m2", "/say hello")
	<-started
	d.waitTurnEnd("m2") // although the save runs
	f.mu.Lock()
	f.saving = nil
	f.mu.Unlock()
	o.stop()
	o = startAgentHub(t, s, withCheckpoints(f))
	d = o.openDesktop(t, "ses-1")
	d.savedFor("message")
	d.waitIdle()
}

// A tool does not wait for ever for the checkpoint before it. The checkpoint may have what the tool wrote, and says so.
func TestToolBeginsBeforeItsCheckpointIsSaved(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	written := make(chan struct{})
	f.saving = func(ctx context.Context, n checkpoints.Note) error {
		if n.Reason == "tool" {
			select {
			case <-written:
			case <-ctx.Done():
			}
		}
		return ctx.Err()
	}
	cfg := withCheckpoints(f)
	cfg.session.CheckpointWait = 50 * time.Millisecond
	o := startAgentHub(t, s, cfg)
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", writeFile("a.txt", "one"))
	d.waitTurnEnd("m1")
	close(written)
	saved := d.savedFor("tool")
	if row := d.waitRow(wire.SayError); !strings.Contains(row.Text, saved.Hash[:7]) || !strings.Contains(row.Text, "may have some changes") {
		t.Errorf("the row: got %q, want the checkpoint %.7s and what it may have", row.Text, saved.Hash)
	}
	d.waitIdle()
}

// A restore that was interrupted is finished by the next owner, once, and its undo is the state before
// the first attempt.
func TestInterruptedRestoreIsFinished(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	o := startAgentHub(t, s, withCheckpoints(f))
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", writeFile("a.txt", "one"))
	d.waitTurnEnd("m1")
	d.sendText(firstMonitor, "m2", writeFile("a.txt", "two"))
	d.waitTurnEnd("m2")
	target := d.savedFor("message")
	reached := make(chan struct{})
	f.mu.Lock()
	f.restored = func(ctx context.Context) {
		close(reached)
		<-ctx.Done() // the hub stops before the end is committed
	}
	f.mu.Unlock()
	d.send("e1", wire.EditMessage{TS: d.rowOf("two").TS, Text: "/say restored", RestoreCheckpoint: true})
	<-reached
	f.mu.Lock()
	f.restored = nil
	f.mu.Unlock()
	o.stop()
	o = startAgentHub(t, s, withCheckpoints(f))
	d = o.openDesktop(t, "ses-1")
	done := waitEvent(t, d.eventLog, func(e wire.CheckpointRestored) bool { return e.Hash == target.Hash })
	d.waitTurnEnd("e1")
	if got := f.content(t); got != "a.txt=one" {
		t.Errorf("files: got %q, want those of the checkpoint", got)
	}
	if got := d.visibleRows(); strings.Count(got, "/say restored") != 1 {
		t.Errorf("the rows are %q, want the message once", got)
	}
	if undone, is := d.sendAndWait("u1", wire.RestoreCheckpoint{Hash: done.Safety}).(wire.CheckpointRestored); !is || undone.Files != 1 {
		t.Fatalf("undo: got %+v, want one file", undone)
	}
	if got := f.content(t); got != "a.txt=two" {
		t.Errorf("files after the undo: got %q, want those before the first attempt", got)
	}
	d.waitIdle()
}

// A folder that is too large, or too slow, switches checkpoints off, with a row that says why, until a user switches
// them on.
func TestCheckpointsAreSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	for why, fault := range map[string]error{"too large": checkpoints.ErrTooLarge, "did not finish in time": checkpoints.ErrTooSlow} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			s := newFileDeployment(t)
			f := newSessionFiles(t, s)
			f.saving = func(context.Context, checkpoints.Note) error { return fmt.Errorf("%w: test", fault) }
			o := startAgentHub(t, s, withCheckpoints(f))
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", writeFile("a.txt", "one"))
			d.waitTurnEnd("m1")
			const off = `{"off":true}`
			if row := d.waitRow(wire.SayError); !strings.Contains(row.Text, why) || !strings.Contains(row.Text, "/checkpoints on") || string(row.Checkpoint) != off {
				t.Errorf("the row says %q with %s, want why, how to switch them on, and %s", row.Text, row.Checkpoint, off)
			}
			d.sendText(firstMonitor, "m2", writeFile("a.txt", "two"))
			d.waitTurnEnd("m2")
			f.mu.Lock()
			if f.saves != 1 {
				t.Errorf("saves: got %d, want one while checkpoints are off", f.saves)
			}
			f.saving = nil
			f.mu.Unlock()
			d.send("on", wire.SetCheckpoints{Enabled: true})
			d.sendText(firstMonitor, "m3", writeFile("a.txt", "three"))
			d.waitTurnEnd("m3")
			d.savedFor("message")
			d.waitIdle()
		})
	}
}

// With checkpoints of desktops, a session that has no files gets its windows back, and the undo
// restores those from before.
func TestCheckpointsOfASessionWithoutFiles(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	cfg := withCheckpoints(f)
	cfg.session.CheckpointDesktops = true
	o := startAgentHub(t, s, cfg)
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", "/window one Title | first")
	d.waitTurnEnd("m1")
	first := d.savedFor("message")
	d.sendText(firstMonitor, "m2", "/window two Title | second")
	d.waitTurnEnd("m2")
	second := waitEvent(t, d.eventLog, func(e wire.CheckpointSaved) bool { return e.From == first.Hash })

	done, is := d.sendAndWait("r1", wire.RestoreCheckpoint{Hash: second.Hash}).(wire.CheckpointRestored)
	if !is || done.Files != 0 || done.Windows != 1 || done.Safety == "" {
		t.Fatalf("restored: got %+v, want a window, no files and a safety checkpoint", done)
	}
	if got := d.windows(firstMonitor); len(got) != 1 || got[0] != "one" {
		t.Errorf("windows before the second message: got %v, want one", got)
	}
	if undone, is := d.sendAndWait("u1", wire.RestoreCheckpoint{Hash: done.Safety}).(wire.CheckpointRestored); !is || undone.Windows != 1 {
		t.Fatalf("undo: got %+v, want a window", undone)
	}
	if got := d.windows(firstMonitor); len(got) != 2 {
		t.Errorf("windows after the undo: got %v, want both", got)
	}
	// A rewind to before the first message leaves an empty desktop.
	if got, is := d.sendAndWait("r2", wire.Rewind{TS: d.rowOf("first").TS, RestoreCheckpoint: true}).(wire.HistoryRewound); !is || got.Checkpoint != first.Hash {
		t.Fatalf("a rewind to the first message: got %+v, want the checkpoint %s", got, first.Hash)
	}
	waitEvent(t, d.eventLog, func(e wire.CheckpointRestored) bool { return e.Hash == first.Hash })
	if got := d.windows(firstMonitor); len(got) != 0 {
		t.Errorf("windows before the first message: got %v, want none", got)
	}
}

// lateWriter is a backend whose program writes a file when it is stopped. cancelled is closed when that begins, and
// it continues when mayWrite is closed.
type lateWriter struct {
	renamedDemo
	path                string
	cancelled, mayWrite chan struct{}
	written             atomic.Bool
}

func (p *lateWriter) Open(ctx context.Context, s providers.Spec) (providers.Session, error) {
	open, err := p.renamedDemo.Open(ctx, s)
	return &lateSession{open, p}, err
}

type lateSession struct {
	providers.Session
	p *lateWriter
}

func (s *lateSession) Send(ctx context.Context, _ providers.Message) error {
	<-ctx.Done()
	close(s.p.cancelled)
	<-s.p.mayWrite
	err := os.WriteFile(s.p.path, []byte("late"), 0o600)
	s.p.written.Store(true)
	return errors.Join(ctx.Err(), err)
}

// A rewind with files interrupts the turns. The files are restored when these have stopped: what a program writes in its
// last moment does not stay.
func TestRestoreWaitsForInterruptedRuns(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	p := &lateWriter{
		renamedDemo: renamedDemo{demo.New(demo.Config{}), "late"}, path: filepath.Join(f.of("ses-1").Path, "a.txt"),
		cancelled: make(chan struct{}), mayWrite: make(chan struct{}),
	}
	f.restoring = func() {
		if !p.written.Load() {
			t.Error("the restore begins while the program of the interrupted turn may still write")
		}
	}
	cfg := withCheckpoints(f)
	cfg.otherProviders = []providers.Provider{p}
	o := startAgentHub(t, s, cfg)
	d := o.newDesktop(t, "ses-1")
	d.sendText(firstMonitor, "m1", writeFile("a.txt", "one"))
	d.waitTurnEnd("m1")
	d.send("p", wire.SetProvider{Provider: "late"})
	d.sendText(firstMonitor, "m2", "change the file")
	saved := d.savedFor("message")
	d.send("r1", wire.Rewind{TS: d.rowOf("change the file").TS, RestoreCheckpoint: true})
	<-p.cancelled
	waitEvent(t, d.eventLog, anyOf[wire.HistoryRewound])
	deliverBarrier(t, d.handle)
	close(p.mayWrite)
	waitEvent(t, d.eventLog, func(e wire.CheckpointRestored) bool { return e.Hash == saved.Hash })
	if got := f.content(t); got != "a.txt=one" {
		t.Errorf("files after the rewind: got %q, want those of the checkpoint", got)
	}
	d.waitIdle()
}
