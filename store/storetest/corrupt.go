package storetest

import (
	"errors"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// corruptChecks require [Env.Corrupt].
func corruptChecks() []check {
	load := func(r *rig, _ *leaseWriter) error { _, err := r.Contents.Load(r.ctx, "s"); return err }
	list := func(name string) func(*rig, *leaseWriter) error {
		return func(r *rig, _ *leaseWriter) error { _, err := r.Contents.ReadList(r.ctx, "s", name, 0, 10); return err }
	}
	var checks []check
	for _, c := range []struct {
		name   string
		damage Damage
		read   func(*rig, *leaseWriter) error
	}{
		{"a field of a table", Damage{Kind: store.KindField, Name: "t", Field: "f"}, load},
		{"an item of a list, loaded", Damage{Kind: store.KindItem, Name: "l", Index: 1}, load},
		{"an item of a list, read", Damage{Kind: store.KindItem, Name: "l", Index: 1}, list("l")},
		{"an item of a cold list", Damage{Kind: store.KindItem, Name: store.ColdPrefix + "l", Index: 1}, list(store.ColdPrefix + "l")},
		{"an entry of the log, read", Damage{Kind: store.KindEntry}, func(r *rig, p *leaseWriter) error {
			_, err := r.Contents.Read(r.ctx, "s", p.lease.Top(), 10)
			return err
		}},
		{"an entry of the log, followed", Damage{Kind: store.KindEntry}, func(r *rig, p *leaseWriter) error {
			f := r.follow("s", p.lease.Top())
			for {
				if _, err := f.next(); err != nil {
					return err
				}
			}
		}},
		{"a command", Damage{Kind: store.KindCommand, Name: "b"}, func(r *rig, p *leaseWriter) error {
			// The quarantine after the first read would end Receive before it reads.
			r.ok(r.Directory.Quarantine(r.ctx, "s", ""))
			v := r.receiver(p.lease)
			for {
				select {
				case <-v.got:
				case err := <-v.failed:
					return err
				case <-r.ctx.Done():
					return r.ctx.Err()
				}
			}
		}},
	} {
		checks = append(checks, check{name: c.name, run: func(r *rig) {
			p, other := r.populatedSessions()
			c.damage.Session, c.damage.At = "s", p.top
			r = r.withEngine(r.env.Corrupt(r.T, c.damage))
			p, other = r.resume(p), r.resume(other)
			for range 2 {
				r.isCorrupt(c.read(r, p))
			}
			r.checkQuarantined(p, other)
		}})
	}
	return append(checks,
		check{name: "a card", run: corruptCard},
		check{name: "a document", run: corruptDocument},
		check{name: "a field that is written anew after lifting", run: corruptRepaired},
	)
}

// resume returns the same writer on another handle.
func (r *rig) resume(p *leaseWriter) *leaseWriter {
	return &leaseWriter{rig: r, lease: p.lease, number: p.number, top: p.top}
}

func (r *rig) isCorrupt(err error) {
	r.Helper()
	if c, ok := errors.AsType[*store.CorruptError](err); !ok || !errors.Is(err, store.ErrCorrupt) || c.Where == "" {
		r.Fatalf("got error %v, want a *CorruptError that says where", err)
	}
}

// populatedSessions creates two equal sessions with a value of every kind.
func (r *rig) populatedSessions() (p, other *leaseWriter) {
	r.Helper()
	for _, id := range []wire.SessionID{"s", "other"} {
		other, p = p, r.createAndClaim(id, "a")
		r.sendAll(id, commands("a", "b", "c"))
		p.commit(store.Batch{Card: []byte("a card"), Ops: []store.Op{
			store.Set("t", "f", []byte("value")), store.Push("l", items("one", "two", "three")...),
			store.Push(store.ColdPrefix+"l", items("one", "two", "three")...),
		}})
		p.commit(store.Batch{Events: p.frames(3)})
	}
	return other, p
}

// checkQuarantined fails the check if a damaged session still accepts writes or cannot be
// discarded, or if the other session is affected.
func (r *rig) checkQuarantined(p, other *leaseWriter) {
	r.Helper()
	reason := r.info("s").Quarantined
	if reason == "" {
		r.Fatal("session has no reason of a quarantine, want one")
	}
	p.refusesWrites(reason)
	other.write(1)
	v := r.everything("other")
	if len(v.Log) != 5 || string(v.State.Tables["t"]["f"]) != "value" || v.Info.Quarantined != "" {
		r.Errorf("the other session is %+v, want 5 events and its field, without a quarantine", v)
	}
	r.same("received by the other", r.inbox(other.lease, 3), commands("a", "b", "c"))
	if got := r.walk(store.Query{}, nil); len(got) != 2 || got["s"].Quarantined != reason {
		r.Errorf("listing shows %v, want two sessions, s quarantined because of %q", got, reason)
	}
	r.ok(r.Lifecycle.Discard(r.ctx, "s"))
	if got := r.walk(store.Query{}, nil); len(got) != 1 {
		r.Errorf("listing shows %v after one was discarded, want the other only", got)
	}
	other.write(1)
}

func corruptCard(r *rig) {
	p, other := r.populatedSessions()
	r = r.withEngine(r.env.Corrupt(r.T, Damage{Kind: store.KindCard, Session: "s"}))
	for _, q := range []store.Query{{}, {User: "user"}} {
		got := r.walk(q, nil)
		if len(got) != 2 || len(got["s"].Card) != 0 || got["s"].Quarantined == "" || string(got["other"].Card) != "a card" {
			r.Errorf("listing shows %+v, want s quarantined without its card, and the other with its own", got)
		}
	}
	if i := r.info("s"); len(i.Card) != 0 || i.Quarantined == "" {
		r.Errorf("info is %+v, want no card and a quarantine", i)
	}
	r.checkQuarantined(r.resume(p), r.resume(other))
}

func corruptDocument(r *rig) {
	r.put("c", "bad", "data", 0)
	r.put("c", "good", "data", 0)
	r = r.withEngine(r.env.Corrupt(r.T, Damage{Kind: store.KindDocument, Name: "c", Field: "bad"}))
	bad, err := r.Documents.Get(r.ctx, "c", "bad")
	r.isCorrupt(err)
	r.expectDocument("c", "good", "data", 1)
	page, err := r.Documents.Documents(r.ctx, "c", "", 10)
	r.ok(err)
	if len(page.Items) != 1 || page.Items[0].Name != "good" {
		r.Errorf("listing shows %+v, want the good one", page.Items)
	}
	r.expectDocument("c", "bad", "repaired", r.put("c", "bad", "repaired", bad.Version))
}

func corruptRepaired(r *rig) {
	p, _ := r.populatedSessions()
	r = r.withEngine(r.env.Corrupt(r.T, Damage{Kind: store.KindField, Session: "s", Name: "t", Field: "f"}))
	_, err := r.Contents.Load(r.ctx, "s")
	r.isCorrupt(err)
	r.ok(r.Directory.Quarantine(r.ctx, "s", ""))
	p = r.writer(r.claim("s", p.lease.Replica))
	p.commit(store.Batch{Ops: []store.Op{store.Set("t", "f", []byte("repaired"))}})
	if s := r.load("s"); string(s.Tables["t"]["f"]) != "repaired" {
		r.Errorf("tables are %v, want the repaired field", s.Tables)
	}
	if got := r.info("s").Quarantined; got != "" {
		r.Errorf("session is quarantined again because of %q, want no quarantine", got)
	}
}
