package filestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
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
	file, off := sel.Place(i)
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

// saveQuarantines writes down what setAside decided.
func (s *Store) saveQuarantines() {
	s.mu.Lock()
	list := s.setAsides
	s.setAsides = nil
	s.mu.Unlock()
	for _, e := range list {
		if err := s.writeQuarantine(s.life, e, func() (string, bool) { return e.quarantined, e.unsaved }); err != nil {
			s.cfg.Logger.Warn("quarantine was not saved", "session", e.id, "error", err)
		}
	}
}

// heed quarantines the sessions that the log found damaged.
func (s *Store) heed(damages []kvlog.Damage) error {
	for _, d := range damages {
		id, ok := strings.CutPrefix(d.Bucket, sessionPrefix)
		if !ok {
			continue // nobody knows whose it was; the log has reported it
		}
		s.mu.RLock()
		e := s.sessions[wire.SessionID(id)]
		s.mu.RUnlock()
		if e == nil {
			continue // deleted since
		}
		s.setAside(e, d.String())
		if err := s.mend(e); err != nil {
			return fmt.Errorf("mend session %s: %w", id, err)
		}
	}
	return nil
}

// mend makes a session that lost records consistent with itself again: its log
// begins after the last hole, and its meta tells what is there.
func (s *Store) mend(e *session) error {
	if err := e.turn.take(s.life); err != nil {
		return err
	}
	e.mu.Lock()
	m := e.meta
	e.mu.Unlock()
	b := kvlog.NewBatch(bucketOf(e.id))
	if m.created.IsZero() { // there is no meta
		m.created = time.Now()
		m.updated = m.created
	}
	entries, err := s.chain(e)
	if err != nil {
		e.turn.give()
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
	b.Put(trimmedKey, nil)
	b.Put(metaKey, m.encode())
	return s.submit(s.life, func(err error) { e.finish(err, m) }, b)
}

// chain returns the newest entries of a log that follow each other.
func (s *Store) chain(e *session) ([]kvlog.Entry, error) {
	sel, err := s.log.Select(bucketOf(e.id), func(x *kvlog.Index, keep func(kvlog.Entry)) {
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
