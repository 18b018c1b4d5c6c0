package storetest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func logChecks() []check {
	events := Options{Limits: store.Limits{LogEvents: 64}}
	size := Options{Limits: store.Limits{LogBytes: 64 << 10}}
	return []check{
		{name: "an unclaimed session has an empty log", run: logEmpty},
		{name: "reading an unknown session is ErrNotFound", run: logUnknownSession},
		{name: "every cursor and limit", run: logEveryCursor},
		{name: "limits follow PageLimit", run: logPageLimit},
		{name: "cursors that are not in the log", run: logBadCursors},
		{name: "the log keeps its bound of events", run: logBoundEvents, opts: events},
		{name: "the log keeps its bound of bytes", run: logBoundBytes, opts: size},
		{name: "a batch of more events than the bound stays whole", run: logOversizeEvents, opts: events},
		{name: "a batch of more bytes than the bound stays whole", run: logOversizeBytes, opts: size},
		{name: "claims are trimmed like batches", run: logTrimsClaims, opts: events},
		{name: "every cursor after trimming", run: logTrimmedCursors, opts: events},
		{name: "trimming keeps tables and lists", run: logTrimKeepsState, opts: events},
	}
}

// trackedLog is a writer that records the expected log.
type trackedLog struct {
	*leaseWriter
	history
	claims int
}

// trackLog returns the trackedLog of a new session.
func (r *rig) trackLog(id wire.SessionID, limits store.Limits) *trackedLog {
	r.Helper()
	r.create(id)
	c := &trackedLog{leaseWriter: r.writer(store.Lease{Session: id}), history: history{limits: limits.WithDefaults()}}
	c.takeOver()
	return c
}

// takeOver claims the session again, which its owner can do without a release.
func (c *trackedLog) takeOver() {
	c.Helper()
	c.claims++
	c.leaseWriter = c.writer(c.claim(c.lease.Session, "a"))
	// Only the position of the claim's event matters here.
	last := c.last(1)
	c.add(last, true)
}

// last reads the newest n events.
func (c *trackedLog) last(n int) []store.Event {
	c.Helper()
	i := c.info(c.lease.Session)
	held, err := c.Contents.Read(c.ctx, c.lease.Session, i.Oldest, 1000)
	c.ok(err)
	if len(held) == 0 { // the log has one event
		held, err = c.Contents.Read(c.ctx, c.lease.Session, wire.Position{}, 1000)
		if errors.Is(err, store.ErrTrimmed) {
			// No valid cursor precedes the only event of a trimmed log.
			return []store.Event{{At: i.Oldest}}
		}
		c.ok(err)
	}
	return held[len(held)-n:]
}

// append commits frames and records them.
func (c *trackedLog) append(frames ...[]byte) {
	c.Helper()
	prev := c.top
	c.commit(store.Batch{Events: frames})
	events := make([]store.Event, len(frames))
	for i, f := range frames {
		prev.Seq++
		events[i] = store.Event{At: prev, Frame: f}
	}
	c.add(events, false)
}

// verify compares the whole log with the expected one.
func (c *trackedLog) verify() {
	c.Helper()
	i := c.info(c.lease.Session)
	if err := c.checkTrimmed(i.Oldest); err != nil {
		c.Fatal(err)
	}
	if i.Top != c.top {
		c.Fatalf("top is %v, want %v", i.Top, c.top)
	}
	got, err := c.Contents.Read(c.ctx, c.lease.Session, i.Oldest, 1000)
	c.ok(err)
	c.same("log after its oldest event", got, c.held()[1:])
}

func logEmpty(r *rig) {
	r.create("s")
	got, err := r.Contents.Read(r.ctx, "s", wire.Position{}, 10)
	r.ok(err)
	if len(got) != 0 {
		r.Errorf("log is %v, want none", got)
	}
	if i := r.info("s"); !i.Top.IsZero() || !i.Oldest.IsZero() || i.Epoch != 0 || i.Owner != "" {
		r.Errorf("info is %+v, want no positions, epoch and owner", i)
	}
	_, err = r.Contents.Read(r.ctx, "s", wire.Position{Epoch: 1}, 10)
	r.is(err, store.ErrAhead, "Read after a position of an empty log")
}

func logUnknownSession(r *rig) {
	_, err := r.Contents.Read(r.ctx, "s", wire.Position{}, 10)
	r.is(err, store.ErrNotFound, "Read")
	_, err = r.Contents.Read(r.ctx, "s", wire.Position{Epoch: 1}, 10)
	r.is(err, store.ErrNotFound, "Read after a position")
}

func logEveryCursor(r *rig) {
	c := r.trackLog("s", store.Limits{})
	for claim := range 3 {
		for n := range 5 {
			c.append(c.frames(n)...)
		}
		if claim < 2 {
			c.takeOver()
		}
	}
	c.verifyCursors(r.secondHandle())
}

// verifyCursors reads after every position that ever existed, with many limits.
func (c *trackedLog) verifyCursors(r *rig) {
	c.Helper()
	cursors := []wire.Position{{}}
	for _, e := range c.all() {
		cursors = append(cursors, e.At)
	}
	for _, cursor := range cursors {
		for _, limit := range []int{1, 2, 3, 5, 8, 1000} {
			want, wantErr := c.after(cursor, limit)
			got, err := r.Contents.Read(c.ctx, c.lease.Session, cursor, limit)
			if !errors.Is(err, wantErr) {
				c.Fatalf("reading %d after %v: got error %v, want %v", limit, cursor, err, wantErr)
			}
			c.same(fmt.Sprintf("reading %d after %v", limit, cursor), got, want)
		}
	}
}

