package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func tailChecks() []check {
	small := Options{Limits: store.Limits{LogEvents: 64}}
	return []check{
		{name: "from the beginning and from every cursor", run: tailCursors},
		{name: "new events of another replica", run: tailLive},
		{name: "started before the first claim", run: tailBeforeClaim},
		{name: "several tails beside a writer", run: tailConcurrent},
		{name: "take-overs in between", run: tailTakeOvers},
		{name: "a batch without events is no news", run: tailWithoutEvents},
		{name: "a slow reader misses nothing", run: tailSlow},
		{name: "a slow reader of a trimmed log gets no gap", run: tailSlowTrimmed, opts: small},
		{name: "a trimmed cursor is ErrTrimmed", run: tailTrimmed, opts: small},
		{name: "cursors that are not in the log", run: tailBadCursors},
		{name: "an unknown session is ErrNotFound", run: tailUnknown},
		{name: "a deletion is ErrNotFound", run: tailDeleted},
		{name: "a release is vacancy", run: tailVacant},
		{name: "a cancelled tail ends", run: tailCancelled},
		{name: "a tail may be left", run: tailLeft},
	}
}

// follower reads a tail in the background, one item at a time and only on request.
type follower struct {
	*rig
	news   chan store.News
	failed chan error
	cancel context.CancelFunc
	vacant bool
}

func (r *rig) follow(id wire.SessionID, after wire.Position) *follower {
	ctx, cancel := context.WithCancel(r.ctx)
	f := &follower{rig: r, news: make(chan store.News), failed: make(chan error, 1), cancel: cancel}
	var wg sync.WaitGroup
	wg.Go(func() {
		last := errEnded
		defer func() { f.failed <- last }()
		for news, err := range r.Contents.Tail(ctx, id, after) {
			if err != nil {
				last = err
				continue // wait until it ends by itself
			}
			select {
			case f.news <- news:
			case <-ctx.Done():
			}
		}
	})
	r.Cleanup(func() { cancel(); wg.Wait() })
	return f
}

// next waits for the next item, or the error that ended the tail.
func (f *follower) next() (store.News, error) {
	f.Helper()
	select {
	case news := <-f.news:
		if len(news.Events) == 0 && !news.Vacant {
			f.Fatal("tail showed news without events that is not vacant, want one of both")
		}
		f.vacant = news.Vacant
		return news, nil
	case err := <-f.failed:
		f.failed <- err
		return store.News{}, err
	case <-f.ctx.Done():
		f.Fatal("tail showed nothing before the deadline, want news")
		return store.News{}, nil
	}
}

// events waits for n events.
func (f *follower) events(n int) []store.Event {
	f.Helper()
	var all []store.Event
	for len(all) < n {
		news, err := f.next()
		if err != nil {
			f.Fatalf("tail ended after %d of %d events: %v", len(all), n, err)
		}
		all = append(all, news.Events...)
	}
	return all
}

// ends waits for the error that ends the tail, and ignores items before it.
func (f *follower) ends(want error) {
	f.Helper()
	for {
		if _, err := f.next(); err != nil {
			f.is(err, want, "Tail")
			return
		}
	}
}

func tailCursors(r *rig) {
	c := r.trackLog("s", store.Limits{})
	for n := range 4 {
		c.append(c.frames(n)...)
	}
	c.takeOver()
	c.append(c.frames(3)...)
	all := c.all()
	r.same("tail from the beginning", r.secondHandle().follow("s", wire.Position{}).events(len(all)), all)
	for i, e := range all[:len(all)-1] {
		r.same(fmt.Sprintf("tail after %v", e.At), r.follow("s", e.At).events(len(all)-i-1), all[i+1:])
	}
}

