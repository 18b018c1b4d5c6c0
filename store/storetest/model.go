package storetest

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// model is the contract as plain data: no goroutines, no I/O, and an injected clock. The
// results of an engine are compared with its results.
type model struct {
	limits store.Limits
	clock  func() time.Time
	// epoch chooses the epoch of a claim, given the highest one so far.
	epoch         func(previous uint64) uint64
	sessions      map[wire.SessionID]*modelSession
	epochs        map[wire.SessionID]uint64 // highest epochs, which outlive sessions
	deletedEpochs map[wire.SessionID]uint64 // epochs of deleted sessions
	shared        map[uint64]time.Time      // ends of the leases of incarnations; there is one partition
	documents     map[documentKey]*modelDocument
	semaphores    map[string]*modelSemaphore
}

// modelSession is the whole state of a session.
type modelSession struct {
	info     store.Info // Until is that of a lease of its own; see model.until
	number   uint64
	receipt  store.Receipt
	log      history
	tables   tables
	lists    lists
	inbox    []store.Command
	by       uint64   // the incarnation whose lease keeps the session; 0 for a lease of its own
	consumed []string // newest last
}

func newModel(limits store.Limits, clock func() time.Time) *model {
	m := &model{
		limits:        limits.WithDefaults(),
		clock:         clock,
		sessions:      map[wire.SessionID]*modelSession{},
		epochs:        map[wire.SessionID]uint64{},
		deletedEpochs: map[wire.SessionID]uint64{},
		shared:        map[uint64]time.Time{},
		documents:     map[documentKey]*modelDocument{},
		semaphores:    map[string]*modelSemaphore{},
	}
	m.epoch = func(previous uint64) uint64 { return store.NextEpoch(previous, clock()) }
	return m
}

func (m *model) create(s store.NewSession) error {
	if err := m.limits.CheckSession(s); err != nil {
		return err
	}
	if m.sessions[s.ID] != nil {
		return store.ErrExists
	}
	m.add(s)
	return nil
}

func (m *model) recreate(l store.Lease, s store.NewSession) error {
	if err := l.Replica.Validate(); err != nil {
		return err
	}
	if err := errors.Join(store.CheckTTL(l.TTL), m.limits.CheckSession(s), store.CheckLeaseOf(l, s)); err != nil {
		return err
	}
	switch {
	case m.sessions[s.ID] != nil:
		return store.ErrExists
	case m.deletedEpochs[s.ID] >= l.Epoch:
		return store.ErrNotFound
	}
	i := &m.add(s).info
	i.Owner, i.Epoch, i.Until = l.Replica, l.Epoch, i.Created.Add(l.TTL)
	m.epochs[s.ID] = max(m.epochs[s.ID], l.Epoch)
	return nil
}

func (m *model) deleted(id wire.SessionID, epoch uint64) (bool, error) {
	if err := id.Validate(); err != nil {
		return false, err
	}
	last, ok := m.deletedEpochs[id]
	return ok && last >= epoch, nil
}

// add creates a session that does not exist.
func (m *model) add(s store.NewSession) *modelSession {
	now := m.clock()
	n := &modelSession{
		info:   store.Info{ID: s.ID, User: s.User, Card: bytes.Clone(s.Card), Created: now, Updated: now},
		log:    history{limits: m.limits},
		tables: tables{}, lists: lists{},
	}
	m.sessions[s.ID] = n
	return n
}

func (m *model) find(id wire.SessionID) (*modelSession, error) {
	if err := id.Validate(); err != nil {
		return nil, err
	}
	if s := m.sessions[id]; s != nil {
		return s, nil
	}
	return nil, store.ErrNotFound
}

// sessionLog returns every event of the session's log since its creation, including trimmed
// ones.
func (m *model) sessionLog(id wire.SessionID) []store.Event {
	if s := m.sessions[id]; s != nil {
		return s.log.all()
	}
	return nil
}

// owned returns the session of a current lease, or ErrFenced.
func (m *model) owned(l store.Lease) (*modelSession, error) {
	s := m.sessions[l.Session]
	if s == nil || s.info.Owner != l.Replica || s.info.Epoch != l.Epoch {
		return nil, store.ErrFenced
	}
	return s, nil
}

