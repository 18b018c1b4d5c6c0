package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func packChecks() []check {
	return []check{
		{name: "all reads show what they showed before", run: packReads},
		{name: "a claim continues where the session was", run: packClaim},
		{name: "a pack ends the lease", run: packEndsLease},
		{name: "commands are received after a pack", run: packInbox},
		{name: "a session with commands in its inbox", run: packWithCommands},
		{name: "a quarantined session", run: packQuarantined},
		{name: "a new and a deleted session", run: packEmpty},
		{name: "a large session", run: packLarge},
		{name: "followers see the session become vacant and owned", run: packTail},
		{name: "claims, sends and reads at the same time", run: packConcurrent},
	}
}

// filledSession creates a session with a log, tables, lists and consumed commands.
func (r *rig) filledSession(id wire.SessionID) *leaseWriter {
	r.Helper()
	p := r.createAndClaim(id, "a")
	_, err := r.Inbox.Send(r.ctx, id, store.Command{ID: "c1", Data: []byte("one")}, store.Command{ID: "c2"})
	r.ok(err)
	p.write(3)
	p.commit(store.Batch{
		Events: p.frames(2), Card: []byte("card"), Consumed: []string{"c1", "c2"},
		Ops: []store.Op{
			store.Set("t", "f", []byte("x")), store.Set("t", "g", nil), store.Set("u", "f", []byte{0, 255, '\n'}),
			store.Push("l", []byte("1"), nil, []byte("3")), store.Push(store.ColdPrefix+"l", []byte("c1"), []byte("c2")),
		},
	})
	p.write(1)
	return p
}

// visibleState is everything that reads show of the session s.
type visibleState struct {
	all       any
	cold      store.ListPage
	last      store.ListPage
	positions map[wire.Position]string
	listed    []wire.SessionID
}

func (r *rig) visible() (s visibleState) {
	r.Helper()
	const id = wire.SessionID("s")
	s.all = r.everything(id)
	var err error
	s.cold, err = r.Contents.ReadList(r.ctx, id, store.ColdPrefix+"l", 0, 10)
	r.ok(err)
	s.last, err = r.Contents.ReadList(r.ctx, id, "l", -2, 1)
	r.ok(err)
	s.positions = r.positionsOf(id)
	s.listed = append(r.recent(store.Query{}, nil), sessionIDs(r.walk(store.Query{User: "user"}, nil))...)
	return s
}

// positionsOf is what reads of the log after several cursors show.
func (r *rig) positionsOf(id wire.SessionID) map[wire.Position]string {
	r.Helper()
	all := map[wire.Position]string{}
	info := r.info(id)
	for _, at := range []wire.Position{
		{},
		info.Oldest,
		{Epoch: info.Oldest.Epoch - 1},
		{Epoch: info.Oldest.Epoch, Seq: 2},
		{Epoch: info.Top.Epoch, Seq: 4},
		info.Top,
		{Epoch: info.Top.Epoch, Seq: info.Top.Seq + 1},
		{Epoch: info.Top.Epoch + 1},
	} {
		for _, limit := range []int{1, 2, 100} {
			events, err := r.Contents.Read(r.ctx, id, at, limit)
			text := ""
			for _, kind := range []error{store.ErrTrimmed, store.ErrAhead, store.ErrUnknownPosition} {
				if errors.Is(err, kind) {
					text = kind.Error()
				}
			}
			all[wire.Position{Epoch: at.Epoch, Seq: at.Seq*1000 + uint64(limit)}] = fmt.Sprintf("%s %d %q", text, len(events), events) //nolint:gosec // a limit
		}
	}
	return all
}

func packReads(r *rig) {
	p := r.filledSession("s")
	r.filledSession("other")
	r.ok(r.Leases.Release(r.ctx, p.lease))
	q := r.writer(r.claim("s", "b")) // a second epoch in the log
	q.write(2)
	for range 2 {
		r.ok(r.Leases.Release(r.ctx, q.lease))
		before := r.visible()
		q = r.writer(r.claim("s", "b"))
		r.ok(r.Lifecycle.Pack(r.ctx, q.lease))
		r.ok(r.Leases.Release(r.ctx, r.claim("s", "b")))
		unpacked := r.visible()
		q = r.writer(r.claim("s", "b"))
		r.ok(r.Leases.Release(r.ctx, q.lease))
		released := r.visible()
		q = r.writer(r.claim("s", "b"))
		r.same("cold list", unpacked.cold, before.cold)
		r.same("list", released.last, before.last)
	}
	atEnd, end := r.positionsOf("s"), r.info("s")
	r.ok(r.Lifecycle.Pack(r.ctx, q.lease))
	packed := r.visible()
	r.same("reads of the log", packed.positions, atEnd)
	r.same("reads by another handle", r.secondHandle().visible(), packed)
	if i := r.info("s"); i.Owner != "" || i.Top != end.Top || i.Oldest != end.Oldest || !i.Updated.Equal(end.Updated) {
		r.Errorf("packed session is %+v, want no owner and otherwise %+v", i, end)
	}
}

