package session_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	records "github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// readArchive returns all rows of a conversation, read page by page.
func readArchive(t *testing.T, h *session.Hub, monitor wire.MonitorID, limit int) []wire.UIRow {
	t.Helper()
	var all []wire.UIRow
	for q := (session.RowQuery{Monitor: monitor, Limit: limit}); ; {
		page, err := h.Rows(t.Context(), "ses-1", q)
		requireNoError(t, err)
		all = append(slices.Clone(page.Rows), all...)
		if !page.More {
			return all
		}
		if len(page.Rows) == 0 {
			t.Fatalf("the page before %d is empty and says that there is more, want rows", q.Before)
		}
		q.Before = page.Rows[0].ID
	}
}

// sendRows sends messages to a session without agents: each makes one row.
func sendRows(t *testing.T, r *session.Handle, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		deliverAndWait(t, r, command("c", wire.MessageID(fmt.Sprint("m", i)), wire.UserMessage{Content: fmt.Sprint("text ", i)}))
	}
}

// joinTexts returns the texts of rows.
func joinTexts(rows []wire.UIRow) string {
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = fmt.Sprintf("%d:%s", r.ID, r.Text)
	}
	return strings.Join(all, " ")
}

// rowTexts is the expected result of sendRows.
func rowTexts(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("%d:text %d", i, i))
	}
	return strings.Join(all, " ")
}

// Every replica can read every part of a conversation, and the newest rows with one store call.
func TestRowsAreReadInPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, b, stop := startPair(t, m)
		r := openHandle(t, a, "ses-1")
		sendRows(t, r, 1, 450)
		for _, h := range []*session.Hub{a, b} {
			for _, limit := range []int{7, 100, 450, 5000} {
				if got := joinTexts(readArchive(t, h, firstMonitor, limit)); got != rowTexts(1, 450) {
					t.Fatalf("pages of %d show %s, want %s", limit, got, rowTexts(1, 450))
				}
			}
			synctest.Wait()
			before := m.lists.Load()
			page, err := h.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: firstMonitor, Limit: 50})
			requireNoError(t, err)
			if n := m.lists.Load() - before; n != 1 || joinTexts(page.Rows) != rowTexts(401, 450) || !page.More {
				t.Errorf("%d store reads found %s as the newest rows (more: %v), want 1 read, %s and more", n, joinTexts(page.Rows), page.More, rowTexts(401, 450))
			}
			for before, want := range map[wire.RowID]string{1: "", 2: rowTexts(1, 1), 300: rowTexts(297, 299), 451: rowTexts(448, 450), 9999: rowTexts(448, 450)} {
				page, err := h.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: firstMonitor, Limit: 3, Before: before})
				requireNoError(t, err)
				if got := joinTexts(page.Rows); got != want || page.More != (before > 4) {
					t.Errorf("before %d are %s, more %v, want %s, more %v", before, got, page.More, want, before > 4)
				}
			}
			page, err = h.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: "monitor-3", Limit: 3})
			if err != nil || len(page.Rows) > 0 || page.More {
				t.Errorf("a monitor that is not there shows %+v, %v, want no rows and no more", page, err)
			}
			if _, err := h.Rows(t.Context(), "ses-2", session.RowQuery{Monitor: firstMonitor, Limit: 3}); errorCode(err) != wire.CodeSessionNotFound {
				t.Errorf("the rows of a session that is not there: error %v, want code %s", err, wire.CodeSessionNotFound)
			}
		}
		// It continues with another owner.
		stop()
		r = openHandle(t, b, "ses-1")
		sendRows(t, r, 451, 460)
		if got := joinTexts(readArchive(t, b, firstMonitor, 100)); got != rowTexts(1, 460) {
			t.Errorf("after a take-over there are %s, want %s", got, rowTexts(1, 460))
		}
	})
}

// While agents change rows, the archive has the same rows as the desktop.
func TestArchiveMatchesTheDesktop(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := startAgentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.sendText(firstMonitor, "m1", "/think a while", openWindowDirective("w"), "/say hello", "/think more", "/say there")
			d.waitTurnEnd("m1")
			d.sendText(firstMonitor, "m2", "/nosteer", "/say one", "/sleep 200ms", "/say two")
			d.waitTurnOutput("m2")
			d.sendText(firstMonitor, "m3", "/say three")
			d.sendText("monitor-1", "m4", "/think elsewhere", "/say four")
			for _, id := range []wire.MessageID{"m2", "m3", "m4"} {
				d.waitTurnEnd(id)
			}
			d.sendText(firstMonitor, "m5", "/say begins", "/sleep 1m")
			d.waitTurnOutput("m5")
			d.send("i", wire.Interrupt{MonitorID: firstMonitor})
			d.waitTurnEnd("m5")
			d.waitIdle()
			deliverBarrier(t, d.handle)
			now := d.snapshot()
			var got []wire.UIRow
			for _, m := range now.Monitors {
				got = append(got, readArchive(t, o.Hub, m.MonitorID, 4)...)
			}
			slices.SortFunc(got, func(a, b wire.UIRow) int { return int(a.TS - b.TS) })
			if len(got) < 10 || joinTexts(got) != joinTexts(now.RecentMessages) {
				t.Errorf("the archive has %s\nthe snapshot shows %s, want the same, at least 10 rows", joinTexts(got), joinTexts(now.RecentMessages))
			}
			for i, r := range now.RecentMessages {
				if r.ID == 0 || i > 0 && r.ID <= now.RecentMessages[i-1].ID {
					t.Errorf("row %d has the id %d, want ids above 0 that ascend", i, r.ID)
				}
			}
		})
	}
}

