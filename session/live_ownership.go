package session

import (
	"sync/atomic"
	"time"
)

// role is the state of this replica towards a loaded session.
type role uint8

const (
	roleClaiming    role = iota // tries to claim the session; the first role
	roleFollowing               // publishes the log; another replica owns the session, as far as is known
	roleVacant                  // follows a log that no replica writes, because claims fail
	roleDrained                 // follows and never claims, because this replica drains
	roleTakingOver              // has a lease; loads, rewrites what was lost, commits the first step
	roleBlocked                 // takes over; tabs see the committed state until the store has space
	roleOwning                  // executes items
	roleHandingOver             // owns until running tools have ended; no new tool starts
	roleReleased                // has released its lease
	roleRetrying                // neither owns nor follows, after an error or a hand-over; starts over after a pause
	roleMissing                 // waits for another replica to write a lost session again
	roleSuspended               // final: the hub refuses to open the session for a while
	roleClosed                  // final: the live session has ended
)

// String returns the role for log lines.
func (r role) String() string {
	return [...]string{
		"claiming", "following", "vacant", "drained", "taking over", "blocked", "owning", "handing over", "released", "retrying", "missing",
		"suspended", "closed",
	}[r]
}

// roleEvent is something that may change a role.
type roleEvent uint8

const (
	eventClaimed     roleEvent = iota // the store granted a lease
	eventFollowed                     // the session is loaded to be followed
	eventDrained                      // a follower has got the order to drain
	eventUndrained                    // the order to drain was cancelled
	eventOwnerSeen                    // a follower's claim failed because another replica has a lease
	eventClaimFailed                  // a follower's claim failed for another reason
	eventShown                        // tabs can attach to the committed state
	eventTookOver                     // the first step of a new owner is committed
	eventHandOver                     // the session is to be handed over now
	eventReleased                     // the store accepted the release of the lease
	eventFailed                       // the lease was lost, a passing error ended the role, or the session was handed over
	eventMissing                      // the store lacks a session that was not deleted
	eventRetry                        // the pause after eventFailed or eventMissing is over
	eventReopened                     // an unused session was opened before it was unloaded
	eventSuspended                    // too many panics, or the session needs a newer hub
	eventClosed                       // unused, deleted, failed for good, or the hub stops
)

// String returns the event for log lines.
func (e roleEvent) String() string {
	return [...]string{
		"claimed", "followed", "drained", "undrained", "owner seen", "claim failed", "shown", "took over", "hand over", "released", "failed",
		"missing", "retry", "reopened", "suspended", "closed",
	}[e]
}

