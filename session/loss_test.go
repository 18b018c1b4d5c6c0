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

// A store whose file was cut has lost what was said last. The session says so in its
// conversation, once.
func TestLossIsShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	with := func(do func(h *session.Hub)) {
		t.Helper()
		s, err := filestore.Open(dir, filestore.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		ok(t, err)
		h, stop := startHub(t, s, "a", session.Config{})
		do(h)
		stop()
		ok(t, s.Close())
	}
	with(func(h *session.Hub) {
		create(t, h, "ses-1")
		r := enter(t, h, "ses-1")
		for _, id := range []wire.MessageID{"m1", "m2", "m3", "m4"} {
			ask(t, r, says("c", id, wire.UserMessage{Content: strings.Repeat("words ", 200)}))
		}
	})
	path := filepath.Join(dir, "00000001.seg")
	info, err := os.Stat(path)
	ok(t, err)
	ok(t, os.Truncate(path, info.Size()/2))
	for range 2 {
		with(func(h *session.Hub) {
			r := enter(t, h, "ses-1")
			settled(t, r)
			state, err := r.Snapshot(t.Context(), nil)
			ok(t, err)
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
