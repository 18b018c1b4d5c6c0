package filestore

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// located adds to an error about a selected value where it lies.
func located(sel *kvlog.Selection, i int, err error) error {
	c, ok := errors.AsType[*store.CorruptError](err)
	if !ok {
		return err
	}
	file, off := sel.Location(i)
	return &store.CorruptError{Where: c.Where, Reason: fmt.Sprintf("%s (%s at %d)", c.Reason, file, off)}
}

// corrupt says an error of reading in the words of package store, and
// quarantines the session if it means that its data is damaged.
func (s *Store) corrupt(e *session, err error) error {
	if errors.Is(err, kvlog.ErrDamaged) {
		err = &store.CorruptError{Where: "session " + string(e.id), Reason: err.Error()}
	}
	if c, ok := errors.AsType[*store.CorruptError](err); ok {
		s.setAside(e, fmt.Sprintf("%s: %s", c.Where, c.Reason))
		return err
	}
	if err == nil || errors.Is(err, store.ErrNewerSchema) {
		return err
	}
	return asStore(err)
}

// setAside quarantines a session at once and has the clock write it down.
func (s *Store) setAside(e *session, reason string) {
	e.mu.Lock()
	first := e.quarantined == "" && !e.absent
	if first {
		e.quarantined = reason
		e.unsaved = true
		e.changedLocked()
	}
	e.mu.Unlock()
	if !first {
		return
	}
	s.cfg.Logger.Error("session is quarantined", "session", e.id, "reason", reason)
	s.mu.Lock()
	s.setAsides = append(s.setAsides, e)
	s.mu.Unlock()
	signal(s.alarm)
}

