package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func commitChecks() []check {
	small := Options{Limits: store.Limits{BatchBytes: 1000, BatchItems: 10}}
	return []check{
		{name: "events get the positions that follow", run: commitPositions},
		{name: "frames are kept byte for byte", run: commitFrames},
		{name: "all parts of a batch become visible", run: commitAllParts},
		{name: "what a batch leaves out stays", run: commitLeavesOut},
		{name: "a batch gives the session to another user", run: commitChangesUser},
		{name: "a batch without events changes no position", run: commitWithoutEvents},
		{name: "an empty batch takes a number", run: commitEmpty},
		{name: "consuming what is not there is no error", run: commitConsumesUnknown},
		{name: "a durable batch is committed", run: commitDurable},
		{name: "a retry changes nothing and gets the same receipt", run: commitRetry},
		{name: "a retry of a batch without events", run: commitRetryWithoutEvents},
		{name: "a retry is told by its number alone", run: commitRetryOtherContent},
		{name: "a wrong number is a gap", run: commitWrongNumber},
		{name: "a wrong prev is a gap", run: commitWrongPrev},
		{name: "numbers begin anew with every claim", run: commitNumbersBeginAnew},
		{name: "a batch at its limits is taken and over them refused", run: commitLimits, opts: small},
		{name: "a refused batch leaves no trace", run: commitRefused, opts: small},
		{name: "sessions do not disturb each other", run: commitManySessions},
	}
}

func commitPositions(r *rig) {
	p := r.createAndClaim("s", "a")
	seq := uint64(0)
	for n := range 6 {
		rec := p.write(n)
		seq += uint64(n)
		if want := (wire.Position{Epoch: p.lease.Epoch, Seq: seq}); rec.Top != want {
			r.Fatalf("top after %d events is %v, want %v", n, rec.Top, want)
		}
	}
	for i, e := range r.secondHandle().read("s") {
		if want := (wire.Position{Epoch: p.lease.Epoch, Seq: uint64(i)}); e.At != want {
			r.Errorf("event %d is at %v, want %v", i, e.At, want)
		}
	}
}

func commitFrames(r *rig) {
	p := r.createAndClaim("s", "a")
	frames := [][]byte{
		[]byte(`{"type":"X","data":"ünïcödé 🙂"}`),
		{0},
		{0xff, 0xfe, 0x00, 0x0d},
		[]byte("\r"), []byte(" "),
		[]byte(strings.Repeat("long", 50_000)),
		[]byte(`\n`), []byte("1"),
	}
	p.commit(store.Batch{Events: frames})
	for _, f := range frames {
		p.commit(store.Batch{Events: [][]byte{f}})
	}
	got := r.secondHandle().read("s")[1:]
	for i, want := range append(frames, frames...) {
		if !bytes.Equal(got[i].Frame, want) {
			r.Errorf("event %d is %.40q, want %.40q", i, got[i].Frame, want)
		}
	}
}

func commitAllParts(r *rig) {
	p := r.createAndClaim("s", "a")
	r.send("s", "c1", "one")
	r.send("s", "c2", "two")
	p.commit(store.Batch{
		Events:   [][]byte{[]byte("e1"), []byte("e2")},
		Ops:      []store.Op{store.Set("t", "f", []byte("v")), store.Push("l", []byte("i"))},
		Consumed: []string{"c1"},
		Card:     []byte("card"),
		Working:  new(true),
	})
	v := r.secondHandle().everything("s")
	if len(v.Log) != 3 || string(v.Log[1].Frame) != "e1" || string(v.Log[2].Frame) != "e2" {
		r.Errorf("log is %v, want the claim, e1 and e2", v.Log)
	}
	r.same("state", v.State, store.State{
		At:     p.top,
		Tables: map[string]map[string][]byte{"t": {"f": []byte("v")}},
		Lists:  map[string][][]byte{"l": {[]byte("i")}},
	})
	if string(v.Info.Card) != "card" || !v.Info.Working || v.Info.Top != p.top {
		r.Errorf("info is %+v, want the card, working, at %v", v.Info, p.top)
	}
	r.same("inbox", r.inbox(p.lease, 1), []store.Command{{ID: "c2", Data: []byte("two")}})
}