func (s *modelSession) quarantine() error {
	if s.info.Quarantined == "" {
		return nil
	}
	return &store.QuarantinedError{Session: s.info.ID, Reason: s.info.Quarantined}
}

// until is when the lease that keeps a session expires.
func (m *model) until(s *modelSession) time.Time {
	if s.by != 0 && s.info.Owner != "" {
		return m.shared[s.by]
	}
	return s.info.Until
}

func (m *model) claim(id wire.SessionID, replica wire.ReplicaID, ttl time.Duration) (store.Lease, error) {
	if err := errors.Join(replica.Validate(), store.CheckTTL(ttl)); err != nil {
		return store.Lease{}, err
	}
	return m.claimFor(id, store.Incarnation{Replica: replica}, ttl)
}

func (m *model) claimShared(id wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	if err := by.Check(ttl); err != nil {
		return store.Lease{}, err
	}
	l, err := m.claimFor(id, by, ttl)
	if end := m.clock().Add(ttl); err == nil && end.After(m.shared[by.Number]) {
		m.shared[by.Number] = end
	}
	return l, err
}

func (m *model) renewShared(by store.Incarnation, ttl time.Duration) (store.Renewal, error) {
	if err := by.Check(ttl); err != nil {
		return store.Renewal{}, err
	}
	now := m.clock()
	r := store.Renewal{Live: map[uint64]time.Duration{}}
	for number, end := range m.shared {
		switch {
		case number == by.Number:
			r.Known = true
		case end.After(now):
			r.Live[number] = end.Sub(now)
		}
	}
	m.shared[by.Number] = now.Add(ttl)
	return r, nil
}

// claimFor claims a session for an incarnation, or for a replica alone if its number is 0.
func (m *model) claimFor(id wire.SessionID, by store.Incarnation, ttl time.Duration) (store.Lease, error) {
	replica := by.Replica
	s, err := m.find(id)
	if err != nil {
		return store.Lease{}, err
	}
	if err := s.quarantine(); err != nil {
		return store.Lease{}, err
	}
	now := m.clock()
	if i, until := s.info, m.until(s); i.Owner != "" && i.Owner != replica && until.After(now) {
		return store.Lease{}, &store.OwnedError{By: i.Owner, For: until.Sub(now), Incarnation: s.by}
	}
	l := store.Lease{
		Session: id, Replica: replica, Epoch: m.epoch(m.epochs[id]), Incarnation: by.Number, TTL: ttl, Prev: s.log.newest(),
	}
	m.epochs[id] = l.Epoch
	s.info.Owner, s.info.Epoch, s.info.Until, s.info.Updated = replica, l.Epoch, now.Add(ttl), now
	s.by, s.number, s.receipt = by.Number, 0, store.Receipt{Top: l.Top()}
	s.log.add([]store.Event{store.ClaimEvent(l, now)}, true)
	return l, nil
}

func (m *model) renew(l store.Lease) error {
	if err := l.CheckOwnLease(); err != nil {
		return err
	}
	s, err := m.owned(l)
	if err != nil {
		return err
	}
	if err := store.CheckTTL(l.TTL); err != nil {
		return err
	}
	s.info.Until = m.clock().Add(l.TTL)
	return nil
}

func (m *model) release(l store.Lease) error {
	if err := l.CheckHeir(); err != nil {
		return err
	}
	s, err := m.owned(l)
	if err != nil {
		return err
	}
	if s.by, s.info.Owner, s.info.Until = 0, l.Heir, (time.Time{}); l.Heir != "" {
		s.info.Until = m.clock().Add(l.TTL)
	}
	return nil
}

func (m *model) delete(l store.Lease) error {
	s, err := m.owned(l)
	if err != nil {
		return err
	}
	if err := s.quarantine(); err != nil {
		return err
	}
	m.deletedEpochs[l.Session] = l.Epoch
	delete(m.sessions, l.Session)
	return nil
}

func (m *model) discard(id wire.SessionID) error {
	s, err := m.find(id)
	if err != nil {
		return err
	}
	if s.info.Quarantined == "" {
		return store.ErrConflict
	}
	m.deletedEpochs[id] = s.info.Epoch
	delete(m.sessions, id)
	return nil
}