// Rows that the store lost after acknowledging them are written again, and older rows that it still
// has stay.
func TestLostRowsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openFaultStore(t)
		a, _ := startHub(t, m, "a", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		sendRows(t, r, 1, 250)
		time.Sleep(2 * time.Second)
		var lost atomic.Int64
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			if batchContains(b, "text 251") && lost.Add(1) == 1 {
				return receiptFor(b), nil
			}
			return do()
		})
		sendRows(t, r, 251, 260)
		deliverBarrier(t, r)
		if got := joinTexts(readArchive(t, a, firstMonitor, 100)); got != rowTexts(1, 260) || lost.Load() == 0 {
			t.Errorf("after %d lost batches there are %s, want at least one and %s", lost.Load(), got, rowTexts(1, 260))
		}
	})
}

// The archive of a session from before there were archives begins with the rows of its state.
func TestOldSessionsGetAnArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, stop := startHub(t, s, "a", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		sendRows(t, r, 1, 5)
		r.Close()
		stop()
		time.Sleep(time.Minute)
		lease, err := s.Claim(t.Context(), "ses-1", "x", time.Second)
		requireNoError(t, err)
		_, err = s.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{
			store.Clear(records.ArchiveTable), store.Drop(records.ArchiveList(firstMonitor)),
		}})
		requireNoError(t, err)
		requireNoError(t, s.Release(t.Context(), lease))
		b, _ := startHub(t, s, "b", session.Config{})
		r = openHandle(t, b, "ses-1")
		deliverBarrier(t, r)
		if got := joinTexts(readArchive(t, b, firstMonitor, 2)); got != rowTexts(1, 5) {
			t.Errorf("the archive begins with %s, want %s", got, rowTexts(1, 5))
		}
		sendRows(t, r, 6, 7)
		if got := joinTexts(readArchive(t, b, firstMonitor, 2)); got != rowTexts(1, 7) {
			t.Errorf("then there are %s, want %s", got, rowTexts(1, 7))
		}
	})
}

// Removing a monitor deletes its conversation, RESET does not.
func TestRowsAreDeletedWithTheirMonitor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, _ := startHub(t, s, "a", session.Config{})
		createSession(t, a, "ses-1")
		r := openHandle(t, a, "ses-1")
		sendRows(t, r, 1, 2)
		deliver(t, r, command("c", "sub", wire.SubscribeMonitor{MonitorID: "monitor-1"}))
		deliverAndWait(t, r, command("c", "m3", wire.UserMessage{Content: "text 3", MonitorID: "monitor-1"}))
		if got := joinTexts(readArchive(t, a, "monitor-1", 5)); got != rowTexts(3, 3) {
			t.Fatalf("the monitor has %s, want %s", got, rowTexts(3, 3))
		}
		deliver(t, r, command("c", "r", wire.Reset{}))
		deliver(t, r, command("c", "rm", wire.RemoveMonitor{MonitorID: "monitor-1"}))
		at := deliverBarrier(t, r)
		state, err := r.Snapshot(t.Context(), nil)
		requireNoError(t, err)
		if got := joinTexts(state.RecentMessages); got != rowTexts(1, 2) || state.LastMessageID.Compare(at) < 0 {
			t.Errorf("the snapshot at %v shows %s, want %s at %v or later", state.LastMessageID, got, rowTexts(1, 2), at)
		}
		if got := joinTexts(readArchive(t, a, "monitor-1", 5)) + "/" + joinTexts(readArchive(t, a, firstMonitor, 5)); got != "/"+rowTexts(1, 2) {
			t.Errorf("the archives of monitor-1 and of the first monitor are %s, want an empty one and %s", got, rowTexts(1, 2))
		}
		kept, err := s.Load(t.Context(), "ses-1")
		requireNoError(t, err)
		if len(kept.Tables[records.ArchiveTable]) != 1 {
			t.Errorf("the table of archives has %s, want only the first monitor", kept.Tables[records.ArchiveTable])
		}
	})
}

// However long a conversation is, the newest rows cost one Redis call and older ones a few.
func TestRedisCallsForRows(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	s := deploymentOn(t, server)
	a, _ := startHub(t, s, "a", session.Config{})
	createSession(t, a, "ses-1")
	const all = 10_000
	fillArchive(t, s, all)
	asked := func() int {
		info, err := server.Client(t).Info(t.Context(), "commandstats").Result()
		requireNoError(t, err)
		n := 0
		if _, rest, found := strings.Cut(info, "cmdstat_lrange:calls="); found {
			_, err := fmt.Sscanf(rest, "%d", &n)
			requireNoError(t, err)
		}
		return n
	}
	for _, c := range []struct {
		before wire.RowID
		want   string
		most   int
	}{
		{0, rowTexts(all-199, all), 1},
		{all + 1, rowTexts(all-199, all), 2},
		{5000, rowTexts(4800, 4999), 3},
		{2, rowTexts(1, 1), 3},
	} {
		before := asked()
		page, err := a.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: firstMonitor, Limit: 200, Before: c.before})
		requireNoError(t, err)
		if n := asked() - before; n > c.most || joinTexts(page.Rows) != c.want {
			t.Errorf("before %d Redis was asked %d times, want at most %d, and there are %.200s, want %.200s", c.before, n, c.most, joinTexts(page.Rows), c.want)
		}
	}
}
