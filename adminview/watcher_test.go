package adminview_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

func TestSessionDetailThroughOtherReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		handle := a.opened(t, "ses-1")
		says(t, handle, "m1")
		synctest.Wait()
		seen := b.until(t, adminview.Interest{Rows: true, Session: "ses-1"}, func(tb *table) bool {
			return tb.rows["ses-1"].Windows == 1 && tb.detail.Known && len(tb.detail.Owners) == 1
		})
		row := seen.rows["ses-1"]
		if row.Owner != "a" || row.Status != adminview.Idle || row.User != "ada" || row.Title != "Desk of ses-1" || row.CreatedAt == 0 {
			t.Errorf("row: got %+v, want it idle at a, of ada, with its title and time", row)
		}
		d := seen.detail
		if len(d.Monitors) != 1 || len(d.Windows) != 1 || d.Windows[0].Title != "Secret plans" || d.Owners[0].Replica != "a" || len(d.Messages) != 1 {
			t.Errorf("detail: got %+v, want one monitor, one message, one window Secret plans and the owner a", d)
		}
		if len(seen.overview.Replicas) != 2 || seen.overview.Totals.Sessions != 1 {
			t.Errorf("overview: got %+v, want two replicas and one session", seen.overview)
		}
		if red := d.Redacted(); red.Windows[0].Title != "" || red.Row.Title != "" {
			t.Errorf("redacted detail: got %+v, want no titles", red)
		}
	})
}

func TestStuckSessionDetailThroughOtherReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		handle := a.opened(t, "ses-1")
		says(t, handle, "m1")
		gate := make(chan struct{})
		a.store.blocked.Store(&gate)
		ok(t, handle.Deliver(t.Context(), emits("m2")))
		stuck := b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
			return tb.rows["ses-1"].Status == adminview.Stuck && alerted(tb.overview, "stuck")
		})
		if row := stuck.rows["ses-1"]; row.Doing != "commit" || row.DoingMS < 100 || row.Owner != "a" {
			t.Errorf("row: got %+v, want it in commit for 100 ms or longer at a", row)
		}
		a.store.blocked.Store(nil)
		close(gate)
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
			row := tb.rows["ses-1"]
			return row.Status == adminview.Idle && row.Doing == "" && row.Windows == 2
		})
	})
}

func TestNoReportsWithoutSubscribers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		a.opened(t, "ses-1")
		time.Sleep(5 * time.Second)
		if n := a.store.puts.Load(); n != 0 {
			t.Fatalf("documents written without a subscriber: got %d, want 0", n)
		}
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool { return tb.rows["ses-1"].Owner == "a" && len(tb.overview.Replicas) == 2 })
		time.Sleep(2 * time.Second)
		wrote := a.store.puts.Load()
		if wrote == 0 {
			t.Fatal("no document was written for a subscriber")
		}
		time.Sleep(10 * time.Second)
		if n := a.store.puts.Load(); n != wrote {
			t.Errorf("documents written after the last subscriber left: got %d, want 0", n-wrote)
		}
	})
}

func TestOnlyChangesAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		a.opened(t, "ses-1")
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		for range b.Watch(ctx, adminview.Interest{Rows: true}) {
		}
		// The head is written every 500 ms, the rows once.
		if n := a.store.puts.Load(); n < 15 || n > 24 {
			t.Errorf("documents written in 9 s: got %d, want 15 to 24", n)
		}
	})
}

func TestADeadReplicaDisappears(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b, c := start(t, s, "a"), start(t, s, "b"), start(t, s, "c")
		a.opened(t, "ses-1")
		c.opened(t, "ses-2")
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
			return len(tb.overview.Replicas) == 3 && tb.rows["ses-1"].Status == adminview.Idle && tb.rows["ses-2"].Status == adminview.Idle
		})
		a.stop()
		seen := b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
			return len(tb.overview.Replicas) == 2 && tb.rows["ses-1"].Status == adminview.Dormant
		})
		if row := seen.rows["ses-2"]; row.Status != adminview.Idle || row.Owner != "c" {
			t.Errorf("row of another replica: got %+v, want it idle at c", row)
		}
	})
}

