package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func recentChecks() []check {
	return []check{
		{name: "sessions come by last change", run: recentOrder},
		{name: "every page size among many of one second", run: recentPages},
		{name: "a cursor stays valid while sessions change", run: recentChanges},
		{name: "deleted sessions leave", run: recentDeleted},
		{name: "wrong cursors are refused", run: recentCursors},
		{name: "quarantined sessions are listed", run: recentQuarantined},
	}
}

// tick lets the second change by which sessions are ordered.
func (r *rig) tick() { r.env.Advance(time.Second + 10*time.Millisecond) }

// recent reads all pages of a listing by last change, in order. It fails the check if a
// session comes twice, pages are not in order or a page is not full.
func (r *rig) recent(q store.Query, between func()) []wire.SessionID {
	r.Helper()
	q.Recent = true
	var ids []wire.SessionID
	var last store.RecentCursor
	for {
		p, err := r.Directory.Sessions(r.ctx, q)
		r.ok(err)
		if len(p.Items) > store.PageLimit(q.Limit) {
			r.Fatalf("page has %d sessions, limit %d", len(p.Items), q.Limit)
		}
		for _, i := range p.Items {
			if slices.Contains(ids, i.ID) {
				r.Fatalf("session %s came twice", i.ID)
			}
			at := store.RecentPlace(i.Updated, i.ID)
			if between == nil && len(ids) > 0 && !last.Before(at) {
				r.Fatalf("session %s at %v follows %v", i.ID, at, last)
			}
			ids, last = append(ids, i.ID), at
		}
		if q.After = p.Next; q.After == "" {
			if between == nil && p.Total != len(ids) {
				r.Errorf("listing of %d sessions has a total of %d", len(ids), p.Total)
			}
			return ids
		}
		if between != nil {
			between()
		}
	}
}

func recentOrder(r *rig) {
	if got := r.recent(store.Query{}, nil); len(got) != 0 {
		r.Fatalf("an empty store lists %v", got)
	}
	for _, s := range []store.NewSession{{ID: "a", User: "u"}, {ID: "c", User: "v"}, {ID: "b", User: "u"}} {
		r.ok(r.Lifecycle.Create(r.ctx, s))
		r.tick()
	}
	r.same("new sessions", r.recent(store.Query{}, nil), []wire.SessionID{"b", "c", "a"})
	p := r.writer(r.claim("a", "replica"))
	r.same("after a claim", r.recent(store.Query{}, nil), []wire.SessionID{"a", "b", "c"})
	q := r.writer(r.claim("c", "replica"))
	r.tick()
	p.commit(store.Batch{Events: p.frames(1)})
	r.same("after a commit", r.recent(store.Query{}, nil), []wire.SessionID{"a", "c", "b"})
	r.same("sessions of u", r.recent(store.Query{User: "u"}, nil), []wire.SessionID{"a", "b"})
	r.tick()
	q.commit(store.Batch{Ops: []store.Op{store.Set("t", "f", []byte("x"))}})
	other := r.secondHandle()
	r.same("after a commit without events", other.recent(store.Query{Limit: 1}, nil), []wire.SessionID{"c", "a", "b"})
	r.same("sessions of v", other.recent(store.Query{User: "v"}, nil), []wire.SessionID{"c"})
	r.tick()
	r.ok(r.Leases.Release(r.ctx, q.lease))
	r.ok(r.Directory.Quarantine(r.ctx, "b", "because"))
	r.same("a release and a quarantine are no changes", r.recent(store.Query{}, nil), []wire.SessionID{"c", "a", "b"})
	if got := r.recent(store.Query{User: "unknown"}, nil); len(got) != 0 {
		r.Errorf("sessions of an unknown user are %v, want none", got)
	}
}

func recentPages(r *rig) {
	ids := r.populate(13, "u", "v")
	for _, limit := range []int{1, 2, 3, 5, 12, 13, 14, 25, 26, 27, 1000, 0} {
		got := r.recent(store.Query{Limit: limit}, nil)
		slices.Sort(got)
		r.same(fmt.Sprintf("sessions in pages of %d", limit), got, ids)
		got = r.recent(store.Query{Limit: limit, User: "u"}, nil)
		slices.Sort(got)
		r.same(fmt.Sprintf("user's sessions in pages of %d", limit), got, ids[:13])
	}
}

