package chaos_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/wire"
)

// diskBytes is the size of the disk.
const diskBytes = 8 << 20

// F14: the disk of a file store is full. Messages are refused with an error that says to retry,
// open sessions can be read, a hub that starts on the full disk opens the sessions that it can and
// refuses the others, no record is torn, and everything continues when there is space again.
func TestF14Disk(t *testing.T) {
	t.Parallel()
	if plan.Full && !plan.RunInNamespace(t) {
		return
	}
	began := time.Now()
	var out fullResults
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if plan.Full {
		hubtest.MountTmpfs(t, dir, diskBytes)
	}
	f := hubtest.Start(t, hubtest.Options{Program: program, Hubs: 1, Store: "file:" + filepath.Join(dir, "data"), Args: []string{"--lease", "3s"}})
	h := plan.NewHistory(t, "f14")
	c := &fullStoreSession{f: f, h: h, out: &out}
	c.d = newDesktop(t, f, h, "f14", 2, func(int) string { return f.Balancer.URL() })
	hub := f.Hubs[0]
	var opened, bad int
	for n := range plan.Rounds(1, 30) {
		c.startTurn(t)
		fill, free := fileSizeLimiter(t, hub)
		if plan.Full {
			fill, free = diskFiller(t, dir)
		}
		fill()
		h.AddFault("the disk is full")
		c.useWhileFull(t)
		if plan.Full && n%2 == 1 {
			// A hub that starts on a full disk opens the sessions that can be claimed in the last
			// bytes, and refuses the others. No record is torn.
			h.AddFault("kill %s", hub.ID())
			hub.Kill(t)
			hub.Start(t)
			log, err := f.ReadLog(t, hub.URL, c.d.id)
			status, ok := errors.AsType[*hubtest.StatusError](err)
			told := ok && status.Status == http.StatusServiceUnavailable && strings.Contains(status.Body, strconv.Itoa(int(wire.CodeStoreUnavailable)))
			switch {
			case err == nil && len(log) > 0:
				opened++
			case !told:
				t.Errorf("hub started on a full disk: got a log of %d events, error %v, want events or an error about the space", len(log), err)
			}
			bad += scan(t, copyDir(t, filepath.Join(dir, "data"))).damage()
		}
		free()
		c.sendUntilAccepted(t, h.AddFault("there is room"))
	}
	violations := f.Finish(t, h, c.d.tabs, hubtest.Rules{})
	for _, tab := range c.d.tabs {
		tab.Close()
	}
	hub.Kill(t)
	bad += scan(t, filepath.Join(dir, "data")).damage()
	if bad > 0 {
		t.Errorf("records that cannot be read: got %d, want 0", bad)
	}
	out.check(t)
	plan.Add(t, hubtest.Result{
		Fault: "F14", What: "the disk is full", Rounds: out.round.count(), Violations: violations, Seconds: time.Since(began).Seconds(),
		Figures: append(out.figures(), hubtest.Figure{Name: "opened by a hub started on a full disk", Value: strconv.Itoa(opened)},
			hubtest.Figure{Name: "records that cannot be read", Value: strconv.Itoa(bad), Wanted: "0"}),
	})
}

// diskFiller fills a disk with a file that is not the hub's.
func diskFiller(t *testing.T, dir string) (fill, free func()) {
	t.Helper()
	name := filepath.Join(dir, "foreign")
	fill = func() {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		for size := 64 << 10; size > 0; {
			n, err := f.Write(make([]byte, size))
			switch {
			case errors.Is(err, syscall.ENOSPC) || err == nil && n < size:
				size /= 2
			case err != nil:
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	free = func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	return fill, free
}

// fileSizeLimiter limits the file size of a hub process, where no disk can be mounted.
func fileSizeLimiter(t *testing.T, hub *hubtest.Hub) (fill, free func()) {
	t.Helper()
	limit := func(bytes uint64) {
		// The soft limit can be raised again, unlike the hard one.
		l := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
		if err := unix.Prlimit(hub.Pid(), unix.RLIMIT_FSIZE, &l, nil); err != nil {
			t.Fatal(err)
		}
	}
	return func() { limit(0) }, func() { limit(unix.RLIM_INFINITY) }
}

// copyDir returns a copy of a folder.
func copyDir(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
