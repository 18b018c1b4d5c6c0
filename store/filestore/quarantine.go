package filestore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// quarantines quarantines sessions whose data is unreadable: in memory at once, on disk when
// the maintenance goroutine calls [repairer.saveQuarantines].
type quarantines struct {
	*folder
	mu      sync.Mutex
	unsaved []*session // their quarantine is not stored yet
}

// handleCorrupt converts a read error into one of package store, and quarantines the
// session if the error means that its data is damaged.
func (q *quarantines) handleCorrupt(e *session, err error) error {
	if errors.Is(err, kvlog.ErrDamaged) {
		err = &store.CorruptError{Where: "session " + string(e.id), Reason: err.Error()}
	}
	if c, ok := errors.AsType[*store.CorruptError](err); ok {
		q.add(e, fmt.Sprintf("%s: %s", c.Where, c.Reason))
		return err
	}
	if err == nil || errors.Is(err, store.ErrNewerSchema) {
		return err
	}
	return storeError(err)
}

// add quarantines a session in memory at once, unless it is quarantined already.
func (q *quarantines) add(e *session, reason string) {
	e.mu.Lock()
	first := e.quarantined == "" && !e.absent
	if first {
		e.quarantined = reason
		e.quarantineUnsaved = true
		e.notifyWaitersLocked()
	}
	e.mu.Unlock()
	if !first {
		return
	}
	q.cfg.Logger.Error("session quarantined", "session", e.id, "reason", reason)
	q.addUnsaved(e)
	notify(q.wake)
}

// addUnsaved adds a session whose quarantine must be stored.
func (q *quarantines) addUnsaved(e *session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unsaved = append(q.unsaved, e)
}

// takeUnsaved removes and returns the sessions whose quarantine must be stored.
func (q *quarantines) takeUnsaved() []*session {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.unsaved
	q.unsaved = nil
	return list
}

// writeQuarantine stores the reason that decide returns, unless decide returns false;
// decide runs under the session's mutex. Lifting a quarantine rebuilds the meta if needed:
// the log reports damage before it deletes the damaged values, so an earlier repair may
// have run too soon.
func (r *repairer) writeQuarantine(ctx context.Context, e *session, decide func() (reason string, ok bool)) error {
	if err := e.writeLock.lock(ctx); err != nil {
		return err
	}
	e.mu.Lock()
	m, absent := e.meta, e.absent
	reason, ok := decide()
	e.mu.Unlock()
	if absent || !ok {
		e.writeLock.unlock()
		if absent {
			return fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
		}
		return nil
	}
	b := kvlog.NewBatch(e.bucket)
	if reason == "" {
		b.Delete(quarantineKey)
		if err := r.rebuildMetaIfNeeded(e, &m, b); err != nil {
			e.writeLock.unlock()
			return fmt.Errorf("quarantine session: %w", storeError(err))
		}
	} else {
		b.Put(quarantineKey, []byte(reason))
	}
	if err := r.submit(ctx, func(err error) {
		if err == nil {
			e.mu.Lock()
			e.quarantined, e.quarantineUnsaved = reason, false
			e.inboxChanged.notifyAll()
			e.mu.Unlock()
		}
		e.finishWrite(err, &m)
	}, b); err != nil {
		return fmt.Errorf("quarantine session: %w", err)
	}
	return nil
}

// saveQuarantines stores the quarantines of [quarantines.add]. Failed ones are retried later.
func (r *repairer) saveQuarantines() error {
	var errs []error
	for _, e := range r.quarantines.takeUnsaved() {
		err := r.writeQuarantine(r.runCtx, e, func() (string, bool) { return e.quarantined, e.quarantineUnsaved })
		if err == nil || errors.Is(err, store.ErrNotFound) {
			continue
		}
		errs = append(errs, err)
		r.quarantines.addUnsaved(e)
	}
	return errors.Join(errs...)
}
