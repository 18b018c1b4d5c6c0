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

// archived are all rows of a conversation, page by page.
func archived(t *testing.T, h *session.Hub, monitor wire.MonitorID, limit int) []wire.UIRow {
	t.Helper()
	var all []wire.UIRow
	for q := (session.RowQuery{Monitor: monitor, Limit: limit}); ; {
		page, err := h.Rows(t.Context(), "ses-1", q)
		ok(t, err)
		all = append(slices.Clone(page.Rows), all...)
		if !page.More {
			return all
		}
		if len(page.Rows) == 0 {
			t.Fatalf("before %d there is more, but nothing is shown", q.Before)
		}
		q.Before = page.Rows[0].ID
	}
}

// speak says something in a session that nobody answers: each makes one row.
func speak(t *testing.T, r *session.Handle, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		ask(t, r, says("c", wire.MessageID(fmt.Sprint("m", i)), wire.UserMessage{Content: fmt.Sprint("text ", i)}))
	}
}

// texts are what rows say.
func texts(rows []wire.UIRow) string {
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = fmt.Sprintf("%d:%s", r.ID, r.Text)
	}
	return strings.Join(all, " ")
}

// spoken is what [speak] makes.
func spoken(from, to int) string {
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, fmt.Sprintf("%d:text %d", i, i))
	}
	return strings.Join(all, " ")
}

// Any replica shows any part of a conversation, and the newest rows with one
// question to the store.
func TestRowsAreReadInPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, b, stop := pair(t, m)
		r := enter(t, a, "ses-1")
		speak(t, r, 1, 450)
		for _, h := range []*session.Hub{a, b} {
			for _, limit := range []int{7, 100, 450, 5000} {
				if got := texts(archived(t, h, first, limit)); got != spoken(1, 450) {
					t.Fatalf("pages of %d show %s", limit, got)
				}
			}
			synctest.Wait()
			before := m.lists.Load()
			page, err := h.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: first, Limit: 50})
			ok(t, err)
			if n := m.lists.Load() - before; n != 1 || texts(page.Rows) != spoken(401, 450) || !page.More {
				t.Errorf("after %d questions the newest rows are %s", n, texts(page.Rows))
			}
			for before, want := range map[wire.RowID]string{1: "", 2: spoken(1, 1), 300: spoken(297, 299), 451: spoken(448, 450), 9999: spoken(448, 450)} {
				page, err := h.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: first, Limit: 3, Before: before})
				ok(t, err)
				if got := texts(page.Rows); got != want || page.More != (before > 4) {
					t.Errorf("before %d are %s, more %v", before, got, page.More)
				}
			}
			page, err = h.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: "monitor-3", Limit: 3})
			if err != nil || len(page.Rows) > 0 || page.More {
				t.Errorf("a monitor that is not there shows %+v, %v", page, err)
			}
			if _, err := h.Rows(t.Context(), "ses-2", session.RowQuery{Monitor: first, Limit: 3}); code(err) != wire.CodeSessionNotFound {
				t.Errorf("rows of a session that is not there: %v", err)
			}
		}
		// It goes on where it was with another owner.
		stop()
		r = enter(t, b, "ses-1")
		speak(t, r, 451, 460)
		if got := texts(archived(t, b, first, 100)); got != spoken(1, 460) {
			t.Errorf("after a take-over there are %s", got)
		}
	})
}

// What rows become while agents work is in the archive as it is on the desktop.
func TestArchiveIsWhatPeopleSaw(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := agentHub(t, open(t), hubConfig{})
			d := o.newDesktop(t, "ses-1")
			d.say(first, "m1", "/think a while", opening("w"), "/say hello", "/think more", "/say there")
			d.ends("m1")
			d.say(first, "m2", "/nosteer", "/say one", "/sleep 200ms", "/say two")
			d.begins("m2")
			d.say(first, "m3", "/say three")
			d.say("monitor-1", "m4", "/think elsewhere", "/say four")
			for _, id := range []wire.MessageID{"m2", "m3", "m4"} {
				d.ends(id)
			}
			d.say(first, "m5", "/say begins", "/sleep 1m")
			d.begins("m5")
			d.send("i", wire.Interrupt{MonitorID: first})
			d.ends("m5")
			d.rest()
			settled(t, d.handle)
			now := d.snapshot()
			var got []wire.UIRow
			for _, m := range now.Monitors {
				got = append(got, archived(t, o.Hub, m.MonitorID, 4)...)
			}
			slices.SortFunc(got, func(a, b wire.UIRow) int { return int(a.TS - b.TS) })
			if len(got) < 10 || texts(got) != texts(now.RecentMessages) {
				t.Errorf("kept are %s\nshown are %s", texts(got), texts(now.RecentMessages))
			}
			for i, r := range now.RecentMessages {
				if r.ID == 0 || i > 0 && r.ID <= now.RecentMessages[i-1].ID {
					t.Errorf("row %d has the id %d", i, r.ID)
				}
			}
		})
	}
}