func packClaim(r *rig) {
	p := r.filledSession("s")
	before := r.readAfter("s", wire.Position{})
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	r.same("log of the packed session", r.readAfter("s", wire.Position{}), before)
	q := r.secondHandle().writer(r.secondHandle().claim("s", "b"))
	if q.lease.Prev != p.top || q.lease.Epoch <= p.lease.Epoch {
		r.Errorf("lease after a pack is %+v, want it to follow %v", q.lease, p.top)
	}
	q.commit(store.Batch{Events: q.frames(2), Ops: []store.Op{store.Push("l", []byte("4")), store.Set("t", "h", []byte("y"))}})
	got := r.readAfter("s", wire.Position{})
	if len(got) != len(before)+3 {
		r.Fatalf("log has %d events, want %d", len(got), len(before)+3)
	}
	r.same("older events", got[:len(before)], before)
	page, err := r.Contents.ReadList(r.ctx, "s", "l", 0, 10)
	r.ok(err)
	if page.Total != 4 {
		r.Errorf("list has %d items, want 4", page.Total)
	}
	r.ok(r.Lifecycle.Pack(r.ctx, q.lease))
	r.ok(r.Lifecycle.Delete(r.ctx, r.claim("s", "a")))
	_, err = r.Contents.Load(r.ctx, "s")
	r.is(err, store.ErrNotFound, "Load after Delete")
}

func packEndsLease(r *rig) {
	p := r.filledSession("s")
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	_, err := p.try(p.next(store.Batch{Events: p.frames(1)}))
	r.is(err, store.ErrFenced, "Commit")
	r.is(r.Leases.Renew(r.ctx, p.lease), store.ErrFenced, "Renew")
	r.is(r.Lifecycle.Pack(r.ctx, p.lease), store.ErrFenced, "Pack")
	r.is(r.Leases.Release(r.ctx, p.lease), store.ErrFenced, "Release")
	r.claim("s", "b")
	before := r.everything("s")
	r.is(r.Lifecycle.Pack(r.ctx, p.lease), store.ErrFenced, "Pack after a claim")
	r.same("session after a fenced pack", r.everything("s"), before)
}

func packInbox(r *rig) {
	p := r.filledSession("s")
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	got, err := r.secondHandle().Inbox.Send(r.ctx, "s", store.Command{ID: "c2"}, store.Command{ID: "c3", Data: []byte("three")})
	r.ok(err)
	r.same("duplicates", got, []bool{true, false})
	q := r.writer(r.claim("s", "b"))
	for commands, err := range r.Inbox.Receive(r.ctx, q.lease) {
		r.ok(err)
		r.same("commands", commands, []store.Command{{ID: "c3", Data: []byte("three")}})
		break
	}
	q.commit(store.Batch{Consumed: []string{"c3"}})
	r.ok(r.Lifecycle.Pack(r.ctx, q.lease))
	got, err = r.Inbox.Send(r.ctx, "s", store.Command{ID: "c3"}, store.Command{ID: "c1"})
	r.ok(err)
	r.same("duplicates after a second pack", got, []bool{true, true})
}

func packWithCommands(r *rig) {
	p := r.filledSession("s")
	_, err := r.Inbox.Send(r.ctx, "s", store.Command{ID: "c9", Data: []byte("nine")})
	r.ok(err)
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	l := r.claim("s", "b")
	for commands, err := range r.Inbox.Receive(r.ctx, l) {
		r.ok(err)
		r.same("commands", commands, []store.Command{{ID: "c9", Data: []byte("nine")}})
		break
	}
}

func packQuarantined(r *rig) {
	p := r.filledSession("s")
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	r.ok(r.Directory.Quarantine(r.ctx, "s", ""))
	l := r.claim("s", "b")
	r.ok(r.Lifecycle.Pack(r.ctx, l))
	before := r.everything("s")
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	_, err := r.Leases.Claim(r.ctx, "s", "a", r.long())
	r.is(err, store.ErrQuarantined, "Claim")
	_, err = r.Inbox.Send(r.ctx, "s", store.Command{ID: "x"})
	r.is(err, store.ErrQuarantined, "Send")
	r.ok(r.Directory.Quarantine(r.ctx, "s", ""))
	r.same("session after its quarantine", r.everything("s"), before)
	r.ok(r.Directory.Quarantine(r.ctx, "s", "because"))
	r.ok(r.Lifecycle.Discard(r.ctx, "s"))
	_, err = r.Contents.Load(r.ctx, "s")
	r.is(err, store.ErrNotFound, "Load after Discard")
	r.create("s")
	if state, err := r.Contents.Load(r.ctx, "s"); err != nil || len(state.Tables)+len(state.Lists) != 0 {
		r.Errorf("new session has %+v, error %v, want nothing", state, err)
	}
}

