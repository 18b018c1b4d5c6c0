package session_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// A change of files that any replica publishes is in the log, and so reaches the tabs of all.
func TestChangedFilesAreInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, _ := startHub(t, newFaultStore(s), "a", session.Config{})
		b, _ := startHub(t, newFaultStore(s), "b", session.Config{})
		createSession(t, a, "ses-1")
		owner := openHandle(t, a, "ses-1")
		deliverBarrier(t, owner)
		for _, hub := range []*session.Hub{a, b} {
			requireNoError(t, hub.PublishFiles(t.Context(), "ses-1", []wire.FileChange{{Path: "a.md", Size: 3, ETag: "x"}}))
			time.Sleep(time.Second)
		}
		log, err := owner.Read(t.Context(), wire.Position{}, 1000)
		requireNoError(t, err)
		found := 0
		for _, e := range log {
			frame, err := wire.Native{}.DecodeEvent(e.Frame)
			requireNoError(t, err)
			if c, ok := frame.Data.(wire.FilesChanged); ok && len(c.Files) == 1 && c.Files[0].Path == "a.md" {
				found++
			}
		}
		if found != 2 {
			t.Errorf("FILES_CHANGED in the log: got %d, want 2, one from each replica", found)
		}
	})
}
