package storetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func directoryChecks() []check {
	return []check{
		{name: "an unknown session is ErrNotFound", run: directoryUnknown},
		{name: "info through the life of a session", run: directoryInfo},
		{name: "listing shows what info shows", run: directoryListsInfo},
		{name: "every page size", run: directoryPages},
		{name: "limits follow PageLimit", run: directoryPageLimit},
		{name: "sessions of one user", run: directoryUsers},
		{name: "awkward users", run: directoryAwkwardUsers},
		{name: "sessions come and go during a walk", run: directoryWalk},
		{name: "unattended are working sessions without a lease", run: directoryUnattended},
		{name: "unattended follows its limit", run: directoryUnattendedLimit},
		{name: "replicas come, stay and go", run: replicasLife},
		{name: "a replica that is not announced again is gone", run: replicasExpire},
		{name: "replicas are listed in pages", run: replicasPages},
		{name: "replicas that make no sense are refused", run: replicasInvalid},
	}
}

func directoryUnknown(r *rig) {
	_, err := r.Directory.Session(r.ctx, "s")
	r.is(err, store.ErrNotFound, "Session")
}

func directoryInfo(r *rig) {
	r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: "s", User: "u", Card: []byte("first")}))
	i := r.secondHandle().info("s")
	if i.Created.IsZero() {
		r.Error("session has no time of creation, want one")
	}
	created := i.Created
	r.same("new session", i, store.Info{ID: "s", User: "u", Card: []byte("first"), Created: created, Updated: i.Updated, Until: i.Until})

	r.env.Advance(r.env.Unit)
	p := r.writer(r.claim("s", "a"))
	i = r.info("s")
	if !i.Updated.After(created) || !i.Created.Equal(created) {
		r.Errorf("claimed session was created %v and updated %v, want creation %v", i.Created, i.Updated, created)
	}
	claimed := i.Updated
	r.same("claimed session", i, store.Info{
		ID: "s", User: "u", Card: []byte("first"), Created: created, Updated: claimed, Until: i.Until,
		Owner: "a", Epoch: p.lease.Epoch, Top: p.top, Oldest: p.top,
	})

	r.env.Advance(r.env.Unit)
	p.commit(store.Batch{Events: p.frames(2), Card: []byte("second"), Working: new(true)})
	i = r.info("s")
	if !i.Updated.After(claimed) {
		r.Errorf("session was updated %v by a commit, want after %v", i.Updated, claimed)
	}
	r.same("session at work", i, store.Info{
		ID: "s", User: "u", Card: []byte("second"), Created: created, Updated: i.Updated, Until: i.Until, Working: true,
		Owner: "a", Epoch: p.lease.Epoch, Top: p.top, Oldest: p.lease.Top(),
	})

	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	r.ok(r.Leases.Release(r.ctx, p.lease))
	i = r.info("s")
	if i.Owner != "" || i.Quarantined != "because" || !i.Working || i.Epoch != p.lease.Epoch {
		r.Errorf("released and quarantined session is %+v, want no owner, the reason, working, at epoch %d", i, p.lease.Epoch)
	}
}

// walk reads all pages and fails the check if an item appears twice.
func (r *rig) walk(q store.Query, between func()) map[wire.SessionID]store.Info {
	r.Helper()
	all := map[wire.SessionID]store.Info{}
	for page := 0; ; page++ {
		p, err := r.Directory.Sessions(r.ctx, q)
		r.ok(err)
		if len(p.Items) > store.PageLimit(q.Limit) {
			r.Fatalf("page has %d sessions, limit %d", len(p.Items), q.Limit)
		}
		for _, i := range p.Items {
			if _, ok := all[i.ID]; ok {
				r.Fatalf("session %s came twice", i.ID)
			}
			all[i.ID] = i
		}
		if p.Next == "" {
			return all
		}
		if page > 10_000 {
			r.Fatal("the walk has no end")
		}
		q.After = p.Next
		if between != nil {
			between()
		}
	}
}

func sessionIDs(m map[wire.SessionID]store.Info) []wire.SessionID { return slices.Sorted(maps.Keys(m)) }

func directoryListsInfo(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Events: p.frames(2), Card: []byte("card"), Working: new(true)})
	r.create("t")
	q := r.createAndClaim("u", "b")
	r.ok(r.Leases.Release(r.ctx, q.lease))
	r.ok(r.Directory.Quarantine(r.ctx, "u", "because"))
	want := map[wire.SessionID]store.Info{}
	for _, id := range []wire.SessionID{"s", "t", "u"} {
		want[id] = r.info(id)
	}
	r.same("all sessions", r.secondHandle().walk(store.Query{}, nil), want)
	r.same("the user's sessions", r.walk(store.Query{User: "user"}, nil), want)
}

