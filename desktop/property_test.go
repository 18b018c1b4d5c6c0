package desktop_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// storedTables is what a store holds: the value of each field of each table.
type storedTables map[string]map[string][]byte

func (tables storedTables) write(changes []desktop.Change) {
	for _, c := range changes {
		if c.Value == nil {
			delete(tables[c.Table], c.Field)
			continue
		}
		if tables[c.Table] == nil {
			tables[c.Table] = map[string][]byte{}
		}
		tables[c.Table][c.Field] = c.Value
	}
}

// commit writes the changes of a state, and checks that Pending announced as many.
func (tables storedTables) commit(t fatal, s *desktop.State) {
	t.Helper()
	fields, size := s.Pending()
	changes := s.Changes()
	if len(changes) != fields || size < 0 {
		t.Fatalf("%d changes, where %d of %d bytes were pending, want as many changes as pending fields", len(changes), fields, size)
	}
	if fields, size = s.Pending(); fields != 0 || size != 0 {
		t.Fatalf("after the changes %d of %d bytes are pending, want none", fields, size)
	}
	tables.write(changes)
}

// greeting is the first frame of a connection.
func greeting(s *desktop.State, monitors ...wire.MonitorID) wire.Event {
	state := s.Snapshot(monitors...)
	state.HeartbeatMS, state.Reason = 30_000, wire.SnapshotFresh
	return wire.Event{Session: "ses-1", Time: time.UnixMilli(1).UTC(), Data: state}
}

func checkSame(t fatal, what string, got, want *desktop.State) {
	t.Helper()
	g, w := wire.AppendEvent(nil, greeting(got)), wire.AppendEvent(nil, greeting(want))
	if string(g) != string(w) {
		t.Fatalf("%s:\ngot  %s\nwant %s", what, g, w)
	}
	if got.Hash() != want.Hash() {
		t.Fatalf("%s: the snapshots are equal, the hashes %v and %v are not, want them equal", what, got.Hash(), want.Hash())
	}
}

// A follower that restores stored tables at any position, and a client that begins with a snapshot
// there, end in the state of the owner, which applied the whole log.
func TestAllReadersHaveTheSameState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkAllReaders(t, drawLog(t)) })
}

func TestAllReadersHaveTheSamePlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) { checkAllReaders(t, drawPlanLog(t)) })
	rapid.Check(t, func(t *rapid.T) { checkAllReaders(t, drawNotebookLog(t)) })
}

func checkAllReaders(t *rapid.T, log []wire.Event) {
	t.Helper()
	cut := rapid.IntRange(0, len(log)).Draw(t, "cut")
	batch := rapid.IntRange(1, 5).Draw(t, "batch")
	owner, stored := desktop.New("ses-1"), storedTables{}
	var follower, whole *desktop.State
	client := desktop.New("ses-1")
	begin := func() {
		var err error
		stored.commit(t, owner)
		if follower, err = desktop.Restore("ses-1", owner.At(), stored); err != nil {
			t.Fatalf("restore the stored tables: %v", err)
		}
		all := storedTables{"ledger": {"x": []byte("not ours")}}
		all.write(owner.All())
		if whole, err = desktop.Restore("ses-1", owner.At(), all); err != nil {
			t.Fatalf("restore all: %v", err)
		}
		client.Apply(overTheWire(t, greeting(owner)))
		checkSame(t, "restored from changes", follower, owner)
		checkSame(t, "restored from all", whole, owner)
		checkSame(t, "client after its snapshot", client, owner)
	}
	for i, e := range log {
		if i == cut {
			begin()
		}
		owner.Apply(e)
		if i%batch == 0 {
			stored.commit(t, owner)
		}
		if i >= cut {
			e = overTheWire(t, e)
			follower.Apply(e)
			whole.Apply(e)
			client.Apply(e)
		}
	}
	if cut == len(log) {
		begin()
	}
	checkSame(t, "follower", follower, owner)
	checkSame(t, "restored from all, then the rest", whole, owner)
	checkSame(t, "client", client, owner)
	stored.commit(t, owner)
	stored.checkEqual(t, owner.All())
}

// checkEqual fails unless exactly these fields are stored.
func (tables storedTables) checkEqual(t fatal, all []desktop.Change) {
	t.Helper()
	want := storedTables{}
	want.write(all)
	for table, fields := range tables {
		for field, value := range fields {
			// A field that was never changed may have its initial value.
			if string(want[table][field]) != string(value) {
				t.Fatalf("stored %s of %s: %s\nwant %s", field, table, value, want[table][field])
			}
		}
	}
	for table, fields := range want {
		for field := range fields {
			if _, ok := tables[table][field]; !ok && field != "monitor-0" {
				t.Fatalf("field %s of %s is not stored, want it stored", field, table)
			}
		}
	}
}

func TestInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := desktop.New("ses-1")
		draw := rapid.SampledFrom([]func(*rapid.T) []wire.Event{drawLog, drawPlanLog}).Draw(t, "log")
		for _, e := range draw(t) {
			s.Apply(e)
			checkInvariants(t, s)
			checkPlan(t, s.Snapshot())
		}
	})
}

