package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func (p *player) create(e Engine, s step) error {
	n := store.NewSession{ID: s.id(), User: s.user(), Card: []byte(s.Text)}
	return compareResults("Create", nil, nil, e.Lifecycle.Create(p.ctx, n), p.model.create(n))
}

func (p *player) claim(e Engine, s step) error {
	ttl := p.ttl(s.N)
	got, gotErr := e.Leases.Claim(p.ctx, s.id(), s.replica(), ttl)
	before, reborn := p.model.epochs[s.id()], len(p.model.sessionLog(s.id())) == 0
	if gotErr == nil {
		clock := store.NextEpoch(before, time.Now())
		switch {
		case got.Epoch <= before:
			return fmt.Errorf("Claim: epoch %d after %d", got.Epoch, before)
		case p.env.Virtual && got.Epoch < clock, p.env.Virtual && !reborn && got.Epoch != clock:
			return fmt.Errorf("Claim: epoch %d after %d, want %d", got.Epoch, before, clock)
		}
		p.model.epoch = func(uint64) uint64 { return got.Epoch }
	}
	want, wantErr := p.model.claim(s.id(), s.replica(), ttl)
	if err := compareResults("Claim", got, want, gotErr, wantErr); err != nil || gotErr != nil {
		return err
	}
	p.leases[s.id()] = append(p.leases[s.id()], got)
	return p.trim(e, s.id())
}

// trim applies the engine's choice of trimmed batches to the model, after checking it
// against the rules.
func (p *player) trim(e Engine, id wire.SessionID) error {
	i, err := e.Directory.Session(p.ctx, id)
	if err != nil {
		return fmt.Errorf("Session: %w", err)
	}
	return p.model.sessions[id].log.checkTrimmed(i.Oldest)
}

func (p *player) renew(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	return compareResults("Renew", nil, nil, e.Leases.Renew(p.ctx, l), p.model.renew(l))
}

func (p *player) release(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	if s.N%2 == 1 { // possibly the owner itself, which is refused
		l.Heir = s.replica()
	}
	return compareResults("Release", nil, nil, e.Leases.Release(p.ctx, l), p.model.release(l))
}

func (p *player) delete(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	return compareResults("Delete", nil, nil, e.Lifecycle.Delete(p.ctx, l), p.model.delete(l), p.alternativeErrors(l)...)
}

func (p *player) discard(e Engine, s step) error {
	return compareResults("Discard", nil, nil, e.Lifecycle.Discard(p.ctx, s.id()), p.model.discard(s.id()))
}

// alternativeErrors returns the errors that a write with a stale lease may get instead.
func (p *player) alternativeErrors(l store.Lease) []error {
	s := p.model.sessions[l.Session]
	if _, err := p.model.owned(l); err == nil || s == nil || s.info.Quarantined == "" {
		return nil
	}
	return []error{s.quarantine()}
}

// batch completes the batch of a step, correctly or not.
func (p *player) batch(s step, l store.Lease) store.Batch {
	b := s.Batch
	b.Number, b.Prev = 1, l.Top()
	if m, err := p.model.owned(l); err == nil {
		b.Number, b.Prev = m.number+1, m.log.newest()
	}
	switch s.Wrong {
	case 1:
		b.Number++
	case 2:
		b.Number = max(b.Number, 3) - 2
	case 3:
		b.Prev.Seq++
	case 4:
		b.Prev.Seq = max(b.Prev.Seq, 1) - 1
	case 5:
		b.Events = append(slices.Clone(b.Events), []byte("two\nlines"))
	case 6:
		b.Events = append(slices.Clone(b.Events), slices.Repeat([][]byte{[]byte("many")}, modelLimits().BatchItems)...)
	}
	return b
}

func (p *player) commit(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	return p.commitBatch(e, l, p.batch(s, l))
}

// retry sends a batch with the newest number and different content.
func (p *player) retry(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	b := store.Batch{Number: 1, Prev: l.Top(), Events: items("retry"), Ops: []store.Op{store.Drop("l")}}
	if m, err := p.model.owned(l); err == nil {
		b.Number = max(m.number, 1)
	}
	return p.commitBatch(e, l, b)
}

func (p *player) commitBatch(e Engine, l store.Lease, b store.Batch) error {
	got, gotErr := e.Leases.Commit(p.ctx, l, b)
	want, wantErr := p.model.commit(l, b)
	if err := compareResults("Commit", got, want, gotErr, wantErr, p.alternativeErrors(l)...); err != nil || gotErr != nil {
		return err
	}
	return p.trim(e, l.Session)
}

func (p *player) load(e Engine, s step) error { return p.loadOf(e, s.id()) }

func (p *player) loadOf(e Engine, id wire.SessionID) error {
	got, gotErr := e.Contents.Load(p.ctx, id)
	want, wantErr := p.model.load(id)
	return compareResults("Load", dropEmpty(got), want, gotErr, wantErr)
}