// populate creates n sessions for each user.
func (r *rig) populate(n int, users ...string) []wire.SessionID {
	r.Helper()
	var ids []wire.SessionID
	for u, user := range users {
		for i := range n {
			id := wire.SessionID(fmt.Sprintf("s%d-%d", u, i))
			r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: id, User: user}))
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func directoryPages(r *rig) {
	if got := r.walk(store.Query{}, nil); len(got) != 0 {
		r.Fatalf("an empty store lists %v, want nothing", got)
	}
	ids := r.populate(13, "u", "v")
	for _, limit := range []int{1, 2, 3, 5, 12, 13, 14, 25, 26, 27, 1000, 0} {
		r.same(fmt.Sprintf("sessions in pages of %d", limit), sessionIDs(r.walk(store.Query{Limit: limit}, nil)), ids)
		r.same(fmt.Sprintf("user's sessions in pages of %d", limit), sessionIDs(r.walk(store.Query{Limit: limit, User: "u"}, nil)), ids[:13])
	}
}

func directoryPageLimit(r *rig) {
	ids := r.populate(120, "u")
	for _, limit := range []int{0, -1, 50} {
		p, err := r.Directory.Sessions(r.ctx, store.Query{Limit: limit})
		r.ok(err)
		if len(p.Items) > store.PageLimit(limit) || p.Next == "" {
			r.Errorf("limit %d lists %d of 120 sessions, next %q, want a page of at most the limit and a next one", limit, len(p.Items), p.Next)
		}
	}
	r.same("all sessions", sessionIDs(r.walk(store.Query{Limit: 5000}, nil)), ids)
}

func directoryUsers(r *rig) {
	r.populate(5, "u", "v", "uu")
	for u, user := range []string{"u", "v", "uu"} {
		var want []wire.SessionID
		for i := range 5 {
			want = append(want, wire.SessionID(fmt.Sprintf("s%d-%d", u, i)))
		}
		got := r.walk(store.Query{User: user, Limit: 2}, nil)
		r.same("sessions of "+user, sessionIDs(got), want)
		for id, i := range got {
			if i.User != user {
				r.Errorf("session %s is of %s, want %s", id, i.User, user)
			}
		}
	}
	if got := r.walk(store.Query{User: "unknown"}, nil); len(got) != 0 {
		r.Errorf("sessions of an unknown user are %v, want none", got)
	}
}

func directoryAwkwardUsers(r *rig) {
	for i, user := range trickyNames() {
		r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: wire.SessionID(fmt.Sprint("s", i)), User: user}))
	}
	for i, user := range trickyNames() {
		got := r.walk(store.Query{User: user}, nil)
		id := wire.SessionID(fmt.Sprint("s", i))
		if len(got) != 1 || got[id].User != user {
			r.Errorf("sessions of %q are %v, want %s", user, got, id)
		}
	}
}

func directoryWalk(r *rig) {
	stay := r.populate(20, "u")
	var leave []store.Lease
	for i := range 10 {
		id := wire.SessionID(fmt.Sprint("s0-1", i, "-leaves")) // sorts between those that stay
		r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: id, User: "u"}))
		leave = append(leave, r.claim(id, "a"))
	}
	for _, user := range []string{"", "u"} {
		n := 0
		got := r.walk(store.Query{Limit: 2, User: user}, func() {
			id := wire.SessionID(fmt.Sprintf("s0-%d-comes%s", n%20, user))
			if n++; n <= 15 {
				r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: id, User: "u"}))
			}
			if len(leave) > 5 || (user == "u" && len(leave) > 0) {
				r.ok(r.Lifecycle.Delete(r.ctx, leave[0]))
				leave = leave[1:]
			}
		})
		for _, id := range stay {
			if _, ok := got[id]; !ok {
				r.Errorf("walk of user %q misses %s, want it there", user, id)
			}
		}
	}
}

func directoryUnattended(r *rig) {
	work := func(id wire.SessionID, working bool) store.Lease {
		r.create(id)
		p := r.writer(r.claimFor(id, "a", r.short()))
		p.commit(store.Batch{Working: new(working)})
		return p.lease
	}
	released := work("released", true)
	r.ok(r.Leases.Release(r.ctx, released))
	work("expired", true)
	work("idle", false)
	idle := work("released-idle", false)
	r.ok(r.Leases.Release(r.ctx, idle))
	gone := work("deleted", true)
	r.ok(r.Lifecycle.Delete(r.ctx, gone))
	work("quarantined", true)
	r.ok(r.Directory.Quarantine(r.ctx, "quarantined", "because"))
	done := r.writer(work("done", true))
	_, err := r.Leases.Commit(r.ctx, done.lease, store.Batch{Number: 2, Prev: done.top, Working: new(false)})
	r.ok(err)
	r.create("new")
	r.createAndClaim("held", "a").commit(store.Batch{Working: new(true)})
	r.expire()
	r.unattended("expired", "released")

	r.secondHandle().claim("expired", "b")
	r.unattended("released")
	r.writer(r.claim("released", "b")).commit(store.Batch{Working: new(false)})
	r.unattended()
	r.ok(r.Directory.Quarantine(r.ctx, "quarantined", ""))
	r.unattended("quarantined")
}

