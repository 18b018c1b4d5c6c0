package checkpoints_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/everdesk/everdesk/checkpoints"
)

// TestManyFiles saves a tree with many files. The long version judges the time of a save without a
// change.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	count := 2000
	if long() {
		count = 100_000
	}
	r := newRig(t, checkpoints.Config{Timeout: 10 * time.Minute})
	for i := range count {
		r.write(fmt.Sprintf("d%d/e%d/f%d", i%100, i/100%10, i), fmt.Sprintf("file %d\n", i))
	}
	start := time.Now()
	first := r.save()
	t.Logf("%d files: the first save takes %v", count, time.Since(start))
	r.save() // files of the last tick are compared once more
	start = time.Now()
	if again := r.save(); again.New {
		t.Error("a save without a change: got a new checkpoint")
	}
	took := time.Since(start)
	t.Logf("%d files: a save without a change takes %v", count, took)
	if long() && took > 2*time.Second {
		t.Errorf("a save without a change takes %v, want at most 2s", took)
	}
	r.write("d1/e1/new", "x")
	start = time.Now()
	r.save()
	t.Logf("%d files: a save of one change takes %v", count, time.Since(start))
	start = time.Now()
	if done := r.restore(first.Hash); done.Changed != 1 {
		t.Errorf("the restore changed %d files, want 1", done.Changed)
	}
	t.Logf("%d files: a restore of one change takes %v", count, time.Since(start))
}

func diskUse(tb testing.TB, dir string) (n int64) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// The disk grows with what changed, not with the number of checkpoints or sessions.
func TestDiskGrowsWithChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, checkpoints.Config{})
	content := make([]byte, 1<<20)
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	for i := range 4 {
		content[0] = byte(i)
		r.write(fmt.Sprintf("big%d", i), string(content))
	}
	r.save()
	before := diskUse(t, r.repo())
	for i := range 20 {
		r.write("small", strconv.Itoa(i))
		r.save()
		if _, err := r.s.Save(t.Context(), r.w, fmt.Sprintf("ses-%d", i+2), checkpoints.Note{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if grew := diskUse(t, r.repo()) - before; grew > 64<<10 {
		t.Errorf("20 small changes and 20 more sessions use %d bytes, want at most 64 KiB", grew)
	}
	if entries, err := os.ReadDir(r.dir()); err != nil || len(entries) != 1 {
		t.Errorf("repositories: got %v (error %v), want one", entries, err)
	}
}
