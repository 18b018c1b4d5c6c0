package session

import (
	"cmp"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// How presence is told.
const (
	maxListed       = 32                     // so many connections are listed
	presenceEvery   = 500 * time.Millisecond // at most so often
	presenceResend  = 20 * time.Second       // a follower tells its owner again
	presenceTimeout = 45 * time.Second       // a replica that says nothing is gone
	aliveCheckEvery = 2 * time.Second        // it is looked whether replicas are alive
)

// tabChanges counts changes of the tabs of this replica, which the Center has.
type tabChanges struct{ version atomic.Uint64 }

// add says that a tab has come or gone.
func (w *tabChanges) add() { w.version.Add(1) }

// after reports whether there were changes after a version.
func (w *tabChanges) after(since uint64) bool { return w.version.Load() != since }

// localViewers returns the oldest tabs of this replica, how many there are, and the
// version that was counted.
func (k *liveSession) localViewers() (viewerList, uint64) {
	version := k.tabChanges.version.Load() // what comes meanwhile is told the next time
	return viewerList{total: k.center.Tabs(), oldest: k.center.Connections(maxListed)}, version
}

// viewerList is who watches at one replica, or at all.
type viewerList struct {
	total      int
	oldest     []wire.Connection
	reportedAt time.Time // when another replica said so
}

// oldest sorts connections and cuts them to what is shown.
func oldest(all []wire.Connection) []wire.Connection {
	slices.SortFunc(all, func(a, b wire.Connection) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ConnectionID, b.ConnectionID))
	})
	return all[:min(len(all), maxListed)]
}

// sameConnections reports whether two lists of connections say the same.
func sameConnections(a, b []wire.Connection) bool {
	return slices.EqualFunc(a, b, func(a, b wire.Connection) bool {
		return a.ConnectionID == b.ConnectionID && a.ClientID == b.ClientID && a.User == b.User &&
			a.Since == b.Since && slices.Equal(a.Monitors, b.Monitors)
	})
}

// presence is what an owner knows of everybody who watches.
type presence struct {
	sentVersion    uint64 // version of our own watchers that was told
	replicas       map[wire.ReplicaID]viewerList
	stale          bool      // another replica said something new
	notBefore      time.Time // nothing is told before this
	aliveCheckedAt time.Time // when we looked whether the others are alive
	// What the log says now.
	published []wire.Connection
	total     int
}

// applyReport notes what another replica says.
func (p *presence) applyReport(o *order, now time.Time) {
	if p.replicas == nil {
		p.replicas = map[wire.ReplicaID]viewerList{}
	}
	if o.Total <= 0 {
		delete(p.replicas, o.Replica)
	} else {
		p.replicas[o.Replica] = viewerList{total: o.Total, oldest: o.Connections, reportedAt: now}
	}
	p.stale = true
}

// due is when something has to be told or forgotten next; zero means never.
func (p *presence) due(k *liveSession) time.Time {
	if p.stale || k.tabChanges.after(p.sentVersion) {
		return p.notBefore
	}
	var next time.Time
	if len(p.replicas) > 0 && k.hub.cfg.Alive != nil {
		next = p.aliveCheckedAt.Add(aliveCheckEvery)
	}
	for _, a := range p.replicas {
		next = earlier(next, a.reportedAt.Add(presenceTimeout))
	}
	return next
}

// next returns what to tell now, and whether it is news.
func (p *presence) next(k *liveSession, now time.Time) (wire.Presence, bool) {
	w := &k.tabChanges
	if !p.stale && !w.after(p.sentVersion) && len(p.replicas) == 0 {
		return wire.Presence{}, false
	}
	before := len(p.replicas)
	p.dropGone(k.hub.cfg.Alive, now)
	if !p.stale && !w.after(p.sentVersion) && len(p.replicas) == before || now.Before(p.notBefore) {
		p.stale = p.stale || len(p.replicas) != before
		return wire.Presence{}, false
	}
	here, version := k.localViewers()
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

// dropGone drops replicas that are gone: those that have said nothing for long, and
// those that are known not to run. One that has spoken just now may not be known
// yet.
func (p *presence) dropGone(alive func(wire.ReplicaID) bool, now time.Time) {
	look := alive != nil && now.Sub(p.aliveCheckedAt) >= aliveCheckEvery
	if look {
		p.aliveCheckedAt = now
	}
	maps.DeleteFunc(p.replicas, func(id wire.ReplicaID, a viewerList) bool {
		silent := now.Sub(a.reportedAt)
		return silent >= presenceTimeout || look && silent >= aliveCheckEvery && !alive(id)
	})
}

// earlier is the earlier of two times, of which the zero one is never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
