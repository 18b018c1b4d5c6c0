package engines

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	bolt "go.etcd.io/bbolt"

	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// reader counts the complete batches of every session in a closed folder. wrong is the number of
// batches that it read and that were never written.
type reader func(dir string) (batches [sessions]int, wrong int, err error)

func readFile(dir string) (batches [sessions]int, wrong int, err error) {
	s, err := filestore.Open(dir, filestore.Config{})
	if err != nil {
		return batches, 0, err
	}
	defer func() { _ = s.Close() }()
	for i := range sessions {
		id := wire.SessionID(fmt.Sprintf("s%02d", i))
		info, err := s.Sessions.Session(noContext, id)
		if err != nil {
			continue
		}
		from := info.Oldest
		for {
			events, err := s.Sessions.Read(noContext, id, from, 1000)
			if err != nil || len(events) == 0 {
				break
			}
			for _, e := range events {
				if e.At.Seq > 0 && !bytes.Equal(e.Frame, frames[0]) {
					wrong++
				}
				if e.At.Seq > 0 && e.At.Seq%perBatch == 0 {
					batches[i]++
				}
				from = e.At
			}
		}
	}
	return batches, wrong, nil
}

func readBolt(dir string) (batches [sessions]int, wrong int, err error) {
	db, err := bolt.Open(filepath.Join(dir, "bolt.db"), 0o600, nil)
	if err != nil {
		return batches, 0, err
	}
	defer func() { _ = db.Close() }()
	err = db.View(func(tx *bolt.Tx) error {
		for i := range sessions {
			t := tx.Bucket(fmt.Appendf(nil, "s%02d", i))
			if t == nil {
				continue
			}
			c := t.Cursor()
			prefix := fmt.Appendf(nil, "s%02d/e/", i)
			for k, v := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix); k, v = c.Next() {
				batches[i]++
				if !bytes.Equal(v, sealed()) {
					wrong++
				}
			}
		}
		return nil
	})
	return batches, wrong, err
}

func readPebble(dir string) (batches [sessions]int, wrong int, err error) {
	db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}})
	if err != nil {
		return batches, 0, err
	}
	defer func() { _ = db.Close() }()
	for i := range sessions {
		it, err := db.NewIter(&pebble.IterOptions{LowerBound: fmt.Appendf(nil, "s%02d/e/", i), UpperBound: fmt.Appendf(nil, "s%02d/f", i)})
		if err != nil {
			return batches, wrong, err
		}
		for it.First(); it.Valid(); it.Next() {
			batches[i]++
			if !bytes.Equal(it.Value(), sealed()) {
				wrong++
			}
		}
		_ = it.Close() // its error is that a part is missing, which is counted
	}
	return batches, wrong, nil
}

func readers() map[string]reader {
	return map[string]reader{"filestore": readFile, "bbolt": readBolt, "pebble": readPebble}
}

const (
	flips   = 100 // bits that are flipped, one at a time
	written = 20  // batches of every session
)

// TestFlippedBits flips single bits in closed folders and reports the effect on each engine. It has
// requirements only for the store itself: it opens, returns nothing that was never written, and a
// damaged record affects one session.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"filestore/always", "bbolt/sync", "pebble/sync"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := filepath.Join(t.TempDir(), "good")
			fill(t, name, good, written)
			kind, _, _ := strings.Cut(name, "/")
			var refused, crashed, wrong, most int
			for n := range flips {
				dir := filepath.Join(t.TempDir(), "bad")
				ok(t, os.CopyFS(dir, os.DirFS(good)))
				flipSomewhere(t, dir, n)
				// In a child process: some engines crash.
				out, err := command(t, "read", kind, dir).Output()
				var hurt, bad int
				if _, scan := fmt.Sscan(string(out), &hurt, &bad); err != nil || scan != nil {
					refused++
					if exit, found := errors.AsType[*exec.ExitError](err); found && bytes.Contains(exit.Stderr, []byte("goroutine")) {
						crashed++
					}
				}
				wrong += min(bad, 1)
				most = max(most, hurt)
				ok(t, os.RemoveAll(dir))
			}
			t.Logf("%d flipped bits: %d times nothing could be read, %d of them the process died, %d times wrong data was shown, else at most %d of %d sessions suffered",
				flips, refused, crashed, wrong, most, sessions)
			if kind == "filestore" && (refused > 0 || wrong > 0 || most > 1) {
				t.Errorf("store: %d not opened, %d wrong batches, up to %d sessions damaged; want 0, 0 and at most 1", refused, wrong, most)
			}
		})
	}
}