// saveQuarantines writes down what setAside decided. What could not be written
// stays to be done.
func (s *Store) saveQuarantines() error {
	s.mu.Lock()
	list := s.setAsides
	s.setAsides = nil
	s.mu.Unlock()
	var errs []error
	for _, e := range list {
		err := s.writeQuarantine(s.life, e, func() (string, bool) { return e.quarantined, e.unsaved })
		if err == nil || errors.Is(err, store.ErrNotFound) {
			continue
		}
		errs = append(errs, err)
		s.mu.Lock()
		s.setAsides = append(s.setAsides, e)
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

// damages is what the log has found and nobody has seen to yet.
type damages struct {
	mu   sync.Mutex
	list []kvlog.Damage
}

func (d *damages) add(more ...kvlog.Damage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, more...)
}

func (d *damages) take() []kvlog.Damage {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.list
	d.list = nil
	return list
}

// heed quarantines and mends the sessions that the log found damaged, unless
// that was done before: the log tells of the same damage at every Open. All of
// them are set aside before anything is written, and what could not be written
// stays to be done.
func (s *Store) heed() error {
	found := s.found.take()
	known := map[string]bool{}
	if len(found) > 0 {
		if err := s.look(heededBucket, func(x *kvlog.Index) {
			for e := range x.Ascend("", "") {
				known[e.Key] = true
			}
		}); err != nil {
			s.cfg.Logger.Warn("damage may be told of again", "error", err)
		}
	}
	type injury struct {
		e    *session
		what []kvlog.Damage
	}
	injuries := map[string]injury{}
	var unnamed []kvlog.Damage
	for _, d := range found {
		if d.Bucket == "" && !known[d.Report] {
			unnamed = append(unnamed, d)
			continue
		}
		// Documents and graves have no quarantine. The log has reported it.
		id, ok := strings.CutPrefix(d.Bucket, sessionPrefix)
		if !ok || known[d.Report] {
			continue
		}
		in := injuries[id]
		if in.what = append(in.what, d); in.e == nil {
			s.mu.RLock()
			in.e = s.sessions[wire.SessionID(id)]
			s.mu.RUnlock()
		}
		injuries[id] = in
		if in.e != nil {
			s.setAside(in.e, d.String())
			in.e.mu.Lock()
			in.e.torn = true
			in.e.mu.Unlock()
		}
	}
	var errs []error
	if err := s.markLoss(unnamed); err != nil {
		s.found.add(unnamed...)
		errs = append(errs, fmt.Errorf("mark sessions that may have lost data: %w", err))
	}
	for id, in := range injuries {
		if err := s.mend(in.e, in.what); err != nil {
			s.found.add(in.what...)
			errs = append(errs, fmt.Errorf("mend session %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// mend makes a session that lost records consistent with itself again: its log
// begins after the last hole, and its meta tells what is there. It writes the
// quarantine in the same batch, and only then that the damage is dealt with, so
// that it is told of again whatever happens before. That is kept apart from the
// session, for damage outlives a session that is deleted and made anew.
func (s *Store) mend(e *session, what []kvlog.Damage) error {
	heeded := kvlog.NewBatch(heededBucket)
	for _, d := range what {
		heeded.Put(d.Report, nil)
	}
	if e == nil { // deleted since
		return s.submit(s.life, func(error) {}, heeded)
	}
	if err := e.turn.take(s.life); err != nil {
		return err
	}
	e.mu.Lock()
	m, reason, absent := e.meta, cmp.Or(e.quarantined, what[0].String()), e.absent
	e.mu.Unlock()
	if absent {
		return s.submit(s.life, func(error) { e.turn.give() }, heeded)
	}
	b := kvlog.NewBatch(e.bucket)
	if err := s.remake(e, &m, b); err != nil {
		e.turn.give()
		return err
	}
	b.Put(quarantineKey, []byte(reason))
	return s.submit(s.life, func(err error) {
		if err == nil {
			e.mu.Lock()
			e.quarantined, e.unsaved, e.torn = reason, false, false
			e.mail.ring()
			e.mu.Unlock()
		}
		e.finish(err, &m)
	}, b, heeded)
}

// remake writes a meta that fits what is left of a session.
func (s *Store) remake(e *session, m *meta, b *kvlog.Batch) error {
	if m.created.IsZero() { // there is no meta
		m.created = time.Now()
		m.updated = m.created
	}
	entries, err := s.chain(e)
	if err != nil {
		return err
	}
	top := m.top
	m.events, m.bytes, m.oldest, m.top = 0, 0, wire.Position{}, wire.Position{}
	for i, entry := range entries {
		sp := parseSpan(entry.Key)
		if i == 0 {
			m.oldest = sp.oldest()
			b.DeleteRange(entryPrefix, entry.Key)
		}
		m.top = sp.newest()
		m.events += uint64(sp.count)
		m.bytes += frameBytes(sp, entry.Size()-sealBytes)
	}
	m.epoch = max(m.epoch, m.top.Epoch)
	if m.top != top {
		m.owner = "" // who knows of positions that are lost must claim anew
	}
	if err := s.look(e.bucket, func(x *kvlog.Index) {
		for entry := range x.Descend(inboxPrefix, after(inboxPrefix)) {
			last, _ := number(inboxPrefix, entry.Key)
			m.sent = max(m.sent, last)
			break
		}
	}); err != nil {
		return err
	}
	b.Put(trimmedKey, nil)
	m.put(b)
	return nil
}

// remakeIfNeeded is remake for a session whose meta may be right.
func (s *Store) remakeIfNeeded(e *session, m *meta, b *kvlog.Batch) error {
	var described bool
	var events uint64
	if err := s.look(e.bucket, func(x *kvlog.Index) {
		_, described = x.Get(metaKey)
		for entry := range x.Ascend(entryPrefix, after(entryPrefix)) {
			events += uint64(parseSpan(entry.Key).count)
		}
	}); err != nil {
		return err
	}
	if described && events == m.events && !m.created.IsZero() {
		return nil
	}
	return s.remake(e, m, b)
}

// chain returns the newest entries of a log that follow each other.
func (s *Store) chain(e *session) ([]kvlog.Entry, error) {
	sel, err := s.log.Select(e.bucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		for entry := range x.Ascend(entryPrefix, after(entryPrefix)) {
			keep(entry)
		}
	})
	if err != nil {
		return nil, err
	}
	defer sel.Close()
	entries := sel.Entries()
	for i := len(entries) - 1; i > 0; i-- {
		before, this := parseSpan(entries[i-1].Key), parseSpan(entries[i].Key)
		prev := wire.Position{Epoch: this.epoch, Seq: this.first - 1}
		if this.first == 0 {
			if prev, err = s.claimedAfter(sel, i); err != nil {
				return entries[i:], nil // what cannot be read follows nothing
			}
		}
		if before.newest() != prev {
			return entries[i:], nil
		}
	}
	return entries, nil
}

// claimedAfter returns where the log ended before a claim, as its event says.
func (s *Store) claimedAfter(sel *kvlog.Selection, i int) (wire.Position, error) {
	values, err := sel.Values(i, i+1)
	if err != nil {
		return wire.Position{}, err
	}
	frame, err := s.cfg.Schema.Open(store.KindEntry, "claim", values[0])
	if err != nil {
		return wire.Position{}, err
	}
	var claim struct {
		Data struct {
			Prev wire.Position `json:"prev"`
		} `json:"data"`
	}
	if err := json.Unmarshal(frame, &claim); err != nil {
		return wire.Position{}, err
	}
	return claim.Data.Prev, nil
}
