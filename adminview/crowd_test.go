package adminview_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// Subscribers of a session get updates however many single queries run, and queries are answered.
func TestQueriesDoNotStarveWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		z, last := a.opened(t, "zzz"), a.opened(t, "zzz-last")
		says(t, z, "m1")
		says(t, last, "m1")
		for i := range 64 {
			a.opened(t, wire.SessionID(fmt.Sprintf("aaa-%02d", i)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var windows [2]atomic.Int64
		var wg sync.WaitGroup
		for i, r := range []*replica{a, b} {
			wg.Go(func() {
				for u := range r.Watch(ctx, adminview.Interest{Session: "zzz"}) {
					if u.Detail != nil {
						windows[i].Store(int64(len(u.Detail.Windows)))
					}
				}
			})
			for w := range 8 {
				wg.Go(func() {
					for ctx.Err() == nil {
						for i := w; i < 64; i += 8 {
							_, _ = r.Detail(ctx, wire.SessionID(fmt.Sprintf("aaa-%02d", i)))
						}
						time.Sleep(500 * time.Millisecond)
					}
				})
			}
		}
		time.Sleep(10 * time.Second)
		says(t, z, "m2")
		time.Sleep(5 * time.Second)
		for i := range windows {
			if n := windows[i].Load(); n != 2 {
				t.Errorf("watcher %d sees %d windows, want 2", i, n)
			}
		}
		for _, r := range []*replica{a, b} {
			if d, err := r.Detail(t.Context(), "zzz-last"); err != nil || !d.Known || len(d.Windows) != 1 {
				t.Errorf("detail: got %+v, error %v, want a known session with one window", d, err)
			}
		}
		cancel()
		wg.Wait()
	})
}

// counting is a slow store that counts concurrent reads.
type counting struct {
	engine
	reads, loads atMost
}

// atMost holds the current and the maximum number of concurrent calls.
type atMost struct{ now, most atomic.Int64 }

func (m *atMost) enter() (leave func()) {
	n := m.now.Add(1)
	for was := m.most.Load(); n > was; was = m.most.Load() {
		if m.most.CompareAndSwap(was, n) {
			break
		}
	}
	return func() { m.now.Add(-1) }
}

func (c *counting) Read(ctx context.Context, id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	defer c.reads.enter()()
	time.Sleep(20 * time.Millisecond)
	return c.engine.Read(ctx, id, after, limit)
}

func (c *counting) Load(ctx context.Context, id wire.SessionID) (store.State, error) {
	defer c.loads.enter()()
	time.Sleep(20 * time.Millisecond)
	return c.engine.Load(ctx, id)
}

// Only a few sessions without an owner are read at the same time.
func TestConcurrentDetailsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &counting{engine: openStore(t)}
		a := start(t, s, "a")
		const n = 64
		id := func(i int) wire.SessionID { return wire.SessionID(fmt.Sprintf("s-%02d", i)) }
		for i := range n {
			handle := a.opened(t, id(i))
			says(t, handle, "m1")
			handle.Close()
		}
		a.stop()
		b := start(t, s, "b")
		s.reads.most.Store(0)
		s.loads.most.Store(0)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { _, _ = b.Detail(t.Context(), id(i)) })
		}
		wg.Wait()
		if reads, loads := s.reads.most.Load(), s.loads.most.Load(); reads > 4 || loads > 4 || loads == 0 {
			t.Errorf("at once: got %d reads of logs and %d loads of whole sessions, want at most 4 each and a load", reads, loads)
		}
		time.Sleep(2 * time.Second)
		for i := range n {
			if d, err := b.Detail(t.Context(), id(i)); err != nil || len(d.Windows) != 1 || len(d.Owners) != 1 {
				t.Errorf("detail of %s: got %+v, error %v, want one window and one owner", id(i), d, err)
			}
		}
	})
}

// In a log that was trimmed since the last claim the reader finds no owner, and does not wait for one.
func TestTrimmedOwnerIsNotAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := filestore.Open(filepath.Join(t.TempDir(), "store"), filestore.Config{Sync: filestore.SyncOff, Limits: store.Limits{LogEvents: 20}})
		ok(t, err)
		t.Cleanup(func() { ok(t, s.Close()) })
		a := start(t, joined{s.Sessions, s.Replicas, s.Documents}, "a")
		handle := a.opened(t, "ses-1")
		for i := range 200 {
			says(t, handle, wire.MessageID(fmt.Sprint("m", i)))
		}
		_, err = a.Detail(t.Context(), "ses-1")
		ok(t, err)
		began := time.Now()
		d, err := a.Detail(t.Context(), "ses-1")
		ok(t, err)
		if took := time.Since(began); took > 0 {
			t.Errorf("time of the query: got %v, want none", took)
		}
		if len(d.Owners) != 1 || d.Owners[0].Replica != "a" || d.Owners[0].Epoch != d.Row.Epoch || d.Owners[0].At == 0 {
			t.Errorf("owners: got %+v, want a in epoch %d with its time", d.Owners, d.Row.Epoch)
		}
	})
}
