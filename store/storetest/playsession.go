package storetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sessionPlayer executes the steps about sessions.
type sessionPlayer struct {
	*comparison
	// leases are all leases of each session so far, newest last.
	leases map[wire.SessionID][]store.Lease
}

func (p *sessionPlayer) create(e Engine, s step) error {
	n := store.NewSession{ID: s.id(), User: s.user(), Card: []byte(s.Text)}
	return compareResults("Create", nil, nil, e.Lifecycle.Create(p.ctx, n), p.model.create(n))
}

func (p *sessionPlayer) claim(e Engine, s step) error {
	ttl := p.ttl(s.N)
	got, gotErr := e.Leases.Claim(p.ctx, s.id(), s.replica(), ttl)
	return p.compareClaim(e, s, got, gotErr, func() (store.Lease, error) { return p.model.claim(s.id(), s.replica(), ttl) })
}

func (p *sessionPlayer) claimShared(e Engine, s step) error {
	ttl := p.ttl(s.N)
	got, gotErr := e.Leases.ClaimShared(p.ctx, s.id(), s.incarnation(), ttl)
	return p.compareClaim(e, s, got, gotErr, func() (store.Lease, error) { return p.model.claimShared(s.id(), s.incarnation(), ttl) })
}

// renewShared compares no results: the model has one partition.
func (p *sessionPlayer) renewShared(e Engine, s step) error {
	ttl := p.ttl(s.N)
	_, gotErr := e.Leases.RenewShared(p.ctx, s.incarnation(), e.Directory.Partition(s.id()), ttl)
	_, wantErr := p.model.renewShared(s.incarnation(), ttl)
	return compareResults("RenewShared", nil, nil, gotErr, wantErr)
}

// compareClaim compares the result of a claim with that of the same claim in the model.
func (p *sessionPlayer) compareClaim(e Engine, s step, got store.Lease, gotErr error, claim func() (store.Lease, error)) error {
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
	want, wantErr := claim()
	if err := compareResults("Claim", got, want, gotErr, wantErr); err != nil || gotErr != nil {
		return err
	}
	p.leases[s.id()] = append(p.leases[s.id()], got)
	return p.trim(e, s.id())
}

// trim applies the engine's choice of trimmed batches to the model, after checking it
// against the rules.
func (p *sessionPlayer) trim(e Engine, id wire.SessionID) error {
	i, err := e.Directory.Session(p.ctx, id)
	if err != nil {
		return fmt.Errorf("Session: %w", err)
	}
	return p.model.sessions[id].log.checkTrimmed(i.Oldest)
}

func (p *sessionPlayer) renew(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	return compareResults("Renew", nil, nil, e.Leases.Renew(p.ctx, l), p.model.renew(l))
}

func (p *sessionPlayer) release(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	if s.N%4 == 0 {
		return compareResults("Pack", nil, nil, e.Lifecycle.Pack(p.ctx, l), p.model.release(l))
	}
	if s.N%2 == 1 { // possibly the owner itself, which is refused
		l.Heir = s.replica()
	}
	return compareResults("Release", nil, nil, e.Leases.Release(p.ctx, l), p.model.release(l))
}

func (p *sessionPlayer) delete(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	return compareResults("Delete", nil, nil, e.Lifecycle.Delete(p.ctx, l), p.model.delete(l), p.alternativeErrors(l)...)
}

func (p *sessionPlayer) discard(e Engine, s step) error {
	return compareResults("Discard", nil, nil, e.Lifecycle.Discard(p.ctx, s.id()), p.model.discard(s.id()))
}

// alternativeErrors returns the errors that a write with a stale lease may get instead.
func (p *sessionPlayer) alternativeErrors(l store.Lease) []error {
	s := p.model.sessions[l.Session]
	if _, err := p.model.owned(l); err == nil || s == nil || s.info.Quarantined == "" {
		return nil
	}
	return []error{s.quarantine()}
}