func commitChangesUser(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{
		User: "heir", Working: new(true), Events: p.frames(2), Card: []byte("given"),
		Ops: []store.Op{store.Set("t", "f", []byte("v")), store.Push("l", []byte("i"))},
	})
	check := func(r *rig) {
		r.Helper()
		if i := r.info("s"); i.User != "heir" || string(i.Card) != "given" || !i.Working {
			r.Errorf("info is %+v, want the user heir, the card given and work", i)
		}
		for _, recent := range []bool{false, true} {
			r.same("sessions of the user before", sessionIDs(r.walk(store.Query{User: "user", Recent: recent}, nil)), []wire.SessionID(nil))
			r.same("sessions of the new user", sessionIDs(r.walk(store.Query{User: "heir", Recent: recent}, nil)), []wire.SessionID{"s"})
			r.same("all sessions", sessionIDs(r.walk(store.Query{Recent: recent}, nil)), []wire.SessionID{"s"})
		}
		if s := r.load("s"); string(s.Tables["t"]["f"]) != "v" || len(s.Lists["l"]) != 1 {
			r.Errorf("state is %+v, want the table and the list of the batch", s)
		}
	}
	check(r)
	check(r.secondHandle())
	p.commit(store.Batch{User: "heir"}) // no change, and nothing else in the batch
	check(r)
	p.commit(store.Batch{User: "user", Working: new(false)})
	if i := r.info("s"); i.User != "user" || string(i.Card) != "given" || i.Working {
		r.Errorf("info after the way back is %+v, want user, the card given and no work", i)
	}
	r.same("sessions of the user", sessionIDs(r.walk(store.Query{User: "user"}, nil)), []wire.SessionID{"s"})
	b := store.Batch{Number: p.number + 1, Prev: p.top, User: "a\x00b"}
	if _, err := r.Leases.Commit(r.ctx, p.lease, b); !errors.Is(err, store.ErrInvalid) {
		r.Errorf("a batch with an invalid user: %v, want ErrInvalid", err)
	}
	r.ok(r.Lifecycle.Delete(r.ctx, p.lease))
	r.same("sessions of the user after the deletion", sessionIDs(r.walk(store.Query{User: "user"}, nil)), []wire.SessionID(nil))
}

func commitLeavesOut(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Card: []byte("card"), Working: new(true), Ops: []store.Op{store.Set("t", "f", []byte("v"))}})
	p.write(1)
	i := r.info("s")
	if string(i.Card) != "card" || !i.Working {
		r.Errorf("info after a batch without card and working is %+v, want both unchanged", i)
	}
	if s := r.load("s"); string(s.Tables["t"]["f"]) != "v" {
		r.Errorf("tables after a batch without ops are %v, want them unchanged", s.Tables)
	}
	p.commit(store.Batch{Card: []byte{}, Working: new(false)})
	if i = r.info("s"); len(i.Card) != 0 || i.Working {
		r.Errorf("info after an empty card is %+v, want no card and not working", i)
	}
}

func commitWithoutEvents(r *rig) {
	p := r.createAndClaim("s", "a")
	before := p.write(2).Top
	for n := range 3 {
		rec := p.commit(store.Batch{Ops: []store.Op{store.Push("l", fmt.Append(nil, n))}})
		if rec.Top != before {
			r.Errorf("top is %v, want %v still", rec.Top, before)
		}
	}
	if s := r.load("s"); s.At != before || len(s.Lists["l"]) != 3 {
		r.Errorf("state is %v, want three items at %v", s, before)
	}
	p.write(1)
	if got := len(r.read("s")); got != 4 {
		r.Errorf("log has %d events, want 4", got)
	}
}

func commitEmpty(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{})
	p.commit(store.Batch{})
	_, err := r.Leases.Commit(r.ctx, p.lease, store.Batch{Number: 1, Prev: p.top})
	r.isGap(err, p.top, 2)
	p.write(1)
}

func commitConsumesUnknown(r *rig) {
	p := r.createAndClaim("s", "a")
	r.send("s", "c", "data")
	p.commit(store.Batch{Consumed: []string{"never", "c", "c", "sent"}})
	p.commit(store.Batch{Consumed: []string{"c"}, Events: p.frames(1)})
	r.send("s", "d", "data")
	r.same("inbox", r.inbox(p.lease, 1), []store.Command{{ID: "d", Data: []byte("data")}})
}

