package agentpool_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers"
)

// What a process changes in its working directory is published after each step and at the end of a turn, also of one that is
// interrupted, before the end is reported. An error does not end the turn.
func TestChangedFilesArePublished(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		var published atomic.Int32
		r.provider.caps.Process = true
		r.workDir = agentpool.WorkDir{Path: "/work", Publish: func(context.Context) error {
			published.Add(1)
			return errors.New("too many files")
		}}
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
		expect("after a step", 1)
		r.Interrupt("1", "enough")
		expect("after the end", 2)
		if specs, _, _ := r.provider.received(); len(specs) != 1 || specs[0].Dir != "/work" {
			t.Errorf("the provider was opened with %+v, want one session in /work", specs)
		}
		if lines := r.lines(); !slices.Contains(lines, "1 interrupted enough") {
			t.Errorf("reports are %q, want the interrupted end", lines)
		}
	})
}

// A file system that does not answer delays the end of a turn only for a while.
func TestSlowPublicationOfFiles(t *testing.T) {
	t.Parallel()
	bubble(t, agentpool.Limits{}, func(r *rig) {
		t := r.t
		answer := make(chan struct{})
		r.provider.caps.Process = true
		r.workDir = agentpool.WorkDir{Path: "/work", Publish: func(context.Context) error { <-answer; return nil }}
		r.Start(mainRun("1"))
		synctest.Wait()
		before := len(r.recorded())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if after := r.recorded(); len(after) <= before {
			t.Errorf("reports are %q, want the end of the turn", r.lines())
		} else if _, ok := after[len(after)-1].(agentpool.Ended); !ok {
			t.Errorf("the last report is %T, want the end of the turn", after[len(after)-1])
		}
		close(answer)
	})
}
