package adminview

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// silenceTimeout is the time without a new report after which a replica is an alert.
const silenceTimeout = 3 * time.Second

// peer is another replica with its reports. The goroutine of Run owns it.
type peer struct {
	id wire.ReplicaID
	// since is the time of the first read, at the time of the newest head.
	since, at time.Time
	head      head
	chunks    []peerRows
	parts     map[wire.SessionID]part
	// card is the newest membership card, history the measurements.
	card    membership.Card
	history history
}

type peerRows struct {
	number uint64
	rows   []Row
}

// silent reports whether the replica has not reported for too long.
func (p *peer) silent(now time.Time) bool {
	last := p.since
	if p.at.After(last) {
		last = p.at
	}
	return now.Sub(last) > silenceTimeout
}

// complete reports whether all rows and the history are read.
func (p *peer) complete() bool {
	if p.at.IsZero() || len(p.chunks) != len(p.head.Chunks) || p.head.History > 0 && p.history.Number == 0 {
		return false
	}
	for i := range p.chunks {
		if p.chunks[i].number == 0 {
			return false
		}
	}
	return true
}

// refresh reads new documents. Those that cannot be read stay as they were.
func (p *peer) refresh(ctx context.Context, s Documents, wanted []wire.SessionID, now time.Time) error {
	h, err := read[head](ctx, s, headName(p.id))
	if err != nil {
		return err
	}
	if h.Process != p.head.Process {
		p.chunks, p.history = nil, history{} // the replica was restarted
		clear(p.parts)
	}
	if h.Process != p.head.Process || h.Number != p.head.Number {
		p.at = now
	}
	p.head = h
	return errors.Join(p.refreshRows(ctx, s), p.refreshParts(ctx, s, wanted), p.refreshHistory(ctx, s))
}

// refreshHistory reads the history if it has a new number.
func (p *peer) refreshHistory(ctx context.Context, s Documents) error {
	if p.head.History == p.history.Number {
		return nil
	}
	got, err := read[history](ctx, s, historyName(p.id))
	if err == nil && got.Process == p.head.Process {
		p.history = got
	}
	return err
}

// refreshRows reads the chunks with new numbers. As long as some are missing, the previous
// ones stay.
func (p *peer) refreshRows(ctx context.Context, s Documents) error {
	next := make([]peerRows, len(p.head.Chunks))
	if len(p.chunks) == len(next) {
		copy(next, p.chunks)
	}
	err := forEachConcurrently(len(next), func(i int) error {
		if next[i].number == p.head.Chunks[i] {
			return nil
		}
		c, err := read[chunk](ctx, s, chunkName(p.id, i))
		if err != nil {
			return err
		}
		if c.Process != p.head.Process || c.Of != len(next) {
			return nil // written before or after the head
		}
		for j := range c.Rows {
			c.Rows[j].Owner = p.id // whatever the document says
		}
		next[i] = peerRows{c.Number, c.Rows}
		return nil
	})
	if len(p.chunks) == len(next) || err == nil {
		p.chunks = next
	}
	return err
}

// refreshParts reads the details of the sessions that an admin looks at here.
func (p *peer) refreshParts(ctx context.Context, s Documents, wanted []wire.SessionID) error {
	next := make(map[wire.SessionID]part, len(wanted))
	var failures error
	for _, id := range wanted {
		number, there := p.head.Parts[id]
		if !there {
			continue
		}
		if was, ok := p.parts[id]; ok {
			next[id] = was
			if was.Number == number {
				continue
			}
		}
		got, err := read[part](ctx, s, partName(p.id, id))
		if err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		if got.Process == p.head.Process {
			next[id] = got
		}
	}
	p.parts = next
	return failures
}

// read reads and decodes a document.
func read[T any, P checked[T]](ctx context.Context, s Documents, name string) (T, error) {
	var none T
	d, err := s.Get(ctx, collection, name)
	if err != nil {
		return none, err
	}
	return decode[T, P](d.Data)
}

// gather reads the reports of the other replicas.
func (w *Watcher) gather(ctx context.Context, wanted []wire.SessionID, now time.Time) {
	cards, err := w.replicas.Replicas(ctx)
	if err == nil {
		w.cards = cards
	}
	alive := map[wire.ReplicaID]bool{}
	var others []*peer
	for _, c := range w.cards {
		if c.ID == w.cfg.Replica || c.ID.Validate() != nil {
			continue
		}
		alive[c.ID] = true
		p := w.peers[c.ID]
		if p == nil {
			p = &peer{id: c.ID, since: now, parts: map[wire.SessionID]part{}}
			w.peers[c.ID] = p
		}
		p.card = c
		delete(w.gone, c.ID)
		others = append(others, p)
	}
	w.removeGone(alive, now)
	err = errors.Join(err, forEachConcurrently(len(others), func(i int) error {
		err := others[i].refresh(ctx, w.docs, wanted, now)
		if errors.Is(err, store.ErrNotFound) {
			return nil // not reporting yet, or no longer
		}
		return err
	}))
	w.warn(ctx, "read reports of replicas", err)
}

// goneAlertTime is how long a replica that vanished is an alert.
const goneAlertTime = 2 * time.Minute

// removeGone removes replicas that are no longer alive. Those that did not announce their
// stop become alerts.
func (w *Watcher) removeGone(alive map[wire.ReplicaID]bool, now time.Time) {
	maps.DeleteFunc(w.gone, func(_ wire.ReplicaID, since time.Time) bool { return now.Sub(since) > goneAlertTime })
	maps.DeleteFunc(w.peers, func(id wire.ReplicaID, p *peer) bool {
		if !alive[id] && p.card.State == membership.Serving {
			w.gone[id] = now
		}
		return !alive[id]
	})
}
