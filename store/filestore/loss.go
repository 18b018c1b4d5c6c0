package filestore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// lossGroupSize is the number of sessions that are marked with one write.
const lossGroupSize = 256

// markLoss sets a field of [store.LossTable] in every session that unattributed damage may
// affect, and then records the damage as handled. It is idempotent.
func (r *repairer) markLoss(found []kvlog.Damage) error {
	if len(found) == 0 {
		return nil
	}
	handled := kvlog.NewBatch(handledBucket)
	var reasons []string
	buckets := map[string]bool{}
	for _, d := range found {
		handled.Put(d.Report, nil)
		reasons = append(reasons, d.File+": "+d.Reason)
		for _, name := range d.Suspects {
			buckets[name] = true
		}
	}
	var suspects []*session
	for name := range buckets {
		id, ok := strings.CutPrefix(name, sessionPrefix)
		if e := r.registry.get(wire.SessionID(id)); ok && e != nil {
			suspects = append(suspects, e)
		}
	}
	text := fmt.Appendf(nil, "A part of the hub's store was damaged (%s). What happened last in this session may be lost.", strings.Join(reasons, "; "))
	for group := range slices.Chunk(suspects, lossGroupSize) {
		if err := r.markGroup(group, found[0].Report, text); err != nil {
			return err
		}
	}
	if err := r.submit(r.runCtx, func(error) {}, handled); err != nil {
		return err
	}
	r.cfg.Logger.Error("sessions may have lost their newest data", "sessions", len(suspects), "damage", reasons)
	return nil
}

// markGroup sets the field in several sessions. It holds the write locks of all of them, so
// that no session is deleted meanwhile and created again by this write.
func (r *repairer) markGroup(group []*session, report string, text []byte) error {
	var held []*session
	unlockAll := func(error) {
		for _, e := range held {
			e.writeLock.unlock()
		}
	}
	var batches []*kvlog.Batch
	for _, e := range group {
		if err := e.writeLock.lock(r.runCtx); err != nil {
			unlockAll(err)
			return err
		}
		held = append(held, e)
		e.mu.Lock()
		absent := e.absent
		e.mu.Unlock()
		if !absent {
			b := kvlog.NewBatch(e.bucket)
			r.putSealed(b, appendTableKey(nil, store.LossTable, report), text, 0)
			batches = append(batches, b)
		}
	}
	if len(batches) == 0 {
		unlockAll(nil)
		return nil
	}
	return r.submit(r.runCtx, unlockAll, batches[0], batches[1:]...)
}