func TestSubscribersGetEarlierState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		time.Sleep(time.Minute)
		a.sample.Store(&adminview.Sample{Events: 3, AppendP99: 0.5, Agents: 2, Queued: 1, Takeovers: 7})
		b.sample.Store(&adminview.Sample{Events: 4, AppendP99: 0.1, Agents: 3, Fenced: 1})
		time.Sleep(time.Minute)
		if n := a.store.puts.Load() + b.store.puts.Load(); n != 0 {
			t.Errorf("documents written without a subscriber: got %d, want 0", n)
		}
		o, err := b.Overview(t.Context())
		ok(t, err)
		if want := []adminview.Alert{{Kind: "takeovers", Count: 7, Where: "a"}, {Kind: "fenced", Count: 1, Where: "b"}}; !slices.Equal(o.Alerts, want) {
			t.Errorf("alerts: got %+v, want %+v", o.Alerts, want)
		}
		time.Sleep(20 * time.Second) // all interests have expired
		first := b.until(t, adminview.Interest{}, func(*table) bool { return true })
		points, takeovers := first.history.Points, 0
		for i, p := range points {
			takeovers += p.Takeovers
			if i > 0 && p.Time != points[i-1].Time+5000 {
				t.Errorf("point after %d: got %d, want it 5 s later", points[i-1].Time, p.Time)
			}
		}
		if n := len(points); n < 25 || n > 30 || points[0].Events != 0 || takeovers != 7 {
			t.Fatalf("history: got %+v, want 25 to 30 points that start without events and have 7 takeovers", points)
		}
		last := points[len(points)-1]
		if last.Events != 7 || last.AppendP99 != 0.5 || last.Agents != 5 || last.Queued != 1 {
			t.Errorf("last point: got %+v, want 7 events, P99 0.5, 5 agents and 1 queued", last)
		}
		time.Sleep(10 * time.Minute)
		o, err = a.Overview(t.Context())
		ok(t, err)
		if len(o.Alerts) != 0 {
			t.Errorf("alerts after ten minutes: got %+v, want none", o.Alerts)
		}
	})
}

func TestCrashedReplicaIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		var missed time.Time
		for u, err := range b.Watch(t.Context(), adminview.Interest{}) {
			ok(t, err)
			switch there, gone := len(u.Overview.Replicas) == 2, alerted(*u.Overview, "goneReplica"); {
			case there:
				a.stop()
			case gone && missed.IsZero():
				missed = time.Now()
			case !gone && !missed.IsZero():
				if took := time.Since(missed); took < 119*time.Second || took > 122*time.Second {
					t.Errorf("time the replica was reported missing: got %v, want 119 to 122 s", took)
				}
				return
			}
		}
	})
}

func TestSilentReplicaIsAlert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		b := start(t, s, "b")
		// The replica is alive and has no watcher.
		ok(t, s.Announce(t.Context(), store.Replica{ID: "mute", Card: []byte(`{"state":"serving"}`)}, time.Hour))
		began := time.Now()
		seen := b.until(t, adminview.Interest{}, func(tb *table) bool { return alerted(tb.overview, "silentReplica") })
		if took := time.Since(began); took < 3*time.Second || took > 6*time.Second {
			t.Errorf("time until the alert: got %v, want 3 to 6 s", took)
		}
		if len(seen.overview.Replicas) != 2 {
			t.Errorf("replicas: got %+v, want two", seen.overview.Replicas)
		}
	})
}

