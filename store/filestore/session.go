package filestore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// session is one session in memory.
type session struct {
	id        wire.SessionID
	bucket    string          // name of its bucket
	writeLock keyLock         // held by the writer until the log's callback
	bucketRef kvlog.BucketRef // guarded by writeLock
	registry  *registry
	listedAt  atomic.Int64 // second of its place in the listings by last change; changed under registry.mu

	mu                sync.Mutex // guards the fields below, never held across I/O
	meta              meta
	until             time.Time // end of a lease of its own, including renewals
	quarantined       string
	quarantineUnsaved bool     // the quarantine is not stored yet
	needsRepair       bool     // records are lost and the session is not repaired yet
	absent            bool     // not created yet, or deleted
	changed           notifier // notified of every change
	inboxChanged      notifier // notified of new commands and changes of the owner
}

// newSession returns an absent session. Its id and bucket share memory.
func (r *registry) newSession(id wire.SessionID) *session {
	bucket := bucketOf(id)
	return &session{id: wire.SessionID(bucket[len(sessionPrefix):]), bucket: bucket, registry: r, absent: true}
}

// leaseEndLocked returns when the lease that keeps the session expires.
func (e *session) leaseEndLocked() time.Time {
	if e.meta.incarnation != 0 {
		return e.registry.leases.end(e.meta.incarnation)
	}
	return e.until
}

// notifier wakes all waiting goroutines at once. The session's mutex guards it.
type notifier struct{ c chan struct{} } // nil without waiters

func (n *notifier) notifyAll() {
	if n.c != nil {
		close(n.c)
		n.c = nil
	}
}

// waitFor returns a channel that is closed at the next notification.
func (e *session) waitFor(n *notifier) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if n.c == nil {
		n.c = make(chan struct{})
	}
	return n.c
}

// notifyWaitersLocked wakes all goroutines that wait for the session.
func (e *session) notifyWaitersLocked() {
	e.changed.notifyAll()
	e.inboxChanged.notifyAll()
}

// checkLeaseLocked returns [store.ErrFenced] unless l is the current lease.
func (e *session) checkLeaseLocked(l store.Lease) error {
	if e.absent || e.meta.owner == "" || e.meta.owner != l.Replica || e.meta.epoch != l.Epoch {
		return store.ErrFenced
	}
	return nil
}

// checkReceive returns the error of Receive for the holder of a lease.
func (e *session) checkReceive(l store.Lease) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.checkLeaseLocked(l); err != nil {
		return err
	}
	return e.checkWritableLocked()
}

// checkWritableLocked returns [*store.QuarantinedError] if the session is quarantined.
func (e *session) checkWritableLocked() error {
	if e.quarantined != "" {
		return &store.QuarantinedError{Session: e.id, Reason: e.quarantined}
	}
	return nil
}

func (e *session) isQuarantined() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.quarantined != ""
}

func (e *session) isAbsent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.absent
}

// checkClaimLocked returns the reason why the replica cannot claim the session now.
func (e *session) checkClaimLocked(replica wire.ReplicaID, now time.Time) error {
	if e.absent {
		return fmt.Errorf("session %s: %w", e.id, store.ErrNotFound)
	}
	if err := e.checkWritableLocked(); err != nil {
		return err
	}
	if by, until := e.meta.owner, e.leaseEndLocked(); by != "" && by != replica && until.After(now) {
		return &store.OwnedError{By: by, For: until.Sub(now), Incarnation: e.meta.incarnation}
	}
	return nil
}

// finishWrite ends a write: after success m becomes the session's meta. It releases the
// write lock in any case.
func (e *session) finishWrite(err error, m *meta) {
	if err == nil {
		e.mu.Lock()
		if m.epoch != e.meta.epoch || m.owner != e.meta.owner {
			e.until = m.until // else keep the renewals made meanwhile
		}
		if m.sent != e.meta.sent || m.epoch != e.meta.epoch || m.owner != e.meta.owner {
			e.inboxChanged.notifyAll() // only for commands and new owners: an owner's own commits must not wake its Receive
		}
		was := e.meta.user
		e.meta = *m
		e.changed.notifyAll()
		e.mu.Unlock()
		if second := m.updated.Unix(); was != m.user {
			e.registry.changeUser(e, was, m.user, second)
		} else if second != e.listedAt.Load() {
			e.registry.moveRecent(e, m.user, second)
		}
	}
	e.writeLock.unlock()
}

// isDeleted reports whether a session is deleted. described states whether the log has its
// meta.
func (e *session) isDeleted(described bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.absent || !described && e.quarantined == ""
}

// checkRepaired returns [*store.CorruptError] if the log may have a gap that is not
// repaired yet.
func (e *session) checkRepaired() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.needsRepair {
		return &store.CorruptError{Where: "log of session " + string(e.id), Reason: e.quarantined}
	}
	return nil
}

// isVacant reports whether the session is released and its log ends at the position at, and
// the epoch that ended. A reader beyond that position has already seen the event of the
// next claim, whose meta is not applied yet.
func (e *session) isVacant(at wire.Position) (bool, uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.meta.owner == "" && e.meta.epoch > 0 && e.meta.top == at, e.meta.epoch
}

// isUnattended reports whether the session has unfinished work and no live lease, and is not
// quarantined.
func (e *session) isUnattended(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.meta.working && e.quarantined == "" && (e.meta.owner == "" || !e.leaseEndLocked().After(now))
}