// batch completes the batch of a step, correctly or not.
func (p *sessionPlayer) batch(s step, l store.Lease) store.Batch {
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

func (p *sessionPlayer) commit(e Engine, s step) error {
	l, ok := p.lease(s)
	if !ok {
		return nil
	}
	return p.commitBatch(e, l, p.batch(s, l))
}

// retry sends a batch with the newest number and different content.
func (p *sessionPlayer) retry(e Engine, s step) error {
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

func (p *sessionPlayer) commitBatch(e Engine, l store.Lease, b store.Batch) error {
	got, gotErr := e.Leases.Commit(p.ctx, l, b)
	want, wantErr := p.model.commit(l, b)
	if err := compareResults("Commit", got, want, gotErr, wantErr, p.alternativeErrors(l)...); err != nil || gotErr != nil {
		return err
	}
	return p.trim(e, l.Session)
}

func (p *sessionPlayer) load(e Engine, s step) error { return p.loadOf(e, s.id()) }

func (p *sessionPlayer) loadOf(e Engine, id wire.SessionID) error {
	got, gotErr := e.Contents.Load(p.ctx, id)
	want, wantErr := p.model.load(id)
	return compareResults("Load", dropEmpty(got), want, gotErr, wantErr)
}

func (p *sessionPlayer) read(e Engine, s step) error {
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

func (p *sessionPlayer) readAfter(e Engine, id wire.SessionID, cursor wire.Position, limit int) error {
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

func (p *sessionPlayer) readList(e Engine, s step) error {
	return p.readListOf(e, s.id(), s.list(), s.N%10-5, s.N%7) // negative indexes count from the end
}

func (p *sessionPlayer) readListOf(e Engine, id wire.SessionID, list string, from, limit int) error {
	got, gotErr := e.Contents.ReadList(p.ctx, id, list, from, limit)
	want, wantErr := p.model.readList(id, list, from, limit)
	return compareResults(fmt.Sprintf("ReadList of %s from %d", list, from), got, want, gotErr, wantErr)
}

func (p *sessionPlayer) session(e Engine, s step) error { return p.sessionOf(e, s.id()) }

func (p *sessionPlayer) sessionOf(e Engine, id wire.SessionID) error {
	got, gotErr := e.Directory.Session(p.ctx, id)
	want, wantErr := p.model.session(id)
	return compareResults("Session", p.info(got), p.info(want), gotErr, wantErr)
}

// info clears the fields that the engine and the model cannot agree on.
func (p *sessionPlayer) info(i store.Info) store.Info {
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

func (p *sessionPlayer) quarantine(e Engine, s step) error {
	reason := "because " + s.Text
	if s.Do == "lift" {
		reason = ""
	}
	return compareResults("Quarantine", nil, nil, e.Directory.Quarantine(p.ctx, s.id(), reason), p.model.setQuarantine(s.id(), reason))
}

func (p *sessionPlayer) send(e Engine, s step) error { return p.sendTo(e, s.id(), s.command()) }

func (p *sessionPlayer) sendTo(e Engine, id wire.SessionID, c store.Command) error {
	duplicates, gotErr := e.Inbox.Send(p.ctx, id, c)
	got := slices.Contains(duplicates, true)
	want, forgotten, wantErr := p.model.send(id, c)
	if forgotten && (gotErr != nil || !got) {
		want, wantErr = p.model.resend(id, c)
	}
	return compareResults("Send of "+c.ID, got, want, gotErr, wantErr)
}

func (p *sessionPlayer) receive(e Engine, s step) error {
	if l, ok := p.lease(s); ok {
		return p.receiveAs(e, l)
	}
	return nil
}

// receiveAs compares the inbox, unless it is empty and Receive would wait.
func (p *sessionPlayer) receiveAs(e Engine, l store.Lease) error {
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

// lease returns the lease that a step selects, if there is any.
func (p *sessionPlayer) lease(s step) (store.Lease, bool) {
	all := p.leases[s.id()]
	if len(all) == 0 {
		return store.Lease{}, false
	}
	return all[max(0, len(all)-1-s.Old)], true
}

func (p *sessionPlayer) list(e Engine, s step) error {
	for _, user := range []string{"", s.user()} {
		var want []store.Info
		for id, m := range p.model.sessions {
			if user == "" || m.info.User == user {
				i, _ := p.model.session(id)
				want = append(want, p.info(i))
			}
		}
		byID := func(a, b store.Info) int { return cmp.Compare(a.ID, b.ID) }
		slices.SortFunc(want, byID)
		for _, recent := range []bool{false, true} {
			got, err := p.listAll(e, store.Query{User: user, Limit: 1 + s.N%3, Recent: recent})
			if err != nil {
				return err
			}
			slices.SortFunc(got, byID)
			if err := compareResults(fmt.Sprintf("Sessions of %q, recent %v", user, recent), got, want, nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// listAll reads all pages of a listing.
func (p *sessionPlayer) listAll(e Engine, q store.Query) (all []store.Info, err error) {
	for {
		page, err := e.Directory.Sessions(p.ctx, q)
		if err != nil {
			return nil, fmt.Errorf("Sessions: %w", err)
		}
		for _, i := range page.Items {
			all = append(all, p.info(i))
		}
		if q.After = page.Next; q.After == "" {
			return all, nil
		}
	}
}

func (p *sessionPlayer) unattended(e Engine, _ step) error {
	got, err := e.Directory.Unattended(p.ctx, 0)
	slices.Sort(got)
	return compareResults("Unattended", got, p.model.unattended(), err, nil)
}

func (p *sessionPlayer) compareLog(e Engine, id wire.SessionID) error {
	cursors := []wire.Position{{}}
	for _, ev := range p.model.sessionLog(id) {
		cursors = append(cursors, ev.At)
	}
	for i, c := range cursors {
		if i%5 == 0 || i == len(cursors)-1 {
			if err := p.readAfter(e, id, c, 1000); err != nil {
				return err
			}
		}
	}
	return p.compareTail(e, id)
}

// compareTail follows the log from its oldest event to its newest.
func (p *sessionPlayer) compareTail(e Engine, id wire.SessionID) error {
	i, err := p.model.session(id)
	if err != nil || i.Oldest == i.Top {
		return nil // a deleted session has no tail
	}
	want := p.model.sessions[id].log.held()[1:]
	var got []store.Event
	for news, err := range e.Contents.Tail(p.ctx, id, i.Oldest) {
		if err != nil {
			return fmt.Errorf("Tail: %w", err)
		}
		if got = append(got, news.Events...); len(got) >= len(want) {
			break
		}
	}
	if err := sameEvents(got, want); err != nil {
		return fmt.Errorf("Tail: %w", err)
	}
	return nil
}

func (p *sessionPlayer) compareLists(e Engine, id wire.SessionID) error {
	for n := range 3 {
		list := step{N: n}.list()
		if err := errors.Join(p.readListOf(e, id, list, 0, 1000), p.readListOf(e, id, list, -1, 1)); err != nil {
			return err
		}
	}
	return nil
}

// compareInbox claims the session, because only an owner can receive, and sends one more
// command, so that Receive does not wait.
func (p *sessionPlayer) compareInbox(e Engine, id wire.SessionID) error {
	m := p.model.sessions[id]
	if m == nil {
		return nil
	}
	s := step{Session: int(id[1] - '0')}
	if err := p.quarantine(e, step{Session: s.Session, Do: "lift"}); err != nil {
		return err
	}
	for s.Replica = range programReplicas {
		if m.info.Owner == "" || m.info.Owner == s.replica() {
			break
		}
	}
	if err := p.claim(e, s); err != nil {
		return err
	}
	if err := p.sendTo(e, id, store.Command{ID: "in-the-end"}); err != nil {
		return err
	}
	return p.receive(e, s)
}