func TestWorkWithoutAnOwnerIsOrphaned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		ok(t, s.Create(t.Context(), store.NewSession{ID: "ses-1", User: "ada"}))
		lease, err := s.Claim(t.Context(), "ses-1", "gone", time.Second)
		ok(t, err)
		working := true
		_, err = s.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Working: &working})
		ok(t, err)
		ok(t, s.Create(t.Context(), store.NewSession{ID: "ses-2", User: "eve"}))
		ok(t, s.Quarantine(t.Context(), "ses-2", "it is torn"))
		time.Sleep(2 * time.Second)
		b := start(t, s, "b")
		page, err := b.Sessions(t.Context(), adminview.Query{Sort: "user"})
		ok(t, err)
		if page.Total != 2 || page.Rows[0].Status != adminview.Orphaned || page.Rows[0].Owner != "gone" ||
			page.Rows[1].Status != adminview.Quarantined || page.Rows[1].Reason != "it is torn" {
			t.Errorf("sessions: got %+v, want one orphaned by gone and one quarantined because it is torn", page)
		}
		d, err := b.Detail(t.Context(), "ses-1")
		ok(t, err)
		if d.Known || len(d.Owners) != 1 || d.Owners[0].Replica != "gone" || d.Row.Status != adminview.Orphaned {
			t.Errorf("detail: got %+v, want an unknown session orphaned by gone", d)
		}
		if _, err := b.Detail(t.Context(), "ses-9"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an unknown session: got error %v, want %v", err, store.ErrNotFound)
		}
		if _, err := b.Sessions(t.Context(), adminview.Query{Sort: "mood"}); !errors.Is(err, adminview.ErrQuery) {
			t.Errorf("an invalid query: got error %v, want %v", err, adminview.ErrQuery)
		}
	})
}

func TestSingleQueryWithoutSubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		handle := a.opened(t, "ses-1")
		says(t, handle, "m1")
		time.Sleep(3 * time.Second) // they know of each other
		began := time.Now()
		o, err := b.Overview(t.Context())
		ok(t, err)
		if len(o.Replicas) != 2 || o.Totals.Sessions != 1 || o.Totals.ByStatus[adminview.Idle] != 1 || o.Replicas[0].Sample.Goroutines != 1 {
			t.Errorf("overview: got %+v, want two replicas, the first with a sample, and one idle session", o)
		}
		d, err := b.Detail(t.Context(), "ses-1")
		ok(t, err)
		if !d.Known || len(d.Windows) != 1 || d.Row.Owner != "a" || len(d.Owners) != 1 {
			t.Errorf("detail: got %+v, want a known session with one window and the owner a", d)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("time of both queries: got %v, want at most 3 s", took)
		}
	})
}

func TestInvalidDocumentsAreIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		put := func(name, data string) {
			t.Helper()
			_, err := s.Put(t.Context(), store.Document{Collection: "monitor", Name: name, Data: []byte(data)})
			ok(t, err)
		}
		put("interest", "\x00 what?")
		put("head/evil", "no head")
		put("rows/evil/0", "no rows")
		put("head/a", "from another time")
		put("rows/a/0", "likewise")
		ok(t, s.Announce(t.Context(), store.Replica{ID: "evil", Card: []byte("]")}, time.Hour))
		a, b := start(t, s, "a"), start(t, s, "b")
		a.opened(t, "ses-1")
		seen := b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
			return tb.rows["ses-1"].Owner == "a" && tb.rows["ses-1"].Monitors == 1 && alerted(tb.overview, "silentReplica")
		})
		if len(seen.rows) != 1 || len(seen.overview.Replicas) != 3 {
			t.Errorf("got rows %+v and replicas %+v, want one row and three replicas", seen.rows, seen.overview.Replicas)
		}
	})
}

func TestSlowSubscriberGetsNewest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		handle := a.opened(t, "ses-1")
		tb, updates := &table{}, 0
		for u, err := range b.Watch(t.Context(), adminview.Interest{Rows: true}) {
			ok(t, err)
			tb.apply(u)
			if updates++; updates == 1 {
				// Meanwhile sessions change, and one is deleted.
				b.opened(t, "ses-2")
				for range 10 {
					says(t, handle, wire.MessageID(fmt.Sprintf("m%d", updates)))
					updates++
					time.Sleep(time.Second)
				}
				ok(t, b.hub.Delete(t.Context(), "ses-2"))
				time.Sleep(15 * time.Second)
				updates = 1
				continue
			}
			break
		}
		if row := tb.rows["ses-1"]; row.Windows != 10 || len(tb.rows) != 1 {
			t.Errorf("rows after one update: got %+v, want ses-1 with 10 windows", tb.rows)
		}
	})
}

