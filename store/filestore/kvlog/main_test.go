package kvlog_test

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tb is what *testing.T and *rapid.T have in common.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
}

// smallSegments makes everything that happens between segments happen often.
func smallSegments() kvlog.Config { return kvlog.Config{SegmentBytes: 4 << 10} }

func open(t tb, dir string, cfg kvlog.Config) *kvlog.Log {
	t.Helper()
	l, err := kvlog.Open(dir, cfg)
	ok(t, err)
	return l
}

// openFor opens a log and closes it at the end of the test.
func openFor(t *testing.T, dir string, cfg kvlog.Config) *kvlog.Log {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	l := open(t, dir, cfg)
	t.Cleanup(func() { ok(t, l.Close()) })
	return l
}

func ok(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func is(t tb, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

func put(t tb, l *kvlog.Log, bucket, key, value string) {
	t.Helper()
	b := kvlog.NewBatch(bucket)
	b.Put(key, []byte(value))
	ok(t, l.Apply(b))
}

// content is everything in a log.
type content map[string]map[string]string

func (c content) clone() content {
	out := content{}
	for name, b := range c {
		out[name] = maps.Clone(b)
	}
	return out
}

func (c content) equal(d content) bool {
	return maps.EqualFunc(c, d, func(a, b map[string]string) bool { return maps.Equal(a, b) })
}

// read returns the content of a log. Empty buckets are left out.
func read(t tb, l *kvlog.Log) content {
	t.Helper()
	out := content{}
	for name := range l.Buckets("") {
		b := readBucket(t, l, name)
		if len(b) > 0 {
			out[name] = b
		}
	}
	return out
}

func readBucket(t tb, l *kvlog.Log, name string) map[string]string {
	t.Helper()
	s, err := l.Select(name, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		for e := range x.Ascend("", "") {
			keep(e)
		}
	})
	ok(t, err)
	defer s.Close()
	values, err := s.Values(0, len(s.Entries()))
	ok(t, err)
	b := map[string]string{}
	for i, e := range s.Entries() {
		b[e.Key] = string(values[i])
	}
	return b
}

// files returns the content of all files in a folder.
func files(t tb, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	names, err := os.ReadDir(dir)
	ok(t, err)
	for _, n := range names {
		if n.Type().IsRegular() {
			out[n.Name()], err = os.ReadFile(filepath.Join(dir, n.Name()))
			ok(t, err)
		}
	}
	return out
}

// quickDir is a folder on a file system in memory if there is one: for tests
// that open logs a thousand times and do not care about the disk.
func quickDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join("/dev/shm", "kvlog-"+rand.Text())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { ok(t, os.RemoveAll(dir)) })
	return dir
}

// restore makes a new folder with the given files.
func restore(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := quickDir(t)
	for name, data := range files {
		ok(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}

// segments returns the names of segment files in order.
func segments(files map[string][]byte) []string {
	return slices.Sorted(maps.Keys(maps.Collect(func(yield func(string, bool) bool) {
		for name := range files {
			if filepath.Ext(name) == ".seg" && !yield(name, true) {
				return
			}
		}
	})))
}