func logPageLimit(r *rig) {
	p := r.createAndClaim("s", "a")
	for range 3 {
		p.write(600)
	}
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 99: 99, 601: 601, 1000: 1000, 1001: 1000, 1 << 40: 1000} {
		got, err := r.Contents.Read(r.ctx, "s", wire.Position{}, limit)
		r.ok(err)
		if len(got) != want {
			r.Errorf("limit %d reads %d events, want %d", limit, len(got), want)
		}
	}
}

func logBadCursors(r *rig) {
	c := r.trackLog("s", store.Limits{})
	c.append(c.frames(3)...)
	first := c.lease.Epoch
	r.env.Advance(r.env.Unit) // leave a gap between the epochs
	c.takeOver()
	c.append(c.frames(3)...)
	second := c.lease.Epoch
	for _, k := range []struct {
		what string
		at   wire.Position
		want error
	}{
		{"before the first epoch", wire.Position{Epoch: first - 1, Seq: 5}, store.ErrTrimmed},
		{"epoch 0", wire.Position{Seq: 1}, store.ErrTrimmed},
		{"after the end of the first epoch", wire.Position{Epoch: first, Seq: 4}, store.ErrUnknownPosition},
		{"far after the end of the first epoch", wire.Position{Epoch: first, Seq: 1 << 50}, store.ErrUnknownPosition},
		{"an epoch that never was", wire.Position{Epoch: first + 1}, store.ErrUnknownPosition},
		{"just before the second epoch", wire.Position{Epoch: second - 1, Seq: 7}, store.ErrUnknownPosition},
		{"just ahead", wire.Position{Epoch: second, Seq: 4}, store.ErrAhead},
		{"epoch ahead", wire.Position{Epoch: second + 1}, store.ErrAhead},
		{"far ahead", wire.Position{Epoch: 1 << 62, Seq: 1 << 62}, store.ErrAhead},
	} {
		_, err := r.Contents.Read(r.ctx, "s", k.at, 10)
		r.is(err, k.want, k.what)
		if want, _ := c.after(k.at, 10); want != nil {
			r.Fatalf("%s: the model of the log has events, want none", k.what)
		}
	}
}

func logBoundEvents(r *rig) {
	c := r.trackLog("s", store.Limits{LogEvents: 64})
	for n := range 120 {
		c.append(c.frames(n % 7)...)
		c.verify()
	}
	if c.kept == 0 {
		r.Error("the log was never trimmed, want it trimmed")
	}
}

func logBoundBytes(r *rig) {
	c := r.trackLog("bytes", store.Limits{LogBytes: 64 << 10})
	for n := range 120 {
		frames := make([][]byte, n%4)
		for i := range frames {
			frames[i] = bytes.Repeat([]byte{'a' + byte(n%26)}, 1+(n*331+i*97)%2000)
		}
		c.append(frames...)
		c.verify()
	}
	if c.kept == 0 {
		r.Error("the log was never trimmed, want it trimmed")
	}
}

func logOversizeEvents(r *rig) {
	c := r.trackLog("s", store.Limits{LogEvents: 64})
	for _, n := range []int{10, 200, 1, 3, 65, 64, 1, 63, 300, 301} {
		c.append(c.frames(n)...)
		c.verify()
	}
}

func logOversizeBytes(r *rig) {
	c := r.trackLog("s", store.Limits{LogBytes: 64 << 10})
	for _, n := range []int{10, 100 << 10, 1, 60 << 10, 70 << 10, 200 << 10, 100} {
		c.append(bytes.Repeat([]byte("x"), n))
		c.verify()
	}
}

func logTrimsClaims(r *rig) {
	c := r.trackLog("s", store.Limits{LogEvents: 64})
	for n := range 100 {
		if n%5 == 0 {
			c.append(c.frames(2)...)
		}
		c.takeOver()
		c.verify()
	}
	if c.kept == 0 {
		r.Error("the log was never trimmed, want it trimmed")
	}
}

func logTrimmedCursors(r *rig) {
	c := r.trackLog("s", store.Limits{LogEvents: 64})
	for n := range 40 {
		c.append(c.frames(1 + n%4)...)
		if n%15 == 14 {
			c.takeOver()
		}
	}
	c.verify()
	if c.kept == 0 {
		r.Fatal("the log was not trimmed, want it trimmed")
	}
	c.verifyCursors(r.secondHandle())
}

func logTrimKeepsState(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Ops: []store.Op{store.Set("t", "f", []byte("v")), store.Push("l", []byte("i"))}, Card: []byte("card")})
	for range 20 {
		p.write(20)
	}
	v := r.everything("s")
	if v.Info.Oldest.Epoch != p.lease.Epoch || v.Info.Oldest.Seq == 0 || string(v.Info.Card) != "card" {
		r.Errorf("info is %+v, want a trimmed log and the card", v.Info)
	}
	r.same("state", v.State, store.State{At: p.top, Tables: tables{"t": {"f": []byte("v")}}, Lists: lists{"l": items("i")}})
}