func TestStoreUnavailable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		b := start(t, s, "b")
		handle := b.opened(t, "ses-1")
		says(t, handle, "m1")
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool { return tb.rows["ses-1"].Windows == 1 })
		b.store.away.Store(true)
		ok(t, handle.Deliver(t.Context(), emits("m2")))
		seen := b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool { return tb.rows["ses-1"].Status == adminview.Stuck })
		if seen.rows["ses-1"].Doing != "commit" {
			t.Errorf("row: got %+v, want it in commit", seen.rows["ses-1"])
		}
		b.store.away.Store(false)
		b.until(t, adminview.Interest{Rows: true}, func(tb *table) bool { return tb.rows["ses-1"].Windows == 2 })
	})
}

func TestThreeReplicasOnOneRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	open := func() engine {
		s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
		ok(t, err)
		t.Cleanup(func() { ok(t, s.Close()) })
		return joined{s.Sessions, s.Replicas, s.Documents}
	}
	a, b, c := start(t, open(), "a"), start(t, open(), "b"), start(t, open(), "c")
	handles := map[wire.SessionID]*session.Handle{}
	for i := range 300 {
		id := wire.SessionID(fmt.Sprintf("ses-%03d", i))
		handles[id] = []*replica{a, b, c}[i%3].opened(t, id)
	}
	all := c.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
		return len(tb.rows) == 300 && tb.overview.Totals.ByStatus[adminview.Idle] == 300 && len(tb.overview.Replicas) == 3
	})
	owners := map[wire.ReplicaID]int{}
	for _, r := range all.rows {
		owners[r.Owner]++
	}
	if owners["a"] != 100 || owners["b"] != 100 || owners["c"] != 100 {
		t.Errorf("owners: got %v, want 100 sessions each of a, b and c", owners)
	}
	gate := make(chan struct{})
	a.store.blocked.Store(&gate)
	ok(t, handles["ses-000"].Deliver(t.Context(), emits("m1")))
	stuck := c.until(t, adminview.Interest{Rows: true, Session: "ses-000"}, func(tb *table) bool { return tb.rows["ses-000"].Status == adminview.Stuck })
	if row := stuck.rows["ses-000"]; row.Doing != "commit" || row.Owner != "a" {
		t.Errorf("row: got %+v, want it in commit at a", row)
	}
	a.store.blocked.Store(nil)
	close(gate)
	seen := c.until(t, adminview.Interest{Rows: true, Session: "ses-000"}, func(tb *table) bool {
		return tb.rows["ses-000"].Windows == 1 && tb.detail.Known && len(tb.detail.Windows) == 1
	})
	if seen.detail.Windows[0].Title != "Secret plans" {
		t.Errorf("detail: got %+v, want the window Secret plans", seen.detail)
	}
	b.stop()
	c.until(t, adminview.Interest{Rows: true}, func(tb *table) bool {
		n := 0
		for _, r := range tb.rows {
			if r.Status == adminview.Dormant && r.Owner == "b" {
				n++
			}
		}
		return len(tb.overview.Replicas) == 2 && n == 100
	})
}

// A query returns fresh data, not that of ten seconds ago.
func TestQueriesAreFresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a := start(t, s, "a")
		_, err := a.hub.Create(t.Context(), session.NewSession{ID: "ses-1", User: "ada"})
		ok(t, err)
		listed := func() []adminview.Row {
			p, err := a.Sessions(t.Context(), adminview.Query{})
			ok(t, err)
			return p.Rows
		}
		if rows := listed(); len(rows) != 1 || rows[0].Status != adminview.Dormant {
			t.Fatalf("sessions at first: got %+v, want one dormant", rows)
		}
		ok(t, s.Quarantine(t.Context(), "ses-1", "it is torn"))
		asked := time.Now()
		if d, err := a.Detail(t.Context(), "ses-1"); err != nil || time.Since(asked) > time.Second || d.Row.Status != adminview.Quarantined || d.Row.Reason != "it is torn" {
			t.Errorf("detail of a quarantined session: got %+v, error %v after %v, want quarantined because it is torn within 1 s", d.Row, err, time.Since(asked))
		}
		time.Sleep(1100 * time.Millisecond)
		_, err = a.hub.Create(t.Context(), session.NewSession{ID: "ses-2", User: "ada"})
		ok(t, err)
		if rows := listed(); len(rows) != 2 || rows[0].Status != adminview.Quarantined && rows[1].Status != adminview.Quarantined {
			t.Errorf("sessions after a second: got %+v, want two, one of them quarantined", rows)
		}
	})
}