// flipSomewhere flips a bit in one of the files that hold data.
func flipSomewhere(t *testing.T, dir string, n int) {
	t.Helper()
	var paths []string
	var sizes []int64
	total := int64(0)
	ok(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "LOCK" || d.Name() == "FORMAT" {
			return err
		}
		info, err := d.Info()
		if err == nil {
			paths, sizes, total = append(paths, path), append(sizes, info.Size()), total+info.Size()
		}
		return err
	}))
	off := rand.New(rand.NewPCG(1, uint64(n))).Int64N(total)
	for i, size := range sizes {
		if off >= size {
			off -= size
			continue
		}
		data, err := os.ReadFile(paths[i])
		ok(t, err)
		data[off] ^= 1 << (n % 8)
		ok(t, os.WriteFile(paths[i], data, 0o600))
		return
	}
}

// TestKilledProcess kills a process after its last acknowledged commit, without sync, and counts the
// batches that are left.
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"filestore/off", "bbolt/nosync", "pebble/nosync"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if exit, was := errors.AsType[*exec.ExitError](command(t, "write", name, dir).Run()); !was || exit.Exited() {
				t.Fatalf("the process ended with %v, want it killed", exit)
			}
			kind, _, _ := strings.Cut(name, "/")
			batches, _, err := readers()[kind](dir)
			ok(t, err)
			left := 0
			for _, b := range batches {
				left += b
			}
			t.Logf("%d of %d acknowledged batches are left", left, sessions*written)
			if kind == "filestore" && left != sessions*written {
				t.Errorf("%d of %d acknowledged batches are left, want all", left, sessions*written)
			}
		})
	}
}

// TestMain runs the tests, or one of two programs that they start.
func TestMain(m *testing.M) {
	args := strings.Split(os.Getenv("ENGINES_PROGRAM"), " ")
	switch args[0] {
	case "write": // and kill itself
		testing.Benchmark(func(b *testing.B) { //nolint:thelper // it is the program, not a test helper
			write(b, args[1], args[2], written)
			ok(b, syscall.Kill(os.Getpid(), syscall.SIGKILL))
		})
	case "read": // and print how many sessions miss something, and what is wrong
		batches, wrong, err := readers()[args[1]](args[2])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		hurt := 0
		for _, b := range batches {
			if b != written {
				hurt++
			}
		}
		fmt.Fprintln(os.Stdout, hurt, wrong)
	default:
		os.Exit(m.Run())
	}
}

// command returns a command that runs one of the programs.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	ok(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), "ENGINES_PROGRAM="+strings.Join(args, " "))
	return cmd
}

// fill writes batches to every session and closes the engine.
func fill(tb testing.TB, name, dir string, n int) {
	tb.Helper()
	ok(tb, os.MkdirAll(dir, 0o700))
	e := write(tb, name, dir, n)
	ok(tb, e.close())
}

func write(tb testing.TB, name, dir string, n int) engine {
	tb.Helper()
	for _, c := range candidates() {
		if c.name != name {
			continue
		}
		e := c.open(tb, dir)
		for i := range n {
			for s := range sessions {
				ok(tb, e.commit(s, i+1))
			}
		}
		return e
	}
	tb.Fatalf("unknown engine %s, want a known one", name)
	return nil
}
