package session

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Bounds and intervals of presence.
const (
	maxListed       = 32                     // connections in a PRESENCE event
	presenceEvery   = 500 * time.Millisecond // shortest interval between two events or reports
	presenceResend  = 20 * time.Second       // a follower repeats a failed report, or one to an owner without a shared lease
	presenceTimeout = 45 * time.Second       // a replica without a shared lease and without a report is dropped
)

// tabChanges counts the changes of this replica's tabs, which the Center holds.
type tabChanges struct{ version atomic.Uint64 }

// add counts a change.
func (c *tabChanges) add() { c.version.Add(1) }

// after reports whether there were changes after a version.
func (c *tabChanges) after(since uint64) bool { return c.version.Load() != since }

// localViewers returns the number of tabs of this replica, the oldest of them, and the version of
// tabChanges that includes them.
func (ls *liveSession) localViewers() (viewerList, uint64) {
	version := ls.tabChanges.version.Load() // before counting: later changes are reported the next time
	return viewerList{total: ls.center.Tabs(), oldest: ls.center.Connections(maxListed)}, version
}

// viewerList is the tabs of one replica.
type viewerList struct {
	total       int
	oldest      []wire.Connection
	reportedAt  time.Time // when another replica sent it
	incarnation uint64    // of that replica, whose lease ends when it dies; 0 if it has none
}

// oldest sorts connections by age and cuts them to maxListed.
func oldest(all []wire.Connection) []wire.Connection {
	slices.SortFunc(all, func(a, b wire.Connection) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ConnectionID, b.ConnectionID))
	})
	return all[:min(len(all), maxListed)]
}

func sameConnections(a, b []wire.Connection) bool {
	return slices.EqualFunc(a, b, func(a, b wire.Connection) bool {
		return a.ConnectionID == b.ConnectionID && a.ClientID == b.ClientID && a.User == b.User &&
			a.Since == b.Since && slices.Equal(a.Monitors, b.Monitors)
	})
}

// presence holds the tabs at all replicas, as far as the owner knows them.
type presence struct {
	sentVersion uint64 // version of the local tabChanges that was published
	replicas    map[wire.ReplicaID]viewerList
	stale       bool      // another replica reported a change, or was dropped, since the last PRESENCE
	notBefore   time.Time // time of the next PRESENCE at the earliest
	endedLeases uint64    // partitionLease.ended when the replicas were last checked
	// The newest PRESENCE of the log.
	published []wire.Connection
	total     int
}

// applyReport applies the report of another replica.
func (p *presence) applyReport(o *order, now time.Time) {
	if p.replicas == nil {
		p.replicas = map[wire.ReplicaID]viewerList{}
	}
	if o.Total <= 0 {
		delete(p.replicas, o.Replica)
	} else {
		p.replicas[o.Replica] = viewerList{total: o.Total, oldest: o.Connections, reportedAt: now, incarnation: o.Incarnation}
	}
	p.stale = true
}

// due returns the time at which next must be called; zero means never.
func (p *presence) due(ls *liveSession) time.Time {
	if p.stale || ls.tabChanges.after(p.sentVersion) {
		return p.notBefore
	}
	var next time.Time
	for _, a := range p.replicas {
		switch {
		case a.incarnation == 0:
			next = earlier(next, a.reportedAt.Add(presenceTimeout))
		case ls.lease.ended.Load() != p.endedLeases:
			next = earlier(next, a.reportedAt.Add(ls.env.cfg.Lease))
		}
	}
	return next
}

// next returns the PRESENCE to emit now, and whether it differs from the last one.
func (p *presence) next(ls *liveSession, now time.Time) (wire.Presence, bool) {
	c := &ls.tabChanges
	if !p.stale && !c.after(p.sentVersion) && len(p.replicas) == 0 {
		return wire.Presence{}, false
	}
	before := len(p.replicas)
	p.dropGone(ls, now)
	if !p.stale && !c.after(p.sentVersion) && len(p.replicas) == before || now.Before(p.notBefore) {
		p.stale = p.stale || len(p.replicas) != before
		return wire.Presence{}, false
	}
	here, version := ls.localViewers()
	all, total := here.oldest, here.total
	for _, a := range p.replicas {
		all, total = append(all, a.oldest...), total+a.total
	}
	all = oldest(all)
	p.sentVersion, p.stale, p.notBefore = version, false, now.Add(presenceEvery)
	if total == p.total && sameConnections(all, p.published) {
		return wire.Presence{}, false
	}
	p.published, p.total = all, total
	return wire.Presence{Connections: all, Total: total}, true
}

// dropGone drops the replicas whose lease has ended, and those without a shared lease that have not
// reported for presenceTimeout. The lease of a replica that has just reported may not be known yet.
func (p *presence) dropGone(ls *liveSession, now time.Time) {
	ended, tooEarly := ls.lease.ended.Load(), false
	maps.DeleteFunc(p.replicas, func(_ wire.ReplicaID, a viewerList) bool {
		silent := now.Sub(a.reportedAt)
		switch {
		case a.incarnation == 0:
			return silent >= presenceTimeout
		case ended == p.endedLeases || ls.lease.isLive(a.incarnation):
			return false
		}
		tooEarly = tooEarly || silent < ls.env.cfg.Lease
		return silent >= ls.env.cfg.Lease
	})
	if !tooEarly {
		p.endedLeases = ended
	}
}

// earlier returns the earlier of two times; a zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