func tailLive(r *rig) {
	c := r.trackLog("s", store.Limits{})
	f := r.secondHandle().follow("s", c.top)
	g := r.secondHandle().follow("s", wire.Position{})
	r.same("the claim", g.events(1), c.all())
	for n := range 10 {
		c.append(c.frames(1 + n%3)...)
		want := c.batches[len(c.batches)-1].events
		r.same("news", f.events(len(want)), want)
		r.same("news", g.events(len(want)), want)
	}
}

func tailBeforeClaim(r *rig) {
	r.create("early")
	f := r.secondHandle().follow("early", wire.Position{})
	p := r.writer(r.claim("early", "a"))
	p.write(2)
	r.same("news", f.events(3), r.read("early"))
}

// inOrder reads a tail up to a position and compares it with the log.
func (f *follower) inOrder(last wire.Position) []store.Event {
	f.Helper()
	var all []store.Event
	for {
		news, err := f.next()
		f.ok(err)
		if all = append(all, news.Events...); len(all) > 0 && all[len(all)-1].At.Compare(last) >= 0 {
			return all
		}
	}
}

func tailConcurrent(r *rig) {
	const batches = 150
	p := r.createAndClaim("s", "a")
	var tails []*follower
	for i := range batches {
		if i%25 == 0 {
			tails = append(tails, r.secondHandle().follow("s", wire.Position{}), r.secondHandle().follow("s", p.top))
		}
		p.write(1 + i%5)
	}
	want := r.read("s")
	for i, f := range tails {
		got := f.inOrder(p.top)
		r.same(fmt.Sprintf("tail %d", i), got, want[len(want)-len(got):])
		if i%2 == 0 && len(got) != len(want) {
			r.Errorf("tail %d showed %d events, want all %d", i, len(got), len(want))
		}
	}
}

func tailTakeOvers(r *rig) {
	handles := []*rig{r, r.secondHandle(), r.secondHandle()}
	r.create("s")
	f := r.secondHandle().follow("s", wire.Position{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 30 {
			if err := handles[i%3].claimWriteRelease(wire.ReplicaID(fmt.Sprint("replica-", i)), i%4, i == 29); err != nil {
				r.Errorf("turn %d: %v", i, err)
				f.cancel()
				return
			}
		}
	})
	var got []store.Event
	for len(got) == 0 || string(got[len(got)-1].Frame) != "end" {
		news, err := f.next()
		r.ok(err)
		got = append(got, news.Events...)
	}
	wg.Wait()
	r.same("news", got, r.read("s"))
}

// claimWriteRelease claims the session, writes to it and releases it.
func (r *rig) claimWriteRelease(replica wire.ReplicaID, batches int, end bool) error {
	l, err := r.Leases.Claim(r.ctx, "s", replica, r.long())
	if err != nil {
		return err
	}
	p := r.writer(l)
	for range batches {
		if _, err := p.try(p.next(store.Batch{Events: p.frames(2)})); err != nil {
			return err
		}
	}
	if end {
		if _, err := p.try(p.next(store.Batch{Events: items("end")})); err != nil {
			return err
		}
	}
	return r.Leases.Release(r.ctx, l)
}

func tailWithoutEvents(r *rig) {
	p := r.createAndClaim("s", "a")
	f := r.secondHandle().follow("s", p.top)
	for range 5 {
		p.commit(store.Batch{Ops: []store.Op{store.Push("l", nil)}})
	}
	p.write(1)
	if got := f.events(1); len(got) != 1 || got[0].At != p.top {
		r.Errorf("news are %v, want the event at %v", got, p.top)
	}
}

// tailSlow writes far more than any buffer holds while the tail is not read. That the writes
// return shows that writers do not wait for the reader.
func tailSlow(r *rig) {
	p := r.createAndClaim("s", "a")
	f := r.secondHandle().follow("s", wire.Position{})
	f.events(1)
	big := bytes.Repeat([]byte("x"), 1000)
	for range 60 {
		p.commit(store.Batch{Events: append(p.frames(98), big, big)})
	}
	got := f.inOrder(p.top)
	r.same("news", got, r.read("s")[1:])
}

