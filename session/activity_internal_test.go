package session

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// A session that is stuck between two steps reports the activity that it is stuck in.
func TestActivityBetweenSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := filestore.Open(filepath.Join(t.TempDir(), "store"), filestore.Config{Sync: filestore.SyncOff})
		if err != nil {
			t.Fatal(err)
		}
		h := NewHub(Config{Replica: "a"}, StoreOf(s.Sessions))
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { h.Run(ctx) })
		defer func() {
			cancel()
			wg.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}()
		if _, err := h.Create(t.Context(), NewSession{ID: "ses-1", User: "ada"}); err != nil {
			t.Fatal(err)
		}
		hd, err := h.Open(t.Context(), "ses-1")
		if err != nil {
			t.Fatal(err)
		}
		defer hd.Close()
		wantActivity := func(want string) {
			t.Helper()
			time.Sleep(time.Second)
			all := h.Statuses(t.Context())
			if len(all) != 1 || all[0].Activity != want || all[0].Stuck != (want != "") {
				t.Errorf("statuses are %+v, want one with the activity %q", all, want)
			}
		}
		gate := make(chan struct{})
		hd.live.activeOwner.Load().view.requestStatus(&statusRequest{run: func(*introspection) { <-gate }})
		wantActivity("look")
		close(gate)
		wantActivity("")
		reply := make(chan wire.SessionState)
		if err := hd.live.mailbox.requestSnapshot(snapshotRequest{reply: reply}); err != nil {
			t.Fatal(err)
		}
		wantActivity("snapshot")
		<-reply
		wantActivity("")
	})
}

func TestRestoreOrderIsAnActivity(t *testing.T) {
	t.Parallel()
	table := activityTable()
	if got := table.names[table.orders[orderRestore]]; got != string(orderRestore) {
		t.Errorf("got activity %q for an order to restore, want %q", got, orderRestore)
	}
}