func packEmpty(r *rig) {
	p := r.createAndClaim("s", "a")
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	if got := r.readAfter("s", wire.Position{}); len(got) != 1 {
		r.Errorf("log has %d events, want the claim", len(got))
	}
	l := r.claim("s", "a")
	r.ok(r.Lifecycle.Delete(r.ctx, l))
	r.is(r.Lifecycle.Pack(r.ctx, l), store.ErrFenced, "Pack of a deleted session")
	r.is(r.Lifecycle.Pack(r.ctx, store.Lease{Session: "no", Replica: "a", Epoch: 1, TTL: time.Second}), store.ErrFenced, "Pack of no session")
}

func packLarge(r *rig) {
	p := r.filledSession("s")
	for i := range 5 {
		p.commit(store.Batch{Ops: []store.Op{
			store.Push(store.ColdPrefix+"l", make([]byte, 400<<10)), store.Set("t", fmt.Sprint("big", i), make([]byte, 300<<10)),
		}})
	}
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	page, err := r.secondHandle().Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", -1, 1)
	r.ok(err)
	if page.Total != 7 || len(page.Items) != 1 || len(page.Items[0]) != 400<<10 {
		r.Errorf("list has %d items, the last of %v, want 7", page.Total, len(page.Items))
	}
	r.claim("s", "b")
}

func packTail(r *rig) {
	p := r.filledSession("s")
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	follower := r.secondHandle()
	news, from := make(chan store.News), p.top
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for n, err := range follower.Contents.Tail(ctx, "s", from) {
			if err != nil {
				return
			}
			select {
			case news <- n:
			case <-ctx.Done():
				return
			}
		}
	})
	next := func() (n store.News) {
		select {
		case n = <-news:
		case <-ctx.Done():
			r.Error("the follower gets nothing")
		}
		return n
	}
	p.write(1)
	if n := next(); len(n.Events) != 1 {
		r.Fatalf("follower gets %+v, want an event", n)
	}
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	if n := next(); !n.Vacant {
		r.Fatalf("follower gets %+v, want the session to be vacant", n)
	}
	l := r.claim("s", "b")
	if n := next(); len(n.Events) != 1 || n.Events[0].At != l.Top() {
		r.Fatalf("follower gets %+v, want the claim at %v", n, l.Top())
	}
}

func packConcurrent(r *rig) {
	p := r.filledSession("s")
	cold, err := r.Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", 0, 10)
	r.ok(err)
	l := p.lease
	for n := range 5 {
		r.ok(r.Lifecycle.Pack(r.ctx, l))
		leases := make(chan store.Lease, 3)
		var wg sync.WaitGroup
		for i := range 3 {
			h := r.secondHandle()
			wg.Go(func() {
				l, err := h.Leases.Claim(r.ctx, "s", wire.ReplicaID(fmt.Sprint("r", i)), r.long())
				if err == nil {
					leases <- l
				} else if !errors.Is(err, store.ErrOwned) {
					r.Errorf("claim: %v", err)
				}
			})
			wg.Go(func() {
				if _, err := h.Inbox.Send(r.ctx, "s", store.Command{ID: fmt.Sprint("m", n, i)}); err != nil {
					r.Errorf("send: %v", err)
				}
			})
			wg.Go(func() {
				state, err := h.Contents.Load(r.ctx, "s")
				if err != nil || len(state.Tables["t"]) != 2 || len(state.Lists["l"]) != 3 {
					r.Errorf("load gives %+v, error %v", state, err)
				}
			})
			wg.Go(func() {
				page, err := h.Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", 0, 10)
				if err != nil || page.Total != cold.Total {
					r.Errorf("cold list is %+v, error %v, want %+v", page, err, cold)
				}
			})
		}
		wg.Wait()
		if len(leases) != 1 {
			r.Fatalf("%d replicas have claimed the session, want 1", len(leases))
		}
		l = <-leases
		w := r.writer(l)
		var ids []string
		for i := range 3 {
			ids = append(ids, fmt.Sprint("m", n, i))
		}
		w.commit(store.Batch{Consumed: ids})
	}
}