// A store that forgot what it had acknowledged is told it again, and what it had
// of the older rows stays.
func TestForgottenRowsAreWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := openMeddler(t)
		a, _ := startHub(t, m, "a", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		speak(t, r, 1, 250)
		time.Sleep(2 * time.Second)
		var lost atomic.Int64
		m.onCommit(func(_ context.Context, _ store.Lease, b store.Batch, do commitFunc) (store.Receipt, error) {
			if has(b, "text 251") && lost.Add(1) == 1 {
				return acknowledged(b), nil
			}
			return do()
		})
		speak(t, r, 251, 260)
		settled(t, r)
		if got := texts(archived(t, a, first, 100)); got != spoken(1, 260) || lost.Load() == 0 {
			t.Errorf("after a gap there are %s", got)
		}
	})
}

// Sessions that are older than archives begin theirs with the rows they have.
func TestOldSessionsGetAnArchive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, stop := startHub(t, s, "a", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		speak(t, r, 1, 5)
		r.Close()
		stop()
		time.Sleep(time.Minute)
		lease, err := s.Claim(t.Context(), "ses-1", "x", time.Second)
		ok(t, err)
		_, err = s.Commit(t.Context(), lease, store.Batch{Number: 1, Prev: lease.Top(), Ops: []store.Op{
			store.Clear(records.ArchiveTable), store.Drop(records.ArchiveList(first)),
		}})
		ok(t, err)
		ok(t, s.Release(t.Context(), lease))
		b, _ := startHub(t, s, "b", session.Config{})
		r = enter(t, b, "ses-1")
		settled(t, r)
		if got := texts(archived(t, b, first, 2)); got != spoken(1, 5) {
			t.Errorf("the archive begins with %s", got)
		}
		speak(t, r, 6, 7)
		if got := texts(archived(t, b, first, 2)); got != spoken(1, 7) {
			t.Errorf("then there are %s", got)
		}
	})
}

// A monitor that goes takes its conversation along, RESET takes none.
func TestRowsGoWithTheirMonitor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		a, _ := startHub(t, s, "a", session.Config{})
		create(t, a, "ses-1")
		r := enter(t, a, "ses-1")
		speak(t, r, 1, 2)
		deliver(t, r, says("c", "sub", wire.SubscribeMonitor{MonitorID: "monitor-1"}))
		ask(t, r, says("c", "m3", wire.UserMessage{Content: "text 3", MonitorID: "monitor-1"}))
		if got := texts(archived(t, a, "monitor-1", 5)); got != spoken(3, 3) {
			t.Fatalf("the monitor has %s", got)
		}
		deliver(t, r, says("c", "r", wire.Reset{}))
		deliver(t, r, says("c", "rm", wire.RemoveMonitor{MonitorID: "monitor-1"}))
		at := settled(t, r)
		state, err := r.Snapshot(t.Context(), nil)
		ok(t, err)
		if got := texts(state.RecentMessages); got != spoken(1, 2) || state.LastMessageID.Compare(at) < 0 {
			t.Errorf("shown are %s", got)
		}
		if got := texts(archived(t, a, "monitor-1", 5)) + "/" + texts(archived(t, a, first, 5)); got != "/"+spoken(1, 2) {
			t.Errorf("kept are %s", got)
		}
		kept, err := s.Load(t.Context(), "ses-1")
		ok(t, err)
		if len(kept.Tables[records.ArchiveTable]) != 1 {
			t.Errorf("known of archives is %s", kept.Tables[records.ArchiveTable])
		}
	})
}

// However long a conversation is, Redis is asked once for its newest rows, and a
// few times for older ones.
func TestRedisIsAskedLittleForRows(t *testing.T) {
	t.Parallel()
	server := redistest.Standalone(t)
	s := onServer(t, server)
	a, _ := startHub(t, s, "a", session.Config{})
	create(t, a, "ses-1")
	const all = 10_000
	fillArchive(t, s, all)
	asked := func() int {
		info, err := server.Client(t).Info(t.Context(), "commandstats").Result()
		ok(t, err)
		n := 0
		if _, rest, found := strings.Cut(info, "cmdstat_lrange:calls="); found {
			_, err := fmt.Sscanf(rest, "%d", &n)
			ok(t, err)
		}
		return n
	}
	for _, c := range []struct {
		before wire.RowID
		want   string
		most   int
	}{
		{0, spoken(all-199, all), 1},
		{all + 1, spoken(all-199, all), 2},
		{5000, spoken(4800, 4999), 3},
		{2, spoken(1, 1), 3},
	} {
		before := asked()
		page, err := a.Rows(t.Context(), "ses-1", session.RowQuery{Monitor: first, Limit: 200, Before: c.before})
		ok(t, err)
		if n := asked() - before; n > c.most || texts(page.Rows) != c.want {
			t.Errorf("before %d Redis was asked %d times and there are %.200s", c.before, n, texts(page.Rows))
		}
	}
}