func recentChanges(r *rig) {
	stay := r.populate(20, "u")
	var change []wire.SessionID
	for i := range 10 {
		id := wire.SessionID(fmt.Sprint("s0-1", i, "-changes")) // sorts between those that stay
		r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: id, User: "u"}))
		change = append(change, id)
	}
	r.tick()
	for _, user := range []string{"", "u"} {
		n := 0
		got := r.recent(store.Query{Limit: 2, User: user}, func() {
			if n++; n > len(change) {
				return
			}
			l := r.claim(change[n-1], "a")
			switch n % 3 {
			case 0:
				r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: wire.SessionID(fmt.Sprint("s0-comes", n, user)), User: "u"}))
			case 1:
				r.ok(r.Leases.Release(r.ctx, l))
			}
		})
		for _, id := range stay {
			if !slices.Contains(got, id) {
				r.Errorf("listing of user %q misses %s: %v", user, id, got)
			}
		}
	}
	// The cursor's own session changes and goes.
	page, err := r.Directory.Sessions(r.ctx, store.Query{User: "u", Recent: true, Limit: 20})
	r.ok(err)
	next, err := r.Directory.Sessions(r.ctx, store.Query{User: "u", Recent: true, After: page.Next})
	r.ok(err)
	r.tick()
	l := r.claim(page.Items[19].ID, "a")
	for range 2 {
		again, err := r.Directory.Sessions(r.ctx, store.Query{User: "u", Recent: true, After: page.Next})
		r.ok(err)
		r.same("page after a cursor whose session moved", infoIDs(again.Items), infoIDs(next.Items))
		_ = r.Lifecycle.Delete(r.ctx, l)
	}
}

func infoIDs(infos []store.Info) (ids []wire.SessionID) {
	for _, i := range infos {
		ids = append(ids, i.ID)
	}
	return ids
}

func recentDeleted(r *rig) {
	r.populate(4, "u")
	r.ok(r.Lifecycle.Delete(r.ctx, r.claim("s0-1", "a")))
	r.ok(r.Directory.Quarantine(r.ctx, "s0-2", "because"))
	r.ok(r.Lifecycle.Discard(r.ctx, "s0-2"))
	r.tick()
	r.claim("s0-0", "a")
	for _, q := range []store.Query{{}, {User: "u"}} {
		r.same("sessions that are left", r.recent(q, nil), []wire.SessionID{"s0-0", "s0-3"})
	}
	r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: "s0-1", User: "v"}))
	r.same("sessions of the first user", r.recent(store.Query{User: "u"}, nil), []wire.SessionID{"s0-0", "s0-3"})
	r.same("sessions of the second user", r.recent(store.Query{User: "v"}, nil), []wire.SessionID{"s0-1"})
}

func recentCursors(r *rig) {
	r.populate(3, "u")
	for _, after := range []string{"x", "1.", ".s", "0.a:b"} {
		_, err := r.Directory.Sessions(r.ctx, store.Query{Recent: true, After: after})
		r.is(err, store.ErrInvalid, "listing after "+after)
	}
	_, err := r.Directory.Sessions(r.ctx, store.Query{Recent: true, Quarantined: true})
	r.is(err, store.ErrInvalid, "recent and quarantined")
	_, err = r.Directory.Sessions(r.ctx, store.Query{User: "u", Quarantined: true})
	r.is(err, store.ErrInvalid, "a user's and quarantined")
}

func recentQuarantined(r *rig) {
	r.populate(6, "u", "v")
	var want []wire.SessionID
	for _, id := range []wire.SessionID{"s0-1", "s0-3", "s1-0", "s1-5"} {
		r.ok(r.Directory.Quarantine(r.ctx, id, "because"))
		want = append(want, id)
	}
	r.ok(r.Directory.Quarantine(r.ctx, "s1-1", "because"))
	r.ok(r.Directory.Quarantine(r.ctx, "s1-1", ""))
	for _, limit := range []int{0, 1, 3, 4} {
		got := r.walk(store.Query{Quarantined: true, Limit: limit}, nil)
		r.same(fmt.Sprintf("quarantined sessions in pages of %d", limit), sessionIDs(got), want)
		for id, i := range got {
			if i.Quarantined != "because" {
				r.Errorf("session %s is quarantined for %q, want because", id, i.Quarantined)
			}
		}
	}
}