func (p *player) read(e Engine, s step) error {
	var cursor wire.Position
	if all := p.model.sessionLog(s.id()); len(all) > 0 && s.N > 20 {
		cursor = all[s.N%len(all)].At
	}
	switch s.Wrong {
	case 1:
		cursor.Seq++
	case 2:
		cursor.Epoch++
	case 3:
		cursor.Epoch += uint64(p.env.Unit.Milliseconds()) //nolint:gosec // not negative
	}
	return p.readAfter(e, s.id(), cursor, 1+s.N%17)
}

func (p *player) readAfter(e Engine, id wire.SessionID, cursor wire.Position, limit int) error {
	got, gotErr := e.Contents.Read(p.ctx, id, cursor, limit)
	want, wantErr := p.model.read(id, cursor, limit)
	what := fmt.Sprintf("Read of %d after %v", limit, cursor)
	if gotErr == nil && wantErr == nil {
		if err := sameEvents(got, want); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	return compareResults(what, nil, nil, gotErr, wantErr)
}

// sameEvents compares events, except for the time of claims, which only the engine knows.
func sameEvents(got, want []store.Event) error {
	if len(got) != len(want) {
		return fmt.Errorf("got %d events, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if w.At.Seq == 0 {
			var gf, wf claimFrame
			if err := errors.Join(json.Unmarshal(g.Frame, &gf), json.Unmarshal(w.Frame, &wf)); err != nil {
				return fmt.Errorf("claim event %q: %w", g.Frame, err)
			}
			w = store.ClaimEvent(store.Lease{
				Session: wf.Session, Replica: wf.Data.Replica, Epoch: wf.Data.Epoch, Prev: wf.Data.Prev,
			}, gf.Timestamp)
		}
		if g.At != w.At || !bytes.Equal(g.Frame, w.Frame) {
			return fmt.Errorf("event %d is %v %q, want %v %q", i, g.At, g.Frame, w.At, w.Frame)
		}
	}
	return nil
}

func (p *player) readList(e Engine, s step) error {
	return p.readListOf(e, s.id(), s.list(), s.N%10-5, s.N%7) // negative indexes count from the end
}

func (p *player) readListOf(e Engine, id wire.SessionID, list string, from, limit int) error {
	got, gotErr := e.Contents.ReadList(p.ctx, id, list, from, limit)
	want, wantErr := p.model.readList(id, list, from, limit)
	return compareResults(fmt.Sprintf("ReadList of %s from %d", list, from), got, want, gotErr, wantErr)
}

func (p *player) session(e Engine, s step) error { return p.sessionOf(e, s.id()) }

func (p *player) sessionOf(e Engine, id wire.SessionID) error {
	got, gotErr := e.Directory.Session(p.ctx, id)
	want, wantErr := p.model.session(id)
	return compareResults("Session", p.info(got), p.info(want), gotErr, wantErr)
}

// info clears the fields that the engine and the model cannot agree on.
func (p *player) info(i store.Info) store.Info {
	if i.Owner == "" {
		i.Until = time.Time{}
	}
	for _, t := range []*time.Time{&i.Created, &i.Updated, &i.Until} {
		if !p.env.Virtual {
			*t = time.Time{}
		}
		*t = t.UTC().Truncate(time.Millisecond)
	}
	return i
}

func (p *player) quarantine(e Engine, s step) error {
	reason := "because " + s.Text
	if s.Do == "lift" {
		reason = ""
	}
	return compareResults("Quarantine", nil, nil, e.Directory.Quarantine(p.ctx, s.id(), reason), p.model.setQuarantine(s.id(), reason))
}

func (p *player) send(e Engine, s step) error { return p.sendTo(e, s.id(), s.command()) }

func (p *player) sendTo(e Engine, id wire.SessionID, c store.Command) error {
	got, gotErr := e.Inbox.Send(p.ctx, id, c)
	want, forgotten, wantErr := p.model.send(id, c)
	if forgotten && (gotErr != nil || !got) {
		want, wantErr = p.model.resend(id, c)
	}
	return compareResults("Send of "+c.ID, got, want, gotErr, wantErr)
}

func (p *player) receive(e Engine, s step) error {
	if l, ok := p.lease(s); ok {
		return p.receiveAs(e, l)
	}
	return nil
}

// receiveAs compares the inbox, unless it is empty and Receive would wait.
func (p *player) receiveAs(e Engine, l store.Lease) error {
	want, wantErr := p.model.received(l)
	if wantErr == nil && len(want) == 0 {
		return nil
	}
	var got []store.Command
	for commands, err := range e.Inbox.Receive(p.ctx, l) {
		if err != nil {
			return compareResults("Receive", nil, nil, err, wantErr)
		}
		if got = append(got, commands...); len(got) >= len(want) {
			break
		}
	}
	return compareResults("Receive", got, want, nil, wantErr)
}
