package agentpool_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/providers"
)

// watchFunc is a watch of files.
type watchFunc func() error

func (f watchFunc) Publish(context.Context) error { return f() }

// What a process changes in the files of the session is published after each report of its conversation, and after the end of
// a turn, also of one that is interrupted. A row says once that there are too many files.
func TestChangedFilesArePublished(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		var published atomic.Int32
		r.provider.caps.Process = true
		r.workDir = agentpool.WorkDir{Path: "/work", Files: true}
		r.publish = func() error {
			published.Add(1)
			return fmt.Errorf("%w: at most 2", files.ErrFull)
		}
		expect := func(what string, want int32) {
			t.Helper()
			synctest.Wait()
			if got := published.Load(); got != want {
				t.Errorf("%s: published %d times, want %d", what, got, want)
			}
		}
		r.provider.runTurn = func(f *turn) (providers.Outcome, error) {
			f.emit(providers.Event{Kind: providers.EventEntries})
			return hang(f)
		}
		r.Start(mainRun("1"))
		expect("after a report of the conversation", 1)
		r.Interrupt("1", "enough")
		expect("after the end", 2)
		r.Start(mainRun("2"))
		synctest.Wait()
		r.Interrupt("2", "enough")
		synctest.Wait()
		if specs, _, _ := r.provider.received(); len(specs) == 0 || specs[0].Dir != "/work" {
			t.Errorf("the provider was opened with %+v, want a session in /work", specs)
		}
		r.expect(t, "1 began", "1 entries  0", "1 files session has no space for more files: at most 2", "1 interrupted enough",
			"2 began", "2 entries  0", "2 interrupted enough")
	})
}

// A folder that cannot be read fails no turn.
func TestUnreadableFilesFailNoTurn(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		r.provider.caps.Process = true
		r.workDir, r.watched = agentpool.WorkDir{Path: "/work", Files: true}, errors.New("no folder")
		r.Start(mainRun("1"))
		synctest.Wait()
		r.expect(r.t, "1 began", "1 completed")
	})
}

// A file system that does not answer delays the end of a turn for a while, and does not keep the session.
func TestFileSystemThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		answer := make(chan struct{})
		defer close(answer)
		r.provider.caps.Process = true
		r.workDir = agentpool.WorkDir{Path: "/work", Files: true}
		r.publish = func() error { <-answer; return nil }
		r.Start(mainRun("1"))
		synctest.Wait()
		if lines := r.lines(); slices.Contains(lines, "1 completed") {
			t.Errorf("reports are %q, want the end to wait for the files", lines)
		}
		time.Sleep(2 * time.Second)
		r.expect(t, "1 began", "1 completed")
		r.Close()
	})
}
