package kvlog_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// TestPanicReleasesLock panics in the callback of Select. The log goes on.
func TestPanicReleasesLock(t *testing.T) {
	t.Parallel()
	l := openFor(t, quickDir(t), kvlog.Config{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Select swallowed a panic of its caller, want it to go on")
			}
		}()
		_, err := l.Select("b", func(*kvlog.Index, func(kvlog.Entry)) { panic("by the caller") })
		t.Errorf("Select returned %v, want the panic of its caller", err)
	}()
	put(t, l, "b", "key", "value")
}

// TestLosingAnotherSegment loses a segment of a bucket with an evicted index, and later
// another one: both are reported, each with its own report.
func TestLosingAnotherSegment(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	reports := map[string]bool{}
	cfg := smallSegments()
	cfg.OnDamage = func(d kvlog.Damage) {
		if strings.HasPrefix(d.Report, "lost-") {
			reports[d.Report] = true
		}
	}
	l := open(t, dir, cfg)
	for i := range 20 {
		put(t, l, "b", fmt.Sprintf("key%02d", i), strings.Repeat("x", 900))
	}
	ok(t, l.Evict("b"))
	ok(t, l.Close())
	for n, name := range []string{"00000002.seg", "00000003.seg"} {
		ok(t, os.Remove(filepath.Join(dir, name)))
		l := open(t, dir, cfg)
		if len(reports) != n+1 {
			t.Errorf("%d segments are missing and the reports are %v, want one for each", n+1, slices.Sorted(maps.Keys(reports)))
		}
		ok(t, l.Close())
	}
}

// TestReportBeforeDeletion checks that compaction reports damage before it deletes the
// value's entry.
func TestReportBeforeDeletion(t *testing.T) {
	t.Parallel()
	dir := quickDir(t)
	synctest.Test(t, func(t *testing.T) {
		told := 0
		var l *kvlog.Log
		cfg := smallSegments()
		cfg.OnDamage = func(kvlog.Damage) {
			told++
			path, _, _ := l.Where("damaged", "key")
			if path == "" {
				t.Error("the value was deleted before the damage was reported, want it there until then")
			}
		}
		l = openFor(t, dir, cfg)
		put(t, l, "damaged", "key", "value")
		path, off, _ := l.Where("damaged", "key")
		flip(t, path, off)
		for range 100 {
			put(t, l, "busy", "key", strings.Repeat("x", 1000))
		}
		synctest.Wait()
		if told != 1 {
			t.Errorf("damage was told %d times, want once", told)
		}
	})
}