func commitDurable(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Events: p.frames(2), Durable: true})
	p.commit(store.Batch{Durable: true})
	if got := len(r.secondHandle().read("s")); got != 3 {
		r.Errorf("log has %d events, want 3", got)
	}
}

func commitRetry(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(1)
	b := p.next(store.Batch{Events: p.frames(3), Ops: []store.Op{store.Push("l", []byte("once"))}})
	first, err := p.try(b)
	r.ok(err)
	before := r.everything("s")
	for _, h := range []*rig{r, r.secondHandle(), r} {
		again, err := h.Leases.Commit(r.ctx, p.lease, b)
		r.ok(err)
		r.same("receipt of a retry", again, first)
	}
	r.same("session after retries", r.everything("s"), before)
	p.write(1)
}

func commitRetryWithoutEvents(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(2)
	b := p.next(store.Batch{Ops: []store.Op{store.Push("l", []byte("once"))}})
	first, err := p.try(b)
	r.ok(err)
	again, err := p.try(b)
	r.ok(err)
	r.same("receipt of a retry", again, first)
	if got := len(r.load("s").Lists["l"]); got != 1 {
		r.Errorf("list has %d items, want 1", got)
	}
}

func commitRetryOtherContent(r *rig) {
	p := r.createAndClaim("s", "a")
	first := p.write(2)
	before := r.everything("s")
	b := store.Batch{Number: p.number, Prev: p.top, Events: p.frames(5), Card: []byte("other")}
	again, err := r.Leases.Commit(r.ctx, p.lease, b)
	r.ok(err)
	r.same("receipt of a retry", again, first)
	r.same("session after a retry", r.everything("s"), before)
}

func commitWrongNumber(r *rig) {
	p := r.createAndClaim("s", "a")
	_, err := r.Leases.Commit(r.ctx, p.lease, store.Batch{Number: 2, Prev: p.top, Events: p.frames(1)})
	r.isGap(err, p.lease.Top(), 0)
	p.write(2)
	p.write(2)
	before := r.everything("s")
	for _, n := range []uint64{1, 4, 5, 1 << 40} {
		b := store.Batch{Number: n, Prev: p.top, Events: p.frames(1), Ops: []store.Op{store.Set("t", "f", nil)}}
		_, err := r.Leases.Commit(r.ctx, p.lease, b)
		r.isGap(err, p.top, 2)
	}
	r.same("session after gaps", r.everything("s"), before)
	p.write(1)
}

func commitWrongPrev(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(4)
	before := r.everything("s")
	for _, seq := range []uint64{0, 3, 5, 1 << 40} {
		b := p.next(store.Batch{Events: p.frames(1)})
		b.Prev.Seq = seq
		_, err := r.Leases.Commit(r.ctx, p.lease, b)
		r.isGap(err, p.top, 1)
		b.Events, b.Card = nil, []byte("card")
		_, err = r.Leases.Commit(r.ctx, p.lease, b)
		r.isGap(err, p.top, 1)
	}
	r.same("session after gaps", r.everything("s"), before)
	p.write(1)
}

func commitNumbersBeginAnew(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(1)
	p.write(1)
	p = r.writer(r.claim("s", "a"))
	_, err := r.Leases.Commit(r.ctx, p.lease, store.Batch{Number: 3, Prev: p.top, Events: p.frames(1)})
	r.isGap(err, p.lease.Top(), 0)
	p.write(1)
	p.write(1)
}

func commitLimits(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Events: [][]byte{bytes.Repeat([]byte("x"), 900)}, Card: make([]byte, 50), Ops: []store.Op{store.Push("l", make([]byte, 50))}})
	_, err := p.try(p.next(store.Batch{Events: [][]byte{bytes.Repeat([]byte("x"), 1001)}}))
	r.is(err, store.ErrTooLarge, "1001 bytes of 1000")
	p.write(10)
	_, err = p.try(p.next(store.Batch{Events: p.frames(11)}))
	r.is(err, store.ErrTooLarge, "11 events of 10 items")
	p.write(1)
}