func tailSlowTrimmed(r *rig) {
	p := r.createAndClaim("s", "a")
	f := r.secondHandle().follow("s", wire.Position{})
	f.events(1)
	for range 300 {
		p.write(20)
	}
	at := p.lease.Top()
	for {
		news, err := f.next()
		if errors.Is(err, store.ErrTrimmed) {
			break
		}
		r.ok(err)
		for _, e := range news.Events {
			if at.Seq++; e.At != at {
				r.Fatalf("tail showed %v, want %v or ErrTrimmed", e.At, at)
			}
		}
		if at == p.top {
			break // a buffer of that size is allowed
		}
	}
}

func tailTrimmed(r *rig) {
	p := r.createAndClaim("s", "a")
	for range 10 {
		p.write(20)
	}
	r.follow("s", wire.Position{}).ends(store.ErrTrimmed)
	r.follow("s", p.lease.Top()).ends(store.ErrTrimmed)
	oldest := r.info("s").Oldest
	if got := r.follow("s", oldest).inOrder(p.top); got[0].At.Seq != oldest.Seq+1 {
		r.Errorf("tail after %v begins at %v, want the next position", oldest, got[0].At)
	}
}

func tailBadCursors(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(2)
	r.env.Advance(r.env.Unit)
	q := r.writer(r.claim("s", "a"))
	q.write(2)
	r.follow("s", wire.Position{Epoch: p.lease.Epoch, Seq: 3}).ends(store.ErrUnknownPosition)
	r.follow("s", wire.Position{Epoch: p.lease.Epoch + 1}).ends(store.ErrUnknownPosition)
	r.follow("s", wire.Position{Epoch: q.lease.Epoch, Seq: 3}).ends(store.ErrAhead)
	r.follow("s", wire.Position{Epoch: q.lease.Epoch + 1}).ends(store.ErrAhead)
}

func tailUnknown(r *rig) {
	r.follow("s", wire.Position{}).ends(store.ErrNotFound)
	r.follow("s", wire.Position{Epoch: 1}).ends(store.ErrNotFound)
}

func tailDeleted(r *rig) {
	p := r.createAndClaim("s", "a")
	f, g := r.secondHandle().follow("s", wire.Position{}), r.follow("s", p.top)
	f.events(1)
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
	f.ends(store.ErrNotFound)
	g.ends(store.ErrNotFound)
}

func tailVacant(r *rig) {
	p := r.createAndClaim("s", "a")
	f := r.secondHandle().follow("s", wire.Position{})
	f.events(1)
	p.write(1)
	f.events(1)
	r.ok(r.Leases.Release(r.ctx, p.lease))
	for !f.vacant {
		news, err := f.next()
		r.ok(err)
		if len(news.Events) > 0 {
			r.Fatalf("release showed events %v, want none", news.Events)
		}
	}
	l := r.claim("s", "b")
	if got := f.events(1); got[0].At != l.Top() || f.vacant {
		r.Errorf("news after vacancy are %v, want the claim at %v", got, l.Top())
	}
}

func tailCancelled(r *rig) {
	p := r.createAndClaim("s", "a")
	f := r.follow("s", wire.Position{})
	f.events(1)
	f.cancel()
	f.ends(context.Canceled)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	for _, err := range r.Contents.Tail(ctx, "s", wire.Position{}) {
		r.is(err, context.Canceled, "Tail with a cancelled context")
		break
	}
	p.write(1)
}

func tailLeft(r *rig) {
	p := r.createAndClaim("s", "a")
	for i := range 20 {
		for _, err := range r.Contents.Tail(r.ctx, "s", wire.Position{}) {
			r.ok(err)
			break
		}
		if i%5 == 0 {
			p.write(1)
		}
	}
	if got := len(r.read("s")); got != 5 {
		r.Errorf("log has %d events, want 5", got)
	}
}
