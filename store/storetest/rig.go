package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// rig is the environment of one check.
type rig struct {
	*testing.T
	Engine
	env Env
	ctx context.Context
}

func newRig(t *testing.T, env Env) *rig {
	t.Helper()
	// The deadline ends a hanging check. No check expects it.
	ctx, cancel := context.WithTimeout(t.Context(), max(100*env.Unit, time.Minute))
	t.Cleanup(cancel)
	return &rig{T: t, Engine: env.Open(t), env: env, ctx: ctx}
}

// withEngine returns the same rig with another handle.
func (r *rig) withEngine(e Engine) *rig {
	c := *r
	c.Engine = e
	return &c
}

// secondHandle opens a further handle, like another replica.
func (r *rig) secondHandle() *rig {
	r.Helper()
	return r.withEngine(r.env.Open(r.T))
}

// long is longer than every check; short has expired after [rig.expire].
func (r *rig) long() time.Duration  { return 1000 * r.env.Unit }
func (r *rig) short() time.Duration { return r.env.Unit }

// renewed is the lifetime of things that a check renews after five eighths of it. The rest
// is long enough for a busy machine.
func (r *rig) renewed() time.Duration { return 16 * r.env.Unit }

// expire advances time beyond [rig.short].
func (r *rig) expire() { r.env.Advance(2 * r.env.Unit) }

// ok fails the check if err is not nil.
func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatalf("unexpected error: %v", err)
	}
}

// is fails the check if err does not match target.
func (r *rig) is(err, target error, what string) {
	r.Helper()
	if !errors.Is(err, target) {
		r.Fatalf("%s: got error %v, want %v", what, err, target)
	}
}

// eventually polls cond, where the contract has no way to wait, such as for the number of
// waiting requests.
func (r *rig) eventually(what string, cond func() bool) {
	r.Helper()
	tick := time.NewTicker(max(r.env.Unit/6000, time.Millisecond))
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			r.Fatalf("%s: not reached before the deadline, want it reached", what)
		}
	}
}

// create creates a session.
func (r *rig) create(id wire.SessionID) {
	r.Helper()
	r.ok(r.Lifecycle.Create(r.ctx, store.NewSession{ID: id, User: "user", Card: []byte(`{"title":"` + id + `"}`)}))
}

// claim claims a session for longer than the check lasts.
func (r *rig) claim(id wire.SessionID, replica wire.ReplicaID) store.Lease {
	r.Helper()
	return r.claimFor(id, replica, r.long())
}

func (r *rig) claimFor(id wire.SessionID, replica wire.ReplicaID, ttl time.Duration) store.Lease {
	r.Helper()
	l, err := r.Leases.Claim(r.ctx, id, replica, ttl)
	r.ok(err)
	return l
}

// createAndClaim creates and claims a session and returns its writer.
func (r *rig) createAndClaim(id wire.SessionID, replica wire.ReplicaID) *leaseWriter {
	r.Helper()
	r.create(id)
	return r.writer(r.claim(id, replica))
}

func (r *rig) info(id wire.SessionID) store.Info {
	r.Helper()
	i, err := r.Directory.Session(r.ctx, id)
	r.ok(err)
	return i
}

// read returns the whole log from its oldest event on.
func (r *rig) read(id wire.SessionID) []store.Event {
	r.Helper()
	return r.readAfter(id, wire.Position{})
}

func (r *rig) readAfter(id wire.SessionID, after wire.Position) []store.Event {
	r.Helper()
	var all []store.Event
	for {
		page, err := r.Contents.Read(r.ctx, id, after, 1000)
		r.ok(err)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].At
	}
}

// leaseWriter commits the batches of one lease as an owner does.
type leaseWriter struct {
	*rig
	lease  store.Lease
	number uint64
	top    wire.Position
}

func (r *rig) writer(l store.Lease) *leaseWriter { return &leaseWriter{rig: r, lease: l, top: l.Top()} }

// next sets the number and position that continue the log.
func (p *leaseWriter) next(b store.Batch) store.Batch {
	b.Number, b.Prev = p.number+1, p.top
	return b
}

// commit commits a batch that must be accepted.
func (p *leaseWriter) commit(b store.Batch) store.Receipt {
	p.Helper()
	rec, err := p.try(p.next(b))
	p.ok(err)
	return rec
}

// try commits a batch unchanged, and advances if it was accepted.
func (p *leaseWriter) try(b store.Batch) (store.Receipt, error) {
	rec, err := p.Leases.Commit(p.ctx, p.lease, b)
	if err == nil {
		p.number, p.top = b.Number, rec.Top
	}
	return rec, err
}

// write commits n events with unique frames.
func (p *leaseWriter) write(n int) store.Receipt {
	p.Helper()
	return p.commit(store.Batch{Events: p.frames(n)})
}

func (p *leaseWriter) frames(n int) [][]byte {
	frames := make([][]byte, n)
	for i := range frames {
		frames[i] = fmt.Appendf(nil, `{"epoch":%d,"batch":%d,"event":%d}`, p.lease.Epoch, p.number+1, i)
	}
	return frames
}

// claimFrame is the part of an OWNER_CHANGED event that checks compare.
type claimFrame struct {
	Type      string         `json:"type"`
	Session   wire.SessionID `json:"session_id"`
	Message   string         `json:"message_id"`
	Timestamp time.Time      `json:"timestamp"`
	Data      struct {
		Replica wire.ReplicaID `json:"replica"`
		Epoch   uint64         `json:"epoch"`
		Prev    wire.Position  `json:"prev"`
	} `json:"data"`
}

func (r *rig) claimFrame(e store.Event) claimFrame {
	r.Helper()
	var f claimFrame
	if err := json.Unmarshal(e.Frame, &f); err != nil {
		r.Fatalf("claim event %v %q: %v", e.At, e.Frame, err)
	}
	return f
}
