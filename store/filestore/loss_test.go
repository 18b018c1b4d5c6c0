package filestore_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// TestTruncatedStore cuts the log in half. The sessions that are left say so, until
// their owner removes it; none is quarantined.
func TestTruncatedStore(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 2} { // of the segment, as a divisor
		t.Run(fmt.Sprint("to 1 of ", size), func(t *testing.T) {
			t.Parallel()
			dir := quickDir(t)
			chronicle(t, dir)
			path := filepath.Join(dir, "00000001.seg")
			info, err := os.Stat(path)
			ok(t, err)
			var left int64
			if size > 0 {
				left = info.Size() / size
			}
			ok(t, os.Truncate(path, left))

			var log bytes.Buffer
			s := open(t, dir, filestore.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			page, err := s.Sessions.Sessions(t.Context(), store.Query{})
			ok(t, err)
			if want := map[bool]int{true: 2}[size > 0]; len(page.Items) != want {
				t.Fatalf("%d sessions are left, want %d", len(page.Items), want)
			}
			if !bytes.Contains(log.Bytes(), []byte("level=ERROR")) {
				t.Errorf("the log has no line of level ERROR, want one:\n%s", &log)
			}
			for _, i := range page.Items {
				if i.Quarantined != "" {
					t.Errorf("session %s is quarantined: %s, want no quarantine", i.ID, i.Quarantined)
				}
				if losses := lossesOf(t, s, i.ID); len(losses) == 0 {
					t.Errorf("session %s has no event that says what may be lost, want one", i.ID)
				}
			}
			if size > 0 {
				lease, err := s.Sessions.Claim(t.Context(), "s", "a", time.Hour)
				ok(t, err)
				_, err = s.Sessions.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{store.Clear(store.LossTable)}})
				ok(t, err)
			}
			ok(t, s.Sessions.Create(t.Context(), store.NewSession{ID: "new", User: "u"}))
			ok(t, s.Close())

			s = open(t, dir, filestore.Config{})
			for id, want := range map[wire.SessionID]bool{"s": false, "new": false, "other": size > 0} {
				if size == 0 && id != "new" {
					continue
				}
				if got := len(lossesOf(t, s, id)) > 0; got != want {
					t.Errorf("after opening again session %s says that something may be lost: %v, want %v", id, got, want)
				}
			}
			if info, err := os.Stat(path); err != nil || info.Size() != left {
				t.Errorf("the damaged segment is %v, error %v; want %d bytes", info, err, left)
			}
		})
	}
}

func lossesOf(t *testing.T, s *filestore.Store, id wire.SessionID) map[string][]byte {
	t.Helper()
	state, err := s.Sessions.Load(t.Context(), id)
	ok(t, err)
	return state.Tables[store.LossTable]
}
