package monitor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/monitor"
)

func TestASessionIsSeenThroughAnotherReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		room := a.opened(t, "ses-1")
		says(t, room, "m1")
		synctest.Wait()
		seen := b.until(t, monitor.Interest{Rows: true, Session: "ses-1"}, func(tb *table) bool {
			return tb.rows["ses-1"].Windows == 1 && tb.detail.Known && len(tb.detail.Owners) == 1
		})
		row := seen.rows["ses-1"]
		if row.Owner != "a" || row.Status != monitor.Idle || row.User != "ada" || row.Title != "Desk of ses-1" || row.CreatedAt == 0 {
			t.Errorf("the row is %+v", row)
		}
		d := seen.detail
		if len(d.Monitors) != 1 || len(d.Windows) != 1 || d.Windows[0].Title != "Secret plans" || d.Owners[0].Replica != "a" || len(d.Messages) != 1 {
			t.Errorf("the detail is %+v", d)
		}
		if len(seen.overview.Replicas) != 2 || seen.overview.Totals.Sessions != 1 {
			t.Errorf("the overview is %+v", seen.overview)
		}
		if red := d.Redacted(); red.Windows[0].Title != "" || red.Row.Title != "" {
			t.Errorf("redacted it is %+v", red)
		}
	})
}

func TestAStuckSessionIsSeenThroughAnotherReplica(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		room := a.opened(t, "ses-1")
		says(t, room, "m1")
		gate := make(chan struct{})
		a.store.blocked.Store(&gate)
		ok(t, room.Deliver(t.Context(), emits("m2")))
		stuck := b.until(t, monitor.Interest{Rows: true}, func(tb *table) bool {
			return tb.rows["ses-1"].Status == monitor.Stuck && alerted(tb.overview, "stuck")
		})
		if row := stuck.rows["ses-1"]; row.Doing != "commit" || row.DoingMS < 100 || row.Owner != "a" {
			t.Errorf("the row is %+v", row)
		}
		a.store.blocked.Store(nil)
		close(gate)
		b.until(t, monitor.Interest{Rows: true}, func(tb *table) bool {
			row := tb.rows["ses-1"]
			return row.Status == monitor.Idle && row.Doing == "" && row.Windows == 2
		})
	})
}

func TestNothingIsReportedWhenNobodyLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, b := start(t, s, "a"), start(t, s, "b")
		a.opened(t, "ses-1")
		time.Sleep(5 * time.Second)
		if n := a.store.puts.Load(); n != 0 {
			t.Fatalf("%d documents were written although nobody looks", n)
		}
		b.until(t, monitor.Interest{Rows: true}, func(tb *table) bool { return tb.rows["ses-1"].Owner == "a" && len(tb.overview.Replicas) == 2 })
		time.Sleep(2 * time.Second)
		wrote := a.store.puts.Load()
		if wrote == 0 {
			t.Fatal("nothing was written while somebody looked")
		}
		time.Sleep(10 * time.Second)
		if n := a.store.puts.Load(); n != wrote {
			t.Errorf("%d documents were written after nobody looked any more", n-wrote)
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
		for range b.Watch(ctx, monitor.Interest{Rows: true}) { //nolint:revive // it is only looked
		}
		// A head every 500 ms, and the rows once.
		if n := a.store.puts.Load(); n < 15 || n > 24 {
			t.Errorf("%d documents were written in 9 s", n)
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
		b.until(t, monitor.Interest{Rows: true}, func(tb *table) bool {
			return len(tb.overview.Replicas) == 3 && tb.rows["ses-1"].Status == monitor.Idle && tb.rows["ses-2"].Status == monitor.Idle
		})
		a.stop()
		seen := b.until(t, monitor.Interest{Rows: true}, func(tb *table) bool {
			return len(tb.overview.Replicas) == 2 && tb.rows["ses-1"].Status == monitor.Dormant
		})
		if row := seen.rows["ses-2"]; row.Status != monitor.Idle || row.Owner != "c" {
			t.Errorf("the row of another replica is %+v", row)
		}
	})
}