func checkInvariants(t fatal, s *desktop.State) {
	t.Helper()
	state := s.Snapshot()
	if len(state.Monitors) == 0 || state.Monitors[0].MonitorID != "monitor-0" || len(state.Monitors) > desktop.MaxMonitors {
		t.Fatalf("monitors are %+v, want monitor-0 first and at most %d", state.Monitors, desktop.MaxMonitors)
	}
	for what, n := range map[string][2]int{
		"windows": {len(state.Windows), desktop.MaxWindows}, "dialogs": {len(state.Dialogs), desktop.MaxDialogs},
		"prompts": {len(state.Prompts), desktop.MaxPrompts}, "toasts": {len(state.Toasts), desktop.MaxToasts},
		"notifications": {len(state.Notifications), desktop.MaxNotifications}, "agents": {len(state.Agents), desktop.MaxAgents},
		"shortcuts": {len(state.Shortcuts), desktop.MaxShortcuts}, "badges": {len(state.Badges), desktop.MaxBadges},
		"rows": {len(state.RecentMessages), desktop.MaxRows}, "todos": {len(state.Todos), desktop.MaxTodos},
		"requests": {len(state.HITLRequests), desktop.MaxHITLRequests},
	} {
		if n[0] > n[1] {
			t.Fatalf("%d %s, want at most %d", n[0], what, n[1])
		}
	}
	if state.Todos == nil {
		t.Fatalf("todos are nil, want a list")
	}
	type place struct {
		monitor wire.MonitorID
		z       uint64
	}
	seen := map[place]wire.WindowID{}
	for _, w := range state.Windows {
		if !s.HasMonitor(w.MonitorID) {
			t.Fatalf("window %s is on %s, which is not there, want a monitor that exists", w.WindowID, w.MonitorID)
		}
		if w.Variant == wire.VariantPanel {
			if w.Z != 0 {
				t.Fatalf("panel %s has the z %d, want 0", w.WindowID, w.Z)
			}
			continue
		}
		if other, ok := seen[place{w.MonitorID, w.Z}]; ok || w.Z == 0 {
			t.Fatalf("windows %s and %s of %s share the z %d, want one for each, above 0", w.WindowID, other, w.MonitorID, w.Z)
		}
		seen[place{w.MonitorID, w.Z}] = w.WindowID
		if front, ok := s.Focused(w.MonitorID); ok && w.Variant == wire.VariantWidget && w.Z > front.Z {
			t.Fatalf("widget %s lies above %s, want it below", w.WindowID, front.WindowID)
		}
	}
}

// checkPlan fails unless what a state says of the plan fits together.
func checkPlan(t fatal, state wire.SessionState) {
	t.Helper()
	if (state.HITLPending == nil) != (len(state.HITLRequests) == 0) {
		t.Fatalf("%v is the oldest question of %v, want one only if there are questions", state.HITLPending, state.HITLRequests)
	}
	p := state.Plan
	if p == nil {
		if state.Status == wire.SessionPaused {
			t.Fatalf("a session without a plan is %s, want another status", state.Status)
		}
		return
	}
	paused := p.Status == wire.PlanPaused
	if paused != (state.Status == wire.SessionPaused) || !paused && p.PausedBy+p.PauseReason != "" {
		t.Fatalf("a session that is %s has the plan %+v, want both paused or none, and a reason only then", state.Status, p)
	}
	if ended := p.Complete != nil || p.Failed != nil; ended && paused || p.Complete != nil && p.Failed != nil {
		t.Fatalf("the plan has ended: %+v, want one end, not paused", p)
	}
}

// After events of every type of the catalog, and one without data, the state can be stored and
// restored.
func TestApplyAcceptsEveryEvent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, seq := desktop.New("ses-1"), uint64(0)
		for _, entry := range wire.Events().All() {
			if entry.Direction == wire.FromServer {
				seq++
				s.Apply(wire.Event{At: wire.Position{Epoch: 1, Seq: seq}, Data: drawPayload(t, entry.Type)})
			}
		}
		s.Apply(wire.Event{At: wire.Position{Epoch: 2}})
		stored := storedTables{}
		stored.write(s.Changes())
		again, err := desktop.Restore("ses-1", s.At(), stored)
		if err != nil {
			t.Fatalf("restore: %v", err)
		}
		checkSame(t, "restored", again, s)
	})
}

// Actions that pass CheckAll take effect.
func TestCheckedActionsTakeEffect(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := desktop.New("ses-1")
		for _, e := range drawLog(t) {
			s.Apply(e)
		}
		a := drawPayload(t, "ACTIONS").(wire.Actions) //nolint:forcetypeassert // the type was asked for
		if refusal := s.CheckAll("monitor-0", a.Actions); refusal != nil {
			if refusal.Code == 0 || refusal.Error() == "" {
				t.Fatalf("refusal without code or reason: %+v, want both", refusal)
			}
			return
		}
		a.MonitorID = "monitor-0"
		next := wire.Position{Epoch: 5}
		s.Apply(wire.Event{At: next, Time: time.UnixMilli(0), Data: a})
		for i, action := range a.Actions {
			if c, ok := action.(wire.WindowCreate); ok && i == len(a.Actions)-1 && !created(s, c) {
				t.Fatalf("window %s was not created, want it created", c.WindowID)
			}
		}
		if s.At() != next {
			t.Fatalf("the state is at %v, want %v", s.At(), next)
		}
	})
}

func created(s *desktop.State, c wire.WindowCreate) bool {
	return slices.ContainsFunc(s.Snapshot("monitor-0").Windows, func(w wire.WindowState) bool {
		return w.WindowID == c.WindowID && w.Title == c.Title && w.Bounds == c.Bounds
	})
}