// roleTable has the next role for each role and event. Events that it lacks cannot happen in that
// role. All changes of a role follow it.
var roleTable = map[role]map[roleEvent]role{
	roleClaiming: {
		eventClaimed: roleTakingOver, eventFollowed: roleFollowing,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventReopened: roleClaiming, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleFollowing: {
		eventClaimed: roleTakingOver, eventOwnerSeen: roleFollowing, eventClaimFailed: roleVacant, eventDrained: roleDrained,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventReopened: roleClaiming, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleVacant: {
		eventClaimed: roleTakingOver, eventOwnerSeen: roleFollowing, eventClaimFailed: roleVacant, eventDrained: roleDrained,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventReopened: roleClaiming, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleDrained: {
		eventDrained: roleDrained, eventUndrained: roleFollowing,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventReopened: roleClaiming, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleTakingOver: {
		eventShown: roleBlocked, eventTookOver: roleOwning,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleBlocked: {
		eventShown: roleBlocked, eventTookOver: roleOwning,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleOwning: { // eventReopened: its release was refused, because the lease was gone
		eventShown: roleOwning, eventHandOver: roleHandingOver, eventReleased: roleReleased,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventReopened: roleClaiming, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleHandingOver: {
		eventShown: roleHandingOver, eventHandOver: roleHandingOver, eventReleased: roleReleased,
		eventFailed: roleRetrying, eventMissing: roleMissing, eventReopened: roleClaiming, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleReleased: {
		eventFailed: roleRetrying, eventReopened: roleClaiming, eventSuspended: roleSuspended, eventClosed: roleClosed,
	},
	roleRetrying:  {eventRetry: roleClaiming, eventClosed: roleClosed},
	roleMissing:   {eventRetry: roleClaiming, eventClosed: roleClosed},
	roleSuspended: {eventClosed: roleSuspended},
	roleClosed:    {},
}

// roleOutput is a kind of write to the store that only some roles may do.
type roleOutput uint8

const (
	outputClaim   roleOutput = 1 << iota // claims the session
	outputForward                        // sends the items of the mailbox to the store's inbox
	outputCommit                         // commits steps under its lease
)

// roleOutputs has the writes that each role may do.
var roleOutputs = map[role]roleOutput{
	roleClaiming:    outputClaim,
	roleFollowing:   outputClaim | outputForward,
	roleVacant:      outputClaim | outputForward,
	roleDrained:     outputForward,
	roleTakingOver:  outputCommit,
	roleBlocked:     outputCommit,
	roleOwning:      outputCommit,
	roleHandingOver: outputCommit,
}

// ownership is the role of a live session. Its goroutine changes it, any goroutine reads it.
type ownership struct {
	role atomic.Uint32
	// ownerlessSince is the time since which this replica knows of no owner that serves the session, in
	// Unix ns. It is 0 while it knows one, and while it drains, because then it does not look for one.
	ownerlessSince atomic.Int64
}

// current returns the role.
func (o *ownership) current() role { return role(o.role.Load()) } //nolint:gosec // only apply stores roles

// may reports whether the role allows an output.
func (o *ownership) may(out roleOutput) bool { return roleOutputs[o.current()]&out != 0 }

// apply changes the role by an event. It changes nothing and reports false if the event cannot
// happen in this role.
func (o *ownership) apply(e roleEvent) bool {
	next, ok := roleTable[o.current()][e]
	if !ok {
		return false
	}
	o.role.Store(uint32(next))
	switch next {
	case roleVacant, roleRetrying, roleMissing:
		o.ownerlessSince.CompareAndSwap(0, time.Now().UnixNano())
	case roleFollowing, roleDrained, roleBlocked, roleOwning, roleHandingOver:
		o.ownerlessSince.Store(0)
	}
	return true
}

// ownerlessFor returns how long the session has had no owner; 0 while it has one.
func (o *ownership) ownerlessFor() time.Duration {
	since := o.ownerlessSince.Load()
	if since == 0 {
		return 0
	}
	return time.Since(time.Unix(0, since))
}

// changeRole applies an event to the role of the session. An event that cannot happen is a defect:
// it is logged, and the role stays.
func (ls *liveSession) changeRole(e roleEvent) {
	if was := ls.ownership.current(); !ls.ownership.apply(e) {
		ls.log.Error("event does not fit the role of the session", "role", was.String(), "event", e.String())
	}
}

// leaseState is the state of an owner's lease.
type leaseState uint8

const (
	leaseHeld     leaseState = iota // renewed in time, as far as this replica knows
	leaseEnding                     // the owner asks the store to release or delete the session
	leaseReleased                   // released, so that any replica can claim the session at once
	leaseLost                       // another replica has claimed the session
	leaseStale                      // not renewed in time: another replica may claim the session
)

// leaseEvent is something that ends a lease.
type leaseEvent uint8

const (
	leaseEnd     leaseEvent = iota // the owner begins to release or delete the session
	leaseRelease                   // the store accepted the release
	leaseFenced                    // the store refused the lease, or its inbox fails for good
	leaseExpired                   // the last renewal is too long ago
)

// leaseTable has the next state of a lease for each state and event. A release that the store
// accepts proves that the lease was valid until then, so it overrides every other end; a refusal
// overrides staleness. While the owner ends the lease itself, a refusal of another call says nothing:
// the inbox refuses the lease as soon as the store has released it, before the owner has the answer.
var leaseTable = map[leaseState]map[leaseEvent]leaseState{
	leaseHeld:     {leaseEnd: leaseEnding, leaseRelease: leaseReleased, leaseFenced: leaseLost, leaseExpired: leaseStale},
	leaseEnding:   {leaseEnd: leaseEnding, leaseRelease: leaseReleased, leaseFenced: leaseEnding, leaseExpired: leaseStale},
	leaseReleased: {leaseEnd: leaseReleased, leaseRelease: leaseReleased, leaseFenced: leaseReleased, leaseExpired: leaseReleased},
	leaseLost:     {leaseEnd: leaseLost, leaseRelease: leaseReleased, leaseFenced: leaseLost, leaseExpired: leaseLost},
	leaseStale:    {leaseEnd: leaseStale, leaseRelease: leaseReleased, leaseFenced: leaseLost, leaseExpired: leaseStale},
}

// leaseErrors has the error with which an event ends the owner. An owner that ends the lease itself
// ends without one.
var leaseErrors = map[leaseEvent]error{leaseFenced: errLost, leaseExpired: errStale}

// leaseStatus is the state of an owner's lease, for all goroutines.
type leaseStatus struct{ state atomic.Uint32 }

// is reports whether the lease is in a state.
func (l *leaseStatus) is(s leaseState) bool { return leaseState(l.state.Load()) == s } //nolint:gosec // only apply stores states

// apply applies an event and returns the error with which the owner ends because of it, or nil.
func (l *leaseStatus) apply(e leaseEvent) error {
	for {
		was := l.state.Load()
		next := leaseTable[leaseState(was)][e] //nolint:gosec // only apply stores states
		switch {
		case !l.state.CompareAndSwap(was, uint32(next)):
		case next == leaseEnding, next == leaseReleased:
			return nil
		default:
			return leaseErrors[e]
		}
	}
}
