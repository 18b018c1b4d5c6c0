package session_test

import (
	"fmt"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// A restore closes windows before it opens others: the number of windows is bounded, and all of a checkpoint fit.
func TestRestoreOfManyWindows(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	d := startAgentHub(t, s, withCheckpoints(f)).newDesktop(t, "ses-1")
	const many = 60 // twice as many do not fit
	lines := func(format string) (all []string) {
		for i := range many {
			all = append(all, fmt.Sprintf(format, i))
		}
		return all
	}
	turn := 0
	do := func(lines ...string) {
		t.Helper()
		turn++
		id := wire.MessageID(fmt.Sprint("m", turn))
		d.sendText(firstMonitor, id, lines...)
		d.waitTurnEnd(id)
	}
	do(writeFile("a.txt", "one"))
	empty := d.savedFor("tool")
	do(lines("/window a%d Title | text")...)
	d.waitIdle()
	closed, is := d.sendAndWait("r1", wire.RestoreCheckpoint{Hash: empty.Hash}).(wire.CheckpointRestored)
	if !is || closed.Windows != many {
		t.Fatalf("restore of an empty desktop: got %+v, want %d closed windows", closed, many)
	}
	do(lines("/window b%d Title | text")...)
	d.waitIdle()
	done, is := d.sendAndWait("r2", wire.RestoreCheckpoint{Hash: closed.Safety}).(wire.CheckpointRestored)
	if !is || done.Windows != 2*many {
		t.Errorf("restore: got %+v, want %d changed windows", done, 2*many)
	}
	got := d.windows(firstMonitor)
	if len(got) != many || got[0][0] != 'a' || got[many-1][0] != 'a' {
		t.Errorf("windows after the restore: got %v, want those of the checkpoint", got)
	}
}
