package session

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// forgetful is a store that says it has kept what it has not, while it is told to.
type forgetful struct {
	Store
	forgets atomic.Bool
	forgot  atomic.Int64
}

func (f *forgetful) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if f.forgets.Load() {
		f.forgot.Add(1)
		return store.Receipt{Top: wire.Position{Epoch: b.Prev.Epoch, Seq: b.Prev.Seq + uint64(len(b.Events))}}, nil
	}
	return f.Store.Commit(ctx, l, b)
}

// talk is a session whose rows a test makes itself.
type talk struct {
	*testing.T
	hub   *Hub
	store *forgetful
}

func newTalk(t *testing.T) *talk {
	t.Helper()
	files, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	s := &forgetful{Store: files}
	h := NewHub(Config{Replica: "a", Logger: slog.New(slog.DiscardHandler)}, s)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var wg sync.WaitGroup
	wg.Go(func() { h.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		if err := files.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := h.Create(t.Context(), NewSession{ID: "ses-1", User: "ada"}); err != nil {
		t.Fatal(err)
	}
	handle, err := h.Open(t.Context(), "ses-1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(handle.Close)
	return &talk{t, h, s}
}

// do does something in a step of the session, whoever owns it by then.
func (k *talk) do(work func(l *owner)) {
	k.Helper()
	for {
		handle, err := k.hub.Open(k.Context(), "ses-1")
		if err != nil {
			k.Fatal(err)
		}
		l := k.hub.lookup("ses-1").activeOwner.Load()
		if l != nil {
			err = port{l}.putAndWait(k.Context(), item{work: func() { work(l) }})
		}
		handle.Close()
		if l != nil && err == nil {
			return
		}
		if k.Context().Err() != nil {
			k.Fatal(err)
		}
	}
}

func (k *talk) add(n int) {
	k.Helper()
	for range n {
		k.do(func(l *owner) {
			l.row(wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: fmt.Sprint("row ", l.lastRow+1), MonitorID: firstMonitor})
		})
	}
}

// kept is the archive as text: ids, and texts that are not those they began with.
func (k *talk) kept() string {
	k.Helper()
	var all []string
	for q := (RowQuery{Monitor: firstMonitor, Limit: 97}); ; {
		page, err := k.hub.Rows(k.Context(), "ses-1", q)
		if err != nil {
			k.Fatal(err)
		}
		part := describeRows(page.Rows)
		all = append(part, all...)
		if !page.More {
			return strings.Join(all, " ")
		}
		q.Before = page.Rows[0].ID
	}
}

func describeRows(rows []wire.UIRow) []string {
	var all []string
	for _, r := range rows {
		text := fmt.Sprint(r.ID)
		if r.Text != "row "+text {
			text += "=" + r.Text
		}
		all = append(all, text)
	}
	return all
}

func counted(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return strings.Join(all, " ")
}

// since are the rows from one on.
func (k *talk) since(id wire.RowID) (rows []wire.UIRow) {
	k.Helper()
	page, err := k.hub.Rows(k.Context(), "ses-1", RowQuery{Monitor: firstMonitor, Limit: 1, Before: id + 1})
	if err != nil || len(page.Rows) != 1 {
		k.Fatalf("row %d: %v", id, err)
	}
	k.do(func(l *owner) {
		if rows, err = l.rowsSince(firstMonitor, page.Rows[0].TS); err != nil {
			k.Error(err)
		}
	})
	return rows
}

// A row that is too old for the desktop changes where it is, also in a step that
// has added rows, and nobody is shown that.
func TestOldRowsChangeInTheArchive(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.add(230)
	old := k.since(3)[0]
	k.do(func(l *owner) {
		l.row(wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: "row 231", MonitorID: firstMonitor})
		frames := len(l.step.frames)
		changed := old
		changed.ID, changed.Text = 0, "another"
		l.emit(wire.MessageUpdated{Action: wire.RowUpdated, Message: changed, MonitorID: firstMonitor})
		changed.TS = 5 // it never was
		l.emit(wire.MessageUpdated{Action: wire.RowUpdated, Message: changed, MonitorID: firstMonitor})
		if len(l.step.frames) != frames {
			t.Errorf("%d events are said", len(l.step.frames)-frames)
		}
	})
	if got, want := k.kept(), "1 2 3=another "+counted(4, 231); got != want {
		t.Errorf("kept are %s", got)
	}
}

// The rows from one on are found wherever they are, and go.
func TestRowsAreRewound(t *testing.T) {
	t.Parallel()
	k := newTalk(t)
	k.add(230)
	for _, id := range []int{1, 29, 30, 31, 230} {
		if got := strings.Join(describeRows(k.since(wire.RowID(id))), " "); got != counted(id, 230) {
			t.Errorf("from %d on are %s", id, got)
		}
	}
	k.do(func(l *owner) {
		if rows, err := l.rowsSince(firstMonitor, 5); len(rows) > 0 || err != nil {
			t.Errorf("of a row that never was: %d rows, %v", len(rows), err)
		}
		if rows, err := l.rowsSince("monitor-3", 5); len(rows) > 0 || err != nil {
			t.Errorf("of a monitor that is not there: %d rows, %v", len(rows), err)
		}
	})
	rewind := func(id wire.RowID, stay ...int) {
		since := k.since(id)
		k.do(func(l *owner) {
			var kept []wire.UIRow
			p := wire.HistoryRewound{TS: since[0].TS, MonitorID: firstMonitor}
			for _, i := range stay {
				kept = append(kept, since[i])
				p.Kept = append(p.Kept, since[i].TS)
			}
			l.rewindRows(firstMonitor, since, kept)
			l.emit(p)
		})
	}
	rewind(220, 3)
	if got, want := k.kept(), counted(1, 219)+" 223"; got != want {
		t.Fatalf("after a rewind there are %s", got)
	}
	k.add(2)
	rewind(10)
	k.add(1)
	if got, want := k.kept(), counted(1, 9)+" 233"; got != want {
		t.Fatalf("after another one there are %s", got)
	}
	// The store forgets a rewind and what followed: what was taken back does not
	// come again.
	k.add(5)
	k.store.forgets.Store(true)
	rewind(5)
	k.add(2)
	k.store.forgets.Store(false)
	k.do(func(l *owner) { l.emit(wire.SessionRenamed{Title: "x"}) }) // meets the gap, and is done again
	k.add(1)
	if got, want := k.kept(), counted(1, 4)+" 239 240 241"; got != want || k.store.forgot.Load() < 3 {
		t.Errorf("after it was forgotten there are %s", got)
	}
}
