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

// withLocation adds the file and offset of the i-th selected value to a
// [*store.CorruptError].
func withLocation(sel *kvlog.Selection, i int, err error) error {
	c, ok := errors.AsType[*store.CorruptError](err)
	if !ok {
		return err
	}
	file, off := sel.Location(i)
	return &store.CorruptError{Where: c.Where, Reason: fmt.Sprintf("%s (%s at %d)", c.Reason, file, off)}
}

// damageQueue collects the damage that the log reported and that is not handled yet.
type damageQueue struct {
	mu   sync.Mutex
	list []kvlog.Damage
}

func (d *damageQueue) add(more ...kvlog.Damage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, more...)
}

func (d *damageQueue) drain() []kvlog.Damage {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.list
	d.list = nil
	return list
}

// repairer handles the damage that the log reports: it quarantines and repairs sessions that
// lost records and marks sessions that may have lost some. It also stores quarantines, because
// lifting one may need a repair.
type repairer struct {
	*folder
	registry    *registry
	quarantines *quarantines
	pending     damageQueue
}

// addDamage queues damage and wakes the maintenance goroutine, which repairs it.
func (r *repairer) addDamage(d kvlog.Damage) {
	r.pending.add(d)
	notify(r.wake)
}

// repairDamaged quarantines and repairs the sessions for which the log reported damage,
// unless the report is already handled: the log reports the same damage at every Open. It
// quarantines all of them before it writes, and failed repairs are retried later.
func (r *repairer) repairDamaged() error {
	found := r.pending.drain()
	handledReports := map[string]bool{}
	if len(found) > 0 {
		if err := r.withIndex(handledBucket, func(x *kvlog.Index) {
			for e := range x.Ascend("", "") {
				handledReports[e.Key] = true
			}
		}); err != nil {
			r.cfg.Logger.Warn("cannot read handled damage reports, damage may be reported again", "error", err)
		}
	}
	type damagedSession struct {
		e    *session
		what []kvlog.Damage
	}
	damaged := map[string]damagedSession{}
	var unattributed []kvlog.Damage
	for _, d := range found {
		if d.Bucket == "" && !handledReports[d.Report] {
			unattributed = append(unattributed, d)
			continue
		}
		// Documents and tombstones have no quarantine. The log has reported the damage.
		id, ok := strings.CutPrefix(d.Bucket, sessionPrefix)
		if !ok || handledReports[d.Report] {
			continue
		}
		in := damaged[id]
		if in.what = append(in.what, d); in.e == nil {
			in.e = r.registry.get(wire.SessionID(id))
		}
		damaged[id] = in
		if in.e != nil {
			r.quarantines.add(in.e, d.String())
			in.e.mu.Lock()
			in.e.needsRepair = true
			in.e.mu.Unlock()
		}
	}
	var errs []error
	if err := r.markLoss(unattributed); err != nil {
		r.pending.add(unattributed...)
		errs = append(errs, fmt.Errorf("mark sessions that may have lost data: %w", err))
	}
	for id, in := range damaged {
		if err := r.repairSession(in.e, in.what); err != nil {
			r.pending.add(in.what...)
			errs = append(errs, fmt.Errorf("repair session %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// repairSession makes a session that lost records consistent: its log begins after the last
// gap, and its meta matches the remaining data. It stores the quarantine in the same batch
// and only then records the damage as handled, so that the damage is reported again after a
// crash in between. Handled reports are stored apart from the session, because damage
// outlives a session that is deleted and created again.
func (r *repairer) repairSession(e *session, what []kvlog.Damage) error {
	handled := kvlog.NewBatch(handledBucket)
	for _, d := range what {
		handled.Put(d.Report, nil)
	}
	if e == nil { // deleted meanwhile
		return r.submit(r.runCtx, func(error) {}, handled)
	}
	if err := e.writeLock.lock(r.runCtx); err != nil {
		return err
	}
	e.mu.Lock()
	m, reason, absent := e.meta, cmp.Or(e.quarantined, what[0].String()), e.absent
	e.mu.Unlock()
	if absent {
		return r.submit(r.runCtx, func(error) { e.writeLock.unlock() }, handled)
	}
	b := kvlog.NewBatch(e.bucket)
	if err := r.rebuildMeta(e, &m, b); err != nil {
		e.writeLock.unlock()
		return err
	}
	b.Put(quarantineKey, []byte(reason))
	return r.submit(r.runCtx, func(err error) {
		if err == nil {
			e.mu.Lock()
			e.quarantined, e.quarantineUnsaved, e.needsRepair = reason, false, false
			e.inboxChanged.notifyAll()
			e.mu.Unlock()
		}
		e.finishWrite(err, &m)
	}, b, handled)
}

// rebuildMeta writes a meta that matches the remaining data of a session.
func (r *repairer) rebuildMeta(e *session, m *meta, b *kvlog.Batch) error {
	if m.created.IsZero() { // the meta is lost
		m.created = time.Now()
		m.updated = m.created
	}
	entries, err := r.contiguousTail(e)
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
		m.owner = "" // the owner knows positions that are lost, so it must claim again
	}
	if err := r.withIndex(e.bucket, func(x *kvlog.Index) {
		for entry := range x.Descend(inboxPrefix, prefixEnd(inboxPrefix)) {
			last, _ := parseNumbered(inboxPrefix, entry.Key)
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

// rebuildMetaIfNeeded calls rebuildMeta if the meta is missing or does not match the log.
func (r *repairer) rebuildMetaIfNeeded(e *session, m *meta, b *kvlog.Batch) error {
	var described bool
	var events uint64
	if err := r.withIndex(e.bucket, func(x *kvlog.Index) {
		_, described = x.Get(metaKey)
		for entry := range x.Ascend(entryPrefix, prefixEnd(entryPrefix)) {
			events += uint64(parseSpan(entry.Key).count)
		}
	}); err != nil {
		return err
	}
	if described && events == m.events && !m.created.IsZero() {
		return nil
	}
	return r.rebuildMeta(e, m, b)
}

// contiguousTail returns the newest entries of a session's log that follow each other
// without a gap.
func (r *repairer) contiguousTail(e *session) ([]kvlog.Entry, error) {
	sel, err := r.log.Select(e.bucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		for entry := range x.Ascend(entryPrefix, prefixEnd(entryPrefix)) {
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
			if prev, err = r.claimPrev(sel, i); err != nil {
				return entries[i:], nil // an unreadable claim proves no predecessor
			}
		}
		if before.newest() != prev {
			return entries[i:], nil
		}
	}
	return entries, nil
}

// claimPrev returns the end of the log before a claim, from the claim's event.
func (r *repairer) claimPrev(sel *kvlog.Selection, i int) (wire.Position, error) {
	values, err := sel.Values(i, i+1)
	if err != nil {
		return wire.Position{}, err
	}
	frame, err := r.cfg.Schema.Open(store.KindEntry, "claim", values[0])
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