func commitRefused(r *rig) {
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Events: p.frames(1), Ops: []store.Op{store.Push("l", []byte("i")), store.Set("t", "f", []byte("v"))}})
	r.send("s", "c", "data")
	before := r.everything("s")
	good := []store.Op{store.Set("t", "f", []byte("bad")), store.Push("l", []byte("bad"))}
	for _, c := range []struct {
		what string
		want error
		b    store.Batch
	}{
		{"number 0", store.ErrInvalid, store.Batch{Number: 0, Prev: p.top}},
		{"prev of another epoch", store.ErrInvalid, store.Batch{Number: 2, Prev: wire.Position{Epoch: p.lease.Epoch + 1}}},
		{"empty frame", store.ErrInvalid, p.next(store.Batch{Events: [][]byte{[]byte("x"), {}}})},
		{"line break", store.ErrInvalid, p.next(store.Batch{Events: [][]byte{[]byte("x"), []byte("a\nb")}})},
		{"no op", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{{}}})},
		{"unknown op", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{{Kind: 99, Name: "x"}}})},
		{"no table", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{store.Set("", "f", nil)}})},
		{"no field", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{store.Set("t", "", nil)}})},
		{"control character", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{store.Push("a\tb", nil)}})},
		{"long name", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{store.Drop(strings.Repeat("x", 257))}})},
		{"negative bound", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{store.KeepLast("l", -1)}})},
		{"two values", store.ErrInvalid, p.next(store.Batch{Ops: []store.Op{{Kind: store.OpSet, Name: "t", Field: "f", Values: make([][]byte, 2)}}})},
		{"bad command id", store.ErrInvalid, p.next(store.Batch{Consumed: []string{""}})},
		{"too many bytes", store.ErrTooLarge, p.next(store.Batch{Events: [][]byte{bytes.Repeat([]byte("x"), 1001)}})},
		{"too many items", store.ErrTooLarge, p.next(store.Batch{Events: p.frames(11)})},
		{"gap", store.ErrGap, store.Batch{Number: 9, Prev: p.top}},
	} {
		c.b.Ops = append(good, c.b.Ops...)
		c.b.Events = append([][]byte{[]byte("bad")}, c.b.Events...)
		c.b.Consumed = append([]string{"c"}, c.b.Consumed...)
		c.b.Card, c.b.Working = []byte("bad"), new(true)
		_, err := p.try(c.b)
		r.is(err, c.want, c.what)
		r.same("session after "+c.what, r.everything("s"), before)
	}
	r.same("inbox", r.inbox(p.lease, 1), []store.Command{{ID: "c", Data: []byte("data")}})
	p.write(1)
}

func commitManySessions(r *rig) {
	const sessions, batches = 8, 20
	errs := make(chan error, sessions)
	for i := range sessions {
		p := r.secondHandle().createAndClaim(wire.SessionID(fmt.Sprintf("s%d", i)), "a")
		go func() {
			for n := range batches {
				if _, err := p.try(p.next(store.Batch{Events: p.frames(3), Ops: []store.Op{store.Push("l", fmt.Append(nil, i, n))}})); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range sessions {
		r.ok(<-errs)
	}
	for i := range sessions {
		v := r.everything(wire.SessionID(fmt.Sprintf("s%d", i)))
		if len(v.Log) != 1+3*batches || len(v.State.Lists["l"]) != batches {
			r.Errorf("session %d has %d events and %d items, want %d and %d", i, len(v.Log), len(v.State.Lists["l"]), 1+3*batches, batches)
		}
		for n, item := range v.State.Lists["l"] {
			if want := fmt.Append(nil, i, n); !bytes.Equal(item, want) {
				r.Errorf("item %d of session %d is %q, want %q", n, i, item, want)
			}
		}
	}
}

// isGap fails the check if err is not a *GapError with the actual end of the log.
func (r *rig) isGap(err error, top wire.Position, number uint64) {
	r.Helper()
	gap, ok := errors.AsType[*store.GapError](err)
	if !ok || !errors.Is(err, store.ErrGap) {
		r.Fatalf("got error %v, want *GapError", err)
	}
	if gap.Top != top || gap.Number != number {
		r.Fatalf("gap says %v after batch %d, want %v after %d", gap.Top, gap.Number, top, number)
	}
}

func (r *rig) load(id wire.SessionID) store.State {
	r.Helper()
	s, err := r.Contents.Load(r.ctx, id)
	r.ok(err)
	return s
}
