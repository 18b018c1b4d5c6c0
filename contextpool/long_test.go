package contextpool_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

// ours returns the size of the pool's stored state.
func (r *rig) ours() (items, bytes int) {
	for _, op := range r.pool.AllOps() {
		items += len(op.Values)
		for _, v := range op.Values {
			bytes += len(v)
		}
	}
	return items, bytes
}

// The stored state of 650 turns is no larger than that of 500, by which all lists have been pruned.
func TestManyTurns(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	r.open(first, "w")
	turn := func(run agentpool.Run, i int) {
		r.began(run)
		r.remember(run, toolCall(string(run.Turn), strings.Repeat("x", 1000), "c"))
		r.act(run, "c", window(fmt.Sprintf("of-%d", i%20)))
		r.remember(run, toolResult(string(run.Turn), "c"))
		r.said(run, strings.Repeat("y", 2000))
		r.remember(run, said(string(run.Turn), strings.Repeat("y", 2000)))
		r.ended(run)
	}
	biggest, most := 0, 0
	for i := range 650 {
		r.now = r.now.Add(10 * time.Second)
		id := fmt.Sprintf("m%d", i)
		r.step(func() { r.pool.RecordInteraction(first, did(wire.DidCloseWindow, id)) })
		switch i % 4 {
		case 0, 1:
			r.user(id)
			turn(r.run("main-monitor-0-"+id), i)
		case 2:
			r.user(id, second)
			turn(r.run("main-monitor-1-"+id), i)
		case 3:
			r.toWindow(id, "w")
			turn(r.run("window-w"), i)
		}
		r.events = nil
		if i%50 != 49 {
			continue
		}
		items, bytes := r.ours()
		if i < 500 {
			biggest, most = max(biggest, bytes), max(most, items)
		} else if bytes > biggest+biggest/4 || items > most+most/4 {
			t.Fatalf("after %d turns there are %d bytes in %d items, want at most %d in %d", i, bytes, items, biggest+biggest/4, most+most/4)
		}
	}
	if biggest > 8<<20 || r.biggest > 3<<20 {
		t.Fatalf("%d bytes are kept, up to %d in one step, want at most 8 MiB and 3 MiB", biggest, r.biggest)
	}
	r.crash()
}

// The state fits into a real store and is restored from it.
func TestARealStore(t *testing.T) {
	t.Parallel()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	if err := s.Sessions.Create(ctx, store.NewSession{ID: session, User: "u"}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.Sessions.Claim(ctx, session, "r1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	long := wire.WindowID(strings.Repeat("창", 64))
	r := newRigWith(t, budgetOf(0, 0, 0), second)
	r.open(second, string(long))
	r.toWindow("a", string(long), second)
	run := r.run("window-" + string(long))
	r.began(run)
	r.remember(run, toolCall("a", "x", "c1", "c2"))
	r.act(run, "c1", window("w2"))
	r.begin(run, "c2", "http:post")
	r.toWindow("b", string(long), second)
	r.runner.steers = false
	r.direct("m1")
	r.user("m2")
	r.step(func() { r.pool.RecordInteraction(second, did(wire.DidCloseWindow, string(long))) })
	if _, err := s.Sessions.Commit(ctx, lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: r.pool.AllOps()}); err != nil {
		t.Fatal(err)
	}
	loaded, err := s.Sessions.Load(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	again := contextpool.New(r.cfg, contextpool.Session{Step: r, Rows: r, State: r, Ends: r}, r.runner, r.runner)
	if err := again.Restore(loaded.Tables, loaded.Lists); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, legible(again.AllOps()), legible(r.pool.AllOps()))
	r.crash()
	r.wantStory("a", "direct by window-"+string(long)+"; interrupted: tool http:post may or may not have run")
	r.wantStory("b", "queued at 1; direct by window-"+string(long))
	wantEqual(t, r.run("window-" + string(long)).From.Entries[2].Blocks[0], providers.Block{
		Kind: providers.BlockToolResult, Call: "c1", Tool: "x_y", Text: "done",
	})
	// The pool emits no connection events.
	wantEqual(t, len(all[wire.ConnectionStatus](r)), 0)
}
