package storetest

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// send implements Send. forgotten reports that the command was consumed so long ago that an
// engine may treat it as a duplicate or as new; the model is unchanged then.
func (m *model) send(id wire.SessionID, c store.Command) (duplicate, forgotten bool, err error) {
	if err := m.limits.CheckCommand(c); err != nil {
		return false, false, err
	}
	s, err := m.find(id)
	if err != nil {
		return false, false, err
	}
	if err := s.quarantine(); err != nil {
		return false, false, err
	}
	if i := slices.IndexFunc(s.inbox, func(o store.Command) bool { return o.ID == c.ID }); i >= 0 {
		if !bytes.Equal(s.inbox[i].Data, c.Data) {
			return false, false, store.ErrConflict
		}
		return true, false, nil
	}
	if i := slices.Index(s.consumed, c.ID); i >= 0 {
		old := i < len(s.consumed)-m.limits.InboxCommands
		return true, old, nil
	}
	if len(s.inbox) >= m.limits.InboxCommands {
		return false, false, store.ErrFull
	}
	s.inbox = append(s.inbox, store.Command{ID: c.ID, Data: bytes.Clone(c.Data)})
	return false, false, nil
}

// resend is a send whose earlier consumption the engine has forgotten.
func (m *model) resend(id wire.SessionID, c store.Command) (bool, error) {
	s := m.sessions[id]
	s.consumed = slices.DeleteFunc(s.consumed, func(old string) bool { return old == c.ID })
	duplicate, _, err := m.send(id, c)
	return duplicate, err
}

func (s *modelSession) consume(id string) {
	for i, c := range s.inbox {
		if c.ID == id {
			s.inbox = slices.Delete(slices.Clone(s.inbox), i, i+1)
			s.consumed = append(s.consumed, id)
			return
		}
	}
}

func (m *model) received(l store.Lease) ([]store.Command, error) {
	s, err := m.owned(l)
	if err != nil {
		return nil, err
	}
	return s.inbox, s.quarantine()
}

type documentKey struct{ collection, name string }

type modelDocument struct {
	store.Document
	until time.Time // expiry; zero for none
}

// document returns a document that has not expired, or nil.
func (m *model) document(collection, name string) *modelDocument {
	k := documentKey{collection, name}
	d := m.documents[k]
	if d != nil && !d.until.IsZero() && !d.until.After(m.clock()) {
		delete(m.documents, k)
		return nil
	}
	return d
}

func (m *model) get(collection, name string) (store.Document, error) {
	d := m.document(collection, name)
	if d == nil {
		return store.Document{}, store.ErrNotFound
	}
	out := d.Document
	if out.TTL != 0 {
		out.TTL = d.until.Sub(m.clock())
	}
	return out, nil
}

func (m *model) put(d store.Document) (uint64, error) {
	if err := m.limits.CheckDocument(d); err != nil {
		return 0, err
	}
	var version uint64
	if old := m.document(d.Collection, d.Name); old != nil {
		version = old.Version
	}
	if d.Version != version {
		return 0, store.ErrConflict
	}
	d.Version++
	d.Data = bytes.Clone(d.Data)
	n := &modelDocument{Document: d}
	if d.TTL != 0 {
		n.until = m.clock().Add(d.TTL)
	}
	m.documents[documentKey{d.Collection, d.Name}] = n
	return d.Version, nil
}

func (m *model) remove(collection, name string, version uint64) error {
	if d := m.document(collection, name); d == nil || d.Version != version {
		return store.ErrConflict
	}
	delete(m.documents, documentKey{collection, name})
	return nil
}

func (m *model) collection(name string) []store.Document {
	var out []store.Document
	for k := range maps.Clone(m.documents) {
		if k.collection == name {
			if d, err := m.get(k.collection, k.name); err == nil {
				out = append(out, d)
			}
		}
	}
	return out
}

// modelSemaphore holds the held slots and the waiting requests, oldest first.
type modelSemaphore struct {
	held    map[string]modelSlot
	waiting []store.SlotRequest
}

type modelSlot struct {
	key   string
	until time.Time
}

// semaphore returns a semaphore without expired slots.
func (m *model) semaphore(name string) *modelSemaphore {
	s := m.semaphores[name]
	if s == nil {
		s = &modelSemaphore{held: map[string]modelSlot{}}
		m.semaphores[name] = s
	}
	maps.DeleteFunc(s.held, func(_ string, h modelSlot) bool { return !h.until.After(m.clock()) })
	return s
}

// acquire reports whether the slot is granted at once. Without an error and a grant the
// request waits.
func (m *model) acquire(q store.SlotRequest) (granted bool, err error) {
	if err := store.CheckSlot(q); err != nil {
		return false, err
	}
	s := m.semaphore(q.Semaphore)
	h, holds := s.held[q.Holder]
	switch {
	case holds:
		h.until = m.clock().Add(q.TTL)
		s.held[q.Holder] = h
		return true, nil
	case len(s.held) < q.Limit && len(s.waiting) == 0:
		s.held[q.Holder] = modelSlot{key: q.Key, until: m.clock().Add(q.TTL)}
		return true, nil
	case !q.Wait:
		return false, store.ErrFull
	default:
		s.waiting = append(s.waiting, q)
		return false, nil
	}
}

// grantWaiting grants free slots and returns their holders in the order of the grants.
func (m *model) grantWaiting(name string) []string {
	s := m.semaphore(name)
	var granted []string
	for len(s.waiting) > 0 && len(s.held) < s.waiting[0].Limit {
		holds := map[string]int{}
		for _, h := range s.held {
			holds[h.key]++
		}
		best := 0
		for i, q := range s.waiting {
			if holds[q.Key] < holds[s.waiting[best].Key] {
				best = i
			}
		}
		q := s.waiting[best]
		s.waiting = slices.Delete(s.waiting, best, best+1)
		s.held[q.Holder] = modelSlot{key: q.Key, until: m.clock().Add(q.TTL)}
		granted = append(granted, q.Holder)
	}
	return granted
}

func (m *model) renewSlot(s store.Slot) error {
	if err := store.CheckTTL(s.TTL); err != nil {
		return err
	}
	sem := m.semaphore(s.Semaphore)
	h, ok := sem.held[s.Holder]
	if !ok {
		return store.ErrFenced
	}
	h.until = m.clock().Add(s.TTL)
	sem.held[s.Holder] = h
	return nil
}

func (m *model) releaseSlot(s store.Slot) { delete(m.semaphore(s.Semaphore).held, s.Holder) }

func (m *model) removeWaiter(semaphore, holder string) {
	s := m.semaphore(semaphore)
	s.waiting = slices.DeleteFunc(s.waiting, func(q store.SlotRequest) bool { return q.Holder == holder })
}

func (m *model) slots(name string) store.SlotUse {
	s := m.semaphore(name)
	return store.SlotUse{Held: len(s.held), Waiting: len(s.waiting)}
}