func (r *rig) unattended(want ...wire.SessionID) {
	r.Helper()
	got, err := r.Directory.Unattended(r.ctx, 0)
	r.ok(err)
	slices.Sort(got)
	r.same("unattended", got, want)
}

func directoryUnattendedLimit(r *rig) {
	for i := range 12 {
		p := r.createAndClaim(wire.SessionID(fmt.Sprint("s", i)), "a")
		p.commit(store.Batch{Working: new(true)})
		r.ok(r.Leases.Release(r.ctx, p.lease))
	}
	for limit, want := range map[int]int{1: 1, 5: 5, 12: 12, 20: 12, 0: 12} {
		got, err := r.Directory.Unattended(r.ctx, limit)
		r.ok(err)
		if len(got) != want || len(slices.Compact(slices.Sorted(slices.Values(got)))) != want {
			r.Errorf("limit %d lists %v, want %d sessions", limit, got, want)
		}
	}
}

// replicas reads all pages.
func (r *rig) replicas(limit int) map[wire.ReplicaID]store.Replica {
	r.Helper()
	all, after := map[wire.ReplicaID]store.Replica{}, ""
	for {
		p, err := r.Replicas.Replicas(r.ctx, after, limit)
		r.ok(err)
		if len(p.Items) > store.PageLimit(limit) {
			r.Fatalf("page has %d replicas, limit %d", len(p.Items), limit)
		}
		for _, i := range p.Items {
			if _, ok := all[i.ID]; ok {
				r.Fatalf("replica %s came twice", i.ID)
			}
			all[i.ID] = i
		}
		if after = p.Next; after == "" {
			return all
		}
	}
}

func replicasLife(r *rig) {
	if got := r.replicas(0); len(got) != 0 {
		r.Fatalf("a new store has replicas %v, want none", got)
	}
	r.ok(r.Replicas.Announce(r.ctx, store.Replica{ID: "a", Card: []byte("one")}, r.long()))
	r.ok(r.secondHandle().Replicas.Announce(r.ctx, store.Replica{ID: "b"}, r.long()))
	got := r.replicas(0)
	if len(got) != 2 || string(got["a"].Card) != "one" || len(got["b"].Card) != 0 || got["a"].Until.IsZero() {
		r.Errorf("replicas are %v, want a with its card and b without one", got)
	}
	r.env.Advance(r.env.Unit)
	r.ok(r.Replicas.Announce(r.ctx, store.Replica{ID: "a", Card: []byte("two")}, r.long()))
	again := r.replicas(0)
	if len(again) != 2 || string(again["a"].Card) != "two" || !again["a"].Until.After(got["a"].Until) {
		r.Errorf("replicas are %v after a was announced again, want a with the card two for longer", again)
	}
	for range 2 {
		r.ok(r.Replicas.Withdraw(r.ctx, "a"))
	}
	if got := r.secondHandle().replicas(0); len(got) != 1 || got["b"].ID != "b" {
		r.Errorf("replicas are %v after a withdrew, want b only", got)
	}
}

func replicasExpire(r *rig) {
	r.ok(r.Replicas.Announce(r.ctx, store.Replica{ID: "dead"}, r.short()))
	r.ok(r.Replicas.Announce(r.ctx, store.Replica{ID: "late"}, r.short()))
	r.ok(r.Replicas.Announce(r.ctx, store.Replica{ID: "alive"}, r.long()))
	r.expire()
	r.ok(r.Replicas.Announce(r.ctx, store.Replica{ID: "late"}, r.long()))
	got := r.replicas(0)
	if _, dead := got["dead"]; dead || len(got) != 2 {
		r.Errorf("replicas are %v, want alive and late", got)
	}
}

func replicasPages(r *rig) {
	for i := range 11 {
		r.ok(r.Replicas.Announce(r.ctx, store.Replica{ID: wire.ReplicaID(fmt.Sprint("r", i))}, r.long()))
	}
	for _, limit := range []int{1, 2, 5, 10, 11, 12, 0} {
		if got := r.replicas(limit); len(got) != 11 {
			r.Errorf("pages of %d list %d replicas, want 11", limit, len(got))
		}
	}
}

func replicasInvalid(r *rig) {
	r.is(r.Replicas.Announce(r.ctx, store.Replica{ID: "a:b"}, r.long()), wire.ErrID, "Announce of a bad id")
	r.is(r.Replicas.Announce(r.ctx, store.Replica{ID: "a"}, 0), store.ErrInvalid, "Announce for no time")
	if got := r.replicas(0); len(got) != 0 {
		r.Errorf("replicas are %v, want none", got)
	}
}
