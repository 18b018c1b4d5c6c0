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

// lossyStore is a store that can be set to acknowledge commits without storing them.
type lossyStore struct {
	Store
	forgets atomic.Bool
	forgot  atomic.Int64
}

func (f *lossyStore) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if f.forgets.Load() {
		f.forgot.Add(1)
		return store.Receipt{Top: wire.Position{Epoch: b.Prev.Epoch, Seq: b.Prev.Seq + uint64(len(b.Events))}}, nil
	}
	return f.Store.Commit(ctx, l, b)
}

// testConversation is a session whose rows the test makes itself.
type testConversation struct {
	*testing.T
	hub   *Hub
	store *lossyStore
}

func newTestConversation(t *testing.T) *testConversation {
	t.Helper()
	files, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	s := &lossyStore{Store: StoreOf(files.Sessions)}
	h := NewHub(Config{Replica: "a", Logger: slog.New(slog.DiscardHandler)}, StoreOf(s))
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
	return &testConversation{t, h, s}
}

// runInStep runs work in a step of the session's present owner.
func (k *testConversation) runInStep(work func(ow *owner)) {
	k.Helper()
	for {
		handle, err := k.hub.Open(k.Context(), "ses-1")
		if err != nil {
			k.Fatal(err)
		}
		ow := k.hub.registry.lookup("ses-1").activeOwner.Load()
		if ow != nil {
			err = port{ow}.putAndWait(k.Context(), item{work: func() { work(ow) }})
		}
		handle.Close()
		if ow != nil && err == nil {
			return
		}
		if k.Context().Err() != nil {
			k.Fatalf("the session was not loaded as owner: error %v, want none", err)
		}
	}
}

func (k *testConversation) add(n int) {
	k.Helper()
	for range n {
		k.runInStep(func(ow *owner) {
			ow.w.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: fmt.Sprint("row ", ow.w.lastRow+1), MonitorID: firstMonitor})
		})
	}
}

// archiveText is the archive as text: ids, and texts that were changed.
func (k *testConversation) archiveText() string {
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

func idRange(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, strconv.Itoa(i))
	}
	return strings.Join(all, " ")
}

// rowsFrom returns the rows from an id on.
func (k *testConversation) rowsFrom(id wire.RowID) (rows []wire.UIRow) {
	k.Helper()
	page, err := k.hub.Rows(k.Context(), "ses-1", RowQuery{Monitor: firstMonitor, Limit: 1, Before: id + 1})
	if err != nil || len(page.Rows) != 1 {
		k.Fatalf("one row up to %d: got %d, want 1, error %v", id, len(page.Rows), err)
	}
	k.runInStep(func(ow *owner) {
		if rows, err = ow.w.rowsSince(firstMonitor, page.Rows[0].TS); err != nil {
			k.Error(err)
		}
	})
	return rows
}

// A row that the desktop state does not have any more changes in the archive only, also in a step
// that has added rows, and no event is published.
func TestOldRowsChangeInTheArchive(t *testing.T) {
	t.Parallel()
	k := newTestConversation(t)
	k.add(230)
	old := k.rowsFrom(3)[0]
	k.runInStep(func(ow *owner) {
		ow.w.AddRow(wire.UIRow{Type: wire.RowSay, Say: wire.SayText, Text: "row 231", MonitorID: firstMonitor})
		frames := len(ow.w.step.frames)
		changed := old
		changed.ID, changed.Text = 0, "another"
		ow.w.Emit(wire.MessageUpdated{Action: wire.RowUpdated, Message: changed, MonitorID: firstMonitor})
		changed.TS = 5 // there is no such row
		ow.w.Emit(wire.MessageUpdated{Action: wire.RowUpdated, Message: changed, MonitorID: firstMonitor})
		if len(ow.w.step.frames) != frames {
			t.Errorf("updates of an archived row and of none added %d events, want 0", len(ow.w.step.frames)-frames)
		}
	})
	if got, want := k.archiveText(), "1 2 3=another "+idRange(4, 231); got != want {
		t.Errorf("the archive has %s, want %s", got, want)
	}
}

// The rows from one on are found and removed, wherever they are.
func TestRowsAreRewound(t *testing.T) {
	t.Parallel()
	k := newTestConversation(t)
	k.add(230)
	for _, id := range []int{1, 29, 30, 31, 230} {
		if got := strings.Join(describeRows(k.rowsFrom(wire.RowID(id))), " "); got != idRange(id, 230) {
			t.Errorf("the rows from %d on are %s, want %s", id, got, idRange(id, 230))
		}
	}
	k.runInStep(func(ow *owner) {
		if rows, err := ow.w.rowsSince(firstMonitor, 5); len(rows) > 0 || err != nil {
			t.Errorf("since a row that does not exist there are %d rows, error %v, want none", len(rows), err)
		}
		if rows, err := ow.w.rowsSince("monitor-3", 5); len(rows) > 0 || err != nil {
			t.Errorf("of a monitor that does not exist there are %d rows, error %v, want none", len(rows), err)
		}
	})
	rewind := func(id wire.RowID, stay ...int) {
		since := k.rowsFrom(id)
		k.runInStep(func(ow *owner) {
			var kept []wire.UIRow
			p := wire.HistoryRewound{TS: since[0].TS, MonitorID: firstMonitor}
			for _, i := range stay {
				kept = append(kept, since[i])
				p.Kept = append(p.Kept, since[i].TS)
			}
			ow.w.rewindRows(firstMonitor, since, kept)
			ow.w.Emit(p)
		})
	}
	rewind(220, 3)
	if got, want := k.archiveText(), idRange(1, 219)+" 223"; got != want {
		t.Fatalf("after a rewind there are %s, want %s", got, want)
	}
	k.add(2)
	rewind(10)
	k.add(1)
	if got, want := k.archiveText(), idRange(1, 9)+" 233"; got != want {
		t.Fatalf("after another one there are %s, want %s", got, want)
	}
	// The store loses a rewind and what followed: removed rows do not come back.
	k.add(5)
	k.store.forgets.Store(true)
	rewind(5)
	k.add(2)
	k.store.forgets.Store(false)
	k.runInStep(func(ow *owner) { ow.w.Emit(wire.SessionRenamed{Title: "x"}) }) // fails because of the lost batch, and is repeated
	k.add(1)
	if got, want := k.archiveText(), idRange(1, 4)+" 239 240 241"; got != want || k.store.forgot.Load() < 3 {
		t.Errorf("after %d lost batches there are %s, want at least 3 and %s", k.store.forgot.Load(), got, want)
	}
}