func (m *model) commit(l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := m.limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	s, err := m.owned(l)
	if err != nil {
		return store.Receipt{}, err
	}
	if err := s.quarantine(); err != nil {
		return store.Receipt{}, err
	}
	top := s.log.newest()
	switch {
	case b.Number == s.number:
		return s.receipt, nil
	case b.Number != s.number+1 || b.Prev != top:
		return store.Receipt{}, &store.GapError{Top: top, Number: s.number}
	}
	events := make([]store.Event, len(b.Events))
	for i, f := range b.Events {
		top.Seq++
		events[i] = store.Event{At: top, Frame: bytes.Clone(f)}
	}
	s.log.add(events, false)
	for _, op := range b.Ops {
		s.apply(op)
	}
	for _, id := range b.Consumed {
		s.consume(id)
	}
	if b.Card != nil {
		s.info.Card = bytes.Clone(b.Card)
	}
	if b.Working != nil {
		s.info.Working = *b.Working
	}
	if b.User != "" {
		s.info.User = b.User
	}
	s.info.Updated = m.clock()
	s.number, s.receipt = b.Number, store.Receipt{Top: top}
	return s.receipt, nil
}

func (s *modelSession) apply(op store.Op) {
	table, list := s.tables[op.Name], s.lists[op.Name]
	switch op.Kind {
	case store.OpSet:
		if table == nil {
			table = map[string][]byte{}
			s.tables[op.Name] = table
		}
		table[op.Field] = bytes.Clone(op.Values[0])
	case store.OpUnset:
		delete(table, op.Field)
	case store.OpClear:
		delete(s.tables, op.Name)
	case store.OpPush:
		for _, v := range op.Values {
			list = append(list, bytes.Clone(v))
		}
	case store.OpReplace:
		i := op.N
		if i < 0 {
			i += len(list)
		}
		if i >= 0 && i < len(list) {
			list = slices.Clone(list)
			list[i] = bytes.Clone(op.Values[0])
		}
	case store.OpKeepLast:
		list = slices.Clone(list[max(0, len(list)-op.N):])
	case store.OpKeepFirst:
		list = slices.Clone(list[:min(op.N, len(list))])
	case store.OpDrop:
		list = nil
	}
	s.lists[op.Name] = list
	if len(list) == 0 {
		delete(s.lists, op.Name)
	}
	if len(s.tables[op.Name]) == 0 {
		delete(s.tables, op.Name)
	}
}

func (m *model) load(id wire.SessionID) (store.State, error) {
	s, err := m.find(id)
	if err != nil {
		return store.State{}, err
	}
	out := store.State{At: s.log.newest(), Tables: tables{}, Lists: lists{}}
	for name, t := range s.tables {
		out.Tables[name] = maps.Clone(t)
	}
	for name, l := range s.lists {
		if !strings.HasPrefix(name, store.ColdPrefix) {
			out.Lists[name] = slices.Clone(l)
		}
	}
	return out, nil
}

func (m *model) read(id wire.SessionID, after wire.Position, limit int) ([]store.Event, error) {
	s, err := m.find(id)
	if err != nil {
		return nil, err
	}
	return s.log.after(after, limit)
}

func (m *model) readList(id wire.SessionID, list string, from, limit int) (store.ListPage, error) {
	s, err := m.find(id)
	if err != nil {
		return store.ListPage{}, err
	}
	if err := store.CheckName("list", list); err != nil {
		return store.ListPage{}, err
	}
	l := s.lists[list]
	start := store.ListStart(from, len(l))
	end := min(start+store.PageLimit(limit), len(l))
	return store.ListPage{From: start, Items: slices.Clone(l[start:end]), Total: len(l)}, nil
}

func (m *model) session(id wire.SessionID) (store.Info, error) {
	s, err := m.find(id)
	if err != nil {
		return store.Info{}, err
	}
	i := s.info
	i.Top, i.Until = s.log.newest(), m.until(s)
	if held := s.log.batches[s.log.kept:]; len(held) > 0 {
		i.Oldest = held[0].events[0].At
	}
	return i, nil
}

func (m *model) setQuarantine(id wire.SessionID, reason string) error {
	s, err := m.find(id)
	if err != nil {
		return err
	}
	s.info.Quarantined = reason
	return nil
}

func (m *model) unattended() []wire.SessionID {
	var out []wire.SessionID
	for id, s := range m.sessions {
		i := s.info
		if i.Working && i.Quarantined == "" && (i.Owner == "" || !m.until(s).After(m.clock())) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
