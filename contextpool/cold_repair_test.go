package contextpool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/contextpool"
	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const coldMain = "cold:api:" + mainThread

// removedMessage returns a message that a rewind removed and whose removal the store lost.
func removedMessage(t *testing.T, id uint64) []byte {
	t.Helper()
	e := asked("x")
	e.Blocks[0].Text = "TAKEN BACK"
	data, err := json.Marshal(history.Message{ID: id, Row: 1, Entry: e, CondenseParent: "gone"})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Messages whose removal the store lost do not come back, wherever they are in the cold list.
func TestStaleMessagesDoNotComeBack(t *testing.T) {
	t.Parallel()
	base := newRig(t)
	var want []string
	for i := range 300 {
		id := fmt.Sprintf("m%d", i)
		base.runTurn(id)
		if i < 150 {
			want = append(want, "> text of "+id, "answer to "+id)
		}
	}
	for name, spoil := range map[string]func(all [][]byte, stale []byte) [][]byte{
		"at the beginning": func(all [][]byte, stale []byte) [][]byte { return slices.Insert(all, 0, stale) },
		"in the middle":    func(all [][]byte, stale []byte) [][]byte { return slices.Insert(all, 100, stale) },
		"at the end":       func(all [][]byte, stale []byte) [][]byte { return append(all, stale) },
		"instead of some":  func(all [][]byte, stale []byte) [][]byte { return append(all[:100:100], stale) },
		"instead of all":   func(_ [][]byte, stale []byte) [][]byte { return [][]byte{stale} },
	} {
		for _, heals := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", heals), func(t *testing.T) {
				r := base.fork(t)
				t.Parallel()
				had := len(r.kept.lists[coldMain])
				r.kept.lists[coldMain] = spoil(slices.Clone(r.kept.lists[coldMain]), removedMessage(t, 3))
				if heals {
					r.repairColdLists()
				}
				r.runTurn("n")
				if refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m150").TS}); refused != nil {
					t.Fatalf("the rewind is refused with %+v, want it done", refused)
				}
				r.crash()
				for _, list := range []string{coldMain, "api:" + mainThread} {
					if all := strings.Join(bytesOf(r.kept.lists[list]), " "); strings.Contains(all, "TAKEN BACK") {
						t.Errorf("%s, with %d messages in the cold list before, has the removed text, want it gone", list, had)
					}
				}
				if !strings.HasPrefix(name, "instead") { // with "instead" some messages are lost
					r.wantKnown(mainThread, strings.Join(want, "; "))
				}
			})
		}
	}
}

// repairColdLists does what a session does after it found that its store lost data.
func (r *rig) repairColdLists() {
	r.t.Helper()
	r.step(func() {
		ops, err := r.pool.RepairColdLists(r.kept.tables)
		if err != nil {
			r.t.Fatalf("%v", err)
		}
		r.AddOps(ops...)
		r.AddOps(r.pool.AllOps()...)
	})
	if n := strings.Count(strings.Join(bytesOf(r.kept.lists[coldMain]), " "), "TAKEN BACK"); n > 0 {
		r.t.Fatalf("got %d removed messages in the cold list, want 0", n)
	}
}

// The cold list of an agent that no longer exists, or has no cold messages, is dropped.
func TestStaleListsGo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.runTurn("m1")
	r.kept.lists[coldMain] = [][]byte{removedMessage(t, 2)}
	r.kept.lists["cold:api:main-monitor-9"] = [][]byte{removedMessage(t, 2)}
	r.step(func() {
		ops, err := r.pool.RepairColdLists(map[string]map[string][]byte{"threads": {"main-monitor-9": nil}})
		if err != nil {
			t.Error(err)
		}
		r.AddOps(ops...)
	})
	if len(r.kept.lists[coldMain])+len(r.kept.lists["cold:api:main-monitor-9"]) > 0 {
		t.Errorf("got %d and %d values in stale cold lists, want 0", len(r.kept.lists[coldMain]), len(r.kept.lists["cold:api:main-monitor-9"]))
	}
}

// A rewind that is too large for one batch is refused before anything changes.
func TestRewindOfTooMuch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// The threads of many agents are just small enough, and then too large.
	addTurn := func(i, pairs int) {
		window := fmt.Sprintf("w%d", i)
		id := fmt.Sprintf("m%d-%d", pairs, i)
		r.toWindow(id, window)
		run := r.run("window-" + window)
		var entries []providers.Entry
		for range pairs {
			entries = append(entries, asked(id), said(id, "yes"))
		}
		r.remember(run, entries...)
		r.ended(run)
	}
	for i := range 8 {
		r.open(first, fmt.Sprintf("w%d", i))
		addTurn(i, 190)
	}
	for i := range 8 {
		addTurn(i, 20)
	}
	list := "cold:api:window-monitor-0/w0"
	kept := len(r.kept.lists[list])
	if kept == 0 {
		t.Fatalf("got %d messages in the cold list, want some", kept)
	}
	r.most, r.biggest = 0, 0
	refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m20-0").TS})
	if refused == nil || refused.Code != wire.CodeMessageTooLarge {
		t.Errorf("the rewind is answered with %+v after a step of %d items, want code %s", refused, r.most, wire.CodeMessageTooLarge)
	}
	if len(r.kept.lists[list]) != kept || r.most > 0 {
		t.Errorf("got %d values and a step of %d items after a refusal, want %d and 0", len(r.kept.lists[list]), r.most, kept)
	}
	// A smaller rewind is possible.
	if refused := r.rewind(contextpool.RewindRequest{TS: r.rowOf("text of m20-4").TS}); refused != nil {
		t.Errorf("a smaller rewind is refused with %+v, want it done", refused)
	}
	r.wantSteps()
}

func sameOp(a, b store.Op) bool {
	return a.Kind == b.Kind && a.Name == b.Name && a.Field == b.Field && a.N == b.N && slices.EqualFunc(a.Values, b.Values, bytes.Equal)
}

// fork returns a copy of the session after a takeover.
func (r *rig) fork(t fataler) *rig {
	c := *r
	c.t = t
	c.kept.tables, c.kept.lists = r.kept.clone()
	c.events, c.gone = slices.Clone(r.events), maps.Clone(r.gone)
	c.ops, c.then = slices.Clone(r.ops), slices.Clone(r.then)
	c.cancelled, c.worked = slices.Clone(r.cancelled), slices.Clone(r.worked)
	c.archive = map[wire.MonitorID][]wire.UIRow{}
	for monitor, rows := range r.archive {
		c.archive[monitor] = slices.Clone(rows)
	}
	c.crash()
	return &c
}
