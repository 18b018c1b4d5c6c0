package session_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// A store whose file was truncated has lost the newest events. The conversation reports that once.
func TestStoreLossIsShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	with := func(do func(h *session.Hub)) {
		t.Helper()
		s, err := filestore.Open(dir, filestore.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		requireNoError(t, err)
		h, stop := startHub(t, s.Sessions, "a", session.Config{})
		do(h)
		stop()
		requireNoError(t, s.Close())
	}
	with(func(h *session.Hub) {
		createSession(t, h, "ses-1")
		r := openHandle(t, h, "ses-1")
		for _, id := range []wire.MessageID{"m1", "m2", "m3", "m4"} {
			deliverAndWait(t, r, command("c", id, wire.UserMessage{Content: strings.Repeat("words ", 200)}))
		}
	})
	path := filepath.Join(dir, "00000001.seg")
	info, err := os.Stat(path)
	requireNoError(t, err)
	requireNoError(t, os.Truncate(path, info.Size()/2))
	for range 2 {
		with(func(h *session.Hub) {
			r := openHandle(t, h, "ses-1")
			deliverBarrier(t, r)
			state, err := r.Snapshot(t.Context(), nil)
			requireNoError(t, err)
			var told, said int
			for _, row := range state.RecentMessages {
				switch {
				case row.Say == wire.SayError && strings.Contains(row.Text, "may be lost"):
					told++
				case row.MessageID != "":
					said++
				}
			}
			if told != 1 || said > 3 {
				t.Errorf("%d rows say that something may be lost and %d messages are left, want 1 and less than 4", told, said)
			}
		})
	}
}
