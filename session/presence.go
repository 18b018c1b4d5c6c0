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
	presenceShown  = 32                     // so many connections are listed
	presenceEvery  = 500 * time.Millisecond // at most so often
	presenceResend = 20 * time.Second       // a follower tells its owner again
	presenceForget = 45 * time.Second       // a replica that says nothing is gone
	presenceLook   = 2 * time.Second        // it is looked whether replicas are alive
)

// watchers counts changes of the tabs of this replica, which the Center has.
type watchers struct{ version atomic.Uint64 }

// change says that a tab has come or gone.
func (w *watchers) change() { w.version.Add(1) }

// changed reports whether there were changes after a version.
func (w *watchers) changed(since uint64) bool { return w.version.Load() != since }

// present returns the oldest tabs of this replica, how many there are, and the
// version that was counted.
func (k *liveSession) present() (audience, uint64) {
	version := k.watchers.version.Load() // what comes meanwhile is told the next time
	return audience{total: k.center.Tabs(), oldest: k.center.Connections(presenceShown)}, version
}

// audience is who watches at one replica, or at all.
type audience struct {
	total  int
	oldest []wire.Connection
	seen   time.Time // when another replica said so
}

// oldest sorts connections and cuts them to what is shown.
func oldest(all []wire.Connection) []wire.Connection {
	slices.SortFunc(all, func(a, b wire.Connection) int {
		return cmp.Or(cmp.Compare(a.Since, b.Since), cmp.Compare(a.ConnectionID, b.ConnectionID))
	})
	return all[:min(len(all), presenceShown)]
}

// sameAudience reports whether two lists of connections say the same.
func sameAudience(a, b []wire.Connection) bool {
	return slices.EqualFunc(a, b, func(a, b wire.Connection) bool {
		return a.ConnectionID == b.ConnectionID && a.ClientID == b.ClientID && a.User == b.User &&
			a.Since == b.Since && slices.Equal(a.Monitors, b.Monitors)
	})
}

// presence is what an owner knows of everybody who watches.
type presence struct {
	told    uint64 // version of our own watchers that was told
	others  map[wire.ReplicaID]audience
	stale   bool      // another replica said something new
	quietTo time.Time // nothing is told before this
	looked  time.Time // when we looked whether the others are alive
	// What the log says now.
	shown []wire.Connection
	total int
}

// hear notes what another replica says.
func (p *presence) hear(o *order, now time.Time) {
	if p.others == nil {
		p.others = map[wire.ReplicaID]audience{}
	}
	if o.Total <= 0 {
		delete(p.others, o.Replica)
	} else {
		p.others[o.Replica] = audience{total: o.Total, oldest: o.Connections, seen: now}
	}
	p.stale = true
}

// due is when something has to be told or forgotten next; zero means never.
func (p *presence) due(k *liveSession) time.Time {
	if p.stale || k.watchers.changed(p.told) {
		return p.quietTo
	}
	var next time.Time
	if len(p.others) > 0 && k.hub.cfg.Alive != nil {
		next = p.looked.Add(presenceLook)
	}
	for _, a := range p.others {
		next = sooner(next, a.seen.Add(presenceForget))
	}
	return next
}

// next returns what to tell now, and whether it is news.
func (p *presence) next(k *liveSession, now time.Time) (wire.Presence, bool) {
	w := &k.watchers
	if !p.stale && !w.changed(p.told) && len(p.others) == 0 {
		return wire.Presence{}, false
	}
	before := len(p.others)
	p.forget(k.hub.cfg.Alive, now)
	if !p.stale && !w.changed(p.told) && len(p.others) == before || now.Before(p.quietTo) {
		p.stale = p.stale || len(p.others) != before
		return wire.Presence{}, false
	}
	here, version := k.present()
	all, total := here.oldest, here.total
	for _, a := range p.others {
		all, total = append(all, a.oldest...), total+a.total
	}
	all = oldest(all)
	p.told, p.stale, p.quietTo = version, false, now.Add(presenceEvery)
	if total == p.total && sameAudience(all, p.shown) {
		return wire.Presence{}, false
	}
	p.shown, p.total = all, total
	return wire.Presence{Connections: all, Total: total}, true
}

// forget drops replicas that are gone: those that have said nothing for long, and
// those that are known not to run. One that has spoken just now may not be known
// yet.
func (p *presence) forget(alive func(wire.ReplicaID) bool, now time.Time) {
	look := alive != nil && now.Sub(p.looked) >= presenceLook
	if look {
		p.looked = now
	}
	maps.DeleteFunc(p.others, func(id wire.ReplicaID, a audience) bool {
		silent := now.Sub(a.seen)
		return silent >= presenceForget || look && silent >= presenceLook && !alive(id)
	})
}

// sooner is the earlier of two times, of which the zero one is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
