package storetest

import (
	"bytes"
	"fmt"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// restartChecks require [Env.Reopen].
func restartChecks() []check {
	return []check{
		{name: "everything is there after a restart", run: restartKeeps},
		{name: "a restarted store goes on where it was", run: restartGoesOn},
		{name: "a packed session is there after a restart", run: restartPacked},
		{name: "a trimmed log stays trimmed", run: restartTrimmed, opts: Options{Limits: store.Limits{LogEvents: 64}}},
		{name: "older values are upgraded when read", run: schemaUpgrade},
		{name: "changed values are stored in the new form", run: schemaStored},
		{name: "newer values are refused without quarantine", run: schemaNewer},
		{name: "a value can need a newer program than the others", run: schemaOfValue},
	}
}

func (r *rig) reopen(o Options) *rig {
	r.Helper()
	return r.withEngine(r.env.Reopen(r.T, o))
}

func restartKeeps(r *rig) {
	p := r.createAndClaim("s", "a")
	r.sendAll("s", commands("a", "b"))
	p.commit(store.Batch{
		Events: p.frames(3), Consumed: []string{"a"}, Card: []byte("card"), Working: new(true),
		Ops: []store.Op{store.Set("t", "f", []byte("v")), store.Push("l", items("x", "y")...), store.Push(store.ColdPrefix+"l", items("z")...)},
	})
	r.create("new")
	r.ok(r.Directory.Quarantine(r.ctx, "new", "because"))
	gone := r.createAndClaim("gone", "a")
	r.ok(r.Lifecycle.Delete(r.ctx, gone.lease))
	r.put("c", "n", "data", r.put("c", "n", "first", 0))
	before, beforeNew := r.everything("s"), r.everything("new")

	r = r.reopen(Options{})
	r.ok(r.Service.Ready(r.ctx))
	r.same("session", r.everything("s"), before)
	r.same("new session", r.everything("new"), beforeNew)
	r.same("sessions", sessionIDs(r.walk(store.Query{User: "user"}, nil)), []wire.SessionID{"new", "s"})
	page, err := r.Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", 0, 10)
	r.ok(err)
	r.same("cold list", page, store.ListPage{Items: items("z"), Total: 1})
	r.same("inbox", r.inbox(p.lease, 1), commands("b"))
	if !r.sendOn("s", "a", "data of a") {
		r.Error("a consumed command is new after a restart, want a duplicate")
	}
	r.expectDocument("c", "n", "data", 2)
	r.create("gone")
	if l := r.claim("gone", "a"); l.Epoch <= gone.lease.Epoch {
		r.Errorf("epoch is %d after %d of the session's last life, want a higher one", l.Epoch, gone.lease.Epoch)
	}
}

func restartPacked(r *rig) {
	p := r.filledSession("s")
	r.ok(r.Lifecycle.Pack(r.ctx, p.lease))
	before := r.visible()
	r = r.reopen(Options{})
	r.same("packed session", r.visible(), before)
	l := r.claim("s", "b")
	if l.Prev != p.top {
		r.Errorf("lease follows %v, want %v", l.Prev, p.top)
	}
	r = r.reopen(Options{})
	if got := r.readAfter("s", p.top); len(got) != 1 || got[0].At != l.Top() {
		r.Errorf("log after the pack is %v, want the claim at %v", got, l.Top())
	}
	r.ok(r.Leases.Release(r.ctx, l))
	r.same("list of the claimed session", r.visible().last, before.last)
}

func restartGoesOn(r *rig) {
	p := r.createAndClaim("s", "a")
	p.write(1)
	b := p.next(store.Batch{Events: p.frames(2), Ops: []store.Op{store.Push("l", nil)}})
	first, err := p.try(b)
	r.ok(err)
	for range 3 {
		r = r.reopen(Options{})
		p = r.resume(p)
		again, err := p.try(b)
		r.ok(err)
		r.same("receipt of a retry", again, first)
		_, err = r.Leases.Claim(r.ctx, "s", "b", r.long())
		r.is(err, store.ErrOwned, "Claim")
		_, err = r.Leases.Commit(r.ctx, p.lease, store.Batch{Number: p.number + 2, Prev: p.top})
		r.isGap(err, p.top, p.number)
		b = p.next(store.Batch{Events: p.frames(1)})
		first, err = p.try(b)
		r.ok(err)
	}
	if got := len(r.load("s").Lists["l"]); got != 1 {
		r.Errorf("list has %d items, want 1", got)
	}
}

func restartTrimmed(r *rig) {
	c := r.trackLog("s", store.Limits{LogEvents: 64})
	for n := range 30 {
		c.append(c.frames(n % 6)...)
		if n%8 == 7 {
			before := r.everything("s")
			r = r.reopen(Options{Limits: store.Limits{LogEvents: 64}})
			c.leaseWriter = r.resume(c.leaseWriter)
			r.same("session", r.everything("s"), before)
		}
		c.verify()
	}
	c.verifyCursors(r)
}

// version3 is a schema whose upgrade is visible in every value.
func version3() Options {
	return Options{Schema: store.Schema{Version: 3, Upgrade: func(kind store.Kind, name string, from uint8, value []byte) ([]byte, error) {
		if kind == store.KindEntry {
			return bytes.ReplaceAll(value, []byte("v1"), []byte("v2")), nil
		}
		if kind == store.KindCard || kind == store.KindCommand {
			name = ""
		}
		return fmt.Appendf(nil, "%s %s %q from %d", value, kind, name, from), nil
	}}}
}

// written creates a session with a value of every kind in version 1.
func (r *rig) written(id wire.SessionID) *leaseWriter {
	r.Helper()
	p := r.createAndClaim(id, "a")
	p.commit(store.Batch{
		Events: items("v1 first", "v1 second"), Card: []byte("card"),
		Ops: []store.Op{
			store.Set("t", "f", []byte("field")), store.Push("l", items("item")...),
			store.Push(store.ColdPrefix+"l", items("item")...),
		},
	})
	r.send(id, "command", "data")
	r.put("c", string(id), "document", 0)
	return p
}

func schemaUpgrade(r *rig) {
	p := r.written("s")
	r = r.reopen(version3())
	r.same("state", r.load("s"), store.State{
		At:     p.top,
		Tables: tables{"t": {"f": []byte(`field field "t/f" from 1`)}},
		Lists:  lists{"l": items(`item item "l" from 1`)},
	})
	page, err := r.Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", 0, 10)
	r.ok(err)
	r.same("cold list", page.Items, items(`item item "cold:l" from 1`))
	events, err := r.Contents.Read(r.ctx, "s", p.lease.Top(), 10)
	r.ok(err)
	if len(events) != 2 || string(events[0].Frame) != "v2 first" || string(events[1].Frame) != "v2 second" {
		r.Errorf("events are %q, want both of version 2", events)
	}
	r.same("tail", r.follow("s", p.lease.Top()).events(2), events)
	if got := string(r.info("s").Card); got != `card card "" from 1` {
		r.Errorf("card is %q, want the converted one of version 1", got)
	}
	r.same("inbox", r.inbox(p.lease, 1), []store.Command{{ID: "command", Data: []byte(`data command "" from 1`)}})
	r.expectDocument("c", "s", `document document "c/s" from 1`, 1)
}

func schemaStored(r *rig) {
	p := r.written("s")
	r = r.reopen(version3())
	p = r.resume(p)
	p.commit(store.Batch{Events: items("v2 third"), Card: []byte("new card"), Ops: []store.Op{
		store.Set("t", "f", []byte("new field")), store.Push("l", []byte("new item")),
	}})
	r.put("c", "s", "new document", 1)
	for range 2 {
		r.same("state", r.load("s"), store.State{
			At:     p.top,
			Tables: tables{"t": {"f": []byte("new field")}},
			Lists:  lists{"l": items(`item item "l" from 1`, "new item")},
		})
		if got := string(r.info("s").Card); got != "new card" {
			r.Errorf(`card is %q, want "new card"`, got)
		}
		r.expectDocument("c", "s", "new document", 2)
		r = r.reopen(version3())
	}
}

func schemaNewer(r *rig) {
	old := r.written("old")
	r = r.reopen(version3())
	p := r.written("s")
	r = r.reopen(Options{})
	_, err := r.Contents.Load(r.ctx, "s")
	r.is(err, store.ErrNewerSchema, "Load")
	_, err = r.Contents.ReadList(r.ctx, "s", store.ColdPrefix+"l", 0, 10)
	r.is(err, store.ErrNewerSchema, "ReadList")
	_, err = r.Contents.Read(r.ctx, "s", p.lease.Top(), 10)
	r.is(err, store.ErrNewerSchema, "Read")
	r.follow("s", p.lease.Top()).ends(store.ErrNewerSchema)
	_, err = r.Documents.Get(r.ctx, "c", "s")
	r.is(err, store.ErrNewerSchema, "Get")
	v := r.everything("old")
	if string(v.State.Tables["t"]["f"]) != "field" {
		r.Errorf("state of the old session is %v, want its field unchanged", v.State)
	}
	r.resume(old).write(1)

	r = r.reopen(version3()) // the newer program reads everything unchanged
	if i := r.info("s"); i.Quarantined != "" || string(i.Card) != "card" {
		r.Errorf("info is %+v, want the card and no quarantine", i)
	}
	r.resume(p).write(1)
	if s := r.load("s"); string(s.Tables["t"]["f"]) != "field" {
		r.Errorf("tables are %v, want the field unchanged", s.Tables)
	}
}

func schemaOfValue(r *rig) {
	set := func(field string, version uint8) store.Op {
		op := store.Set("t", field, []byte(field))
		op.Schema = version
		return op
	}
	p := r.createAndClaim("s", "a")
	p.commit(store.Batch{Ops: []store.Op{set("any", 0), set("known", 2)}})
	r.same("tables", r.load("s").Tables, tables{"t": {"any": []byte("any"), "known": []byte("known")}})
	push := store.Push("l", []byte("item"))
	push.Schema = 3
	for _, newer := range [][2]store.Op{{set("new", 3), store.Unset("t", "new")}, {push, store.Drop("l")}} {
		p.commit(store.Batch{Ops: newer[:1]})
		_, err := r.Contents.Load(r.ctx, "s")
		r.is(err, store.ErrNewerSchema, "Load")
		if i := r.info("s"); i.Quarantined != "" {
			r.Errorf("got a quarantine because of %q, want none", i.Quarantined)
		}
		p.commit(store.Batch{Ops: newer[1:]})
		r.same("tables", r.load("s").Tables, tables{"t": {"any": []byte("any"), "known": []byte("known")}})
	}
}
