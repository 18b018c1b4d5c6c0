package session

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/store"
)

// claimSpread is the mean time between two claims of one replica when it takes over all the sessions
// that it follows of a dead owner.
const claimSpread = 200 * time.Microsecond

// renewInterval returns the time between two renewals of a lease: up to a third of it, with jitter,
// so that the renewals of replicas that started together spread out.
func renewInterval(lease time.Duration) time.Duration {
	third := lease / 3
	return third - rand.N(third/4) //nolint:gosec // jitter needs no secrecy
}

// partitionLease is the lease of this replica in one partition of the store. It keeps all sessions of
// the partition that the replica owns. Any goroutine may use it.
type partitionLease struct {
	partition int
	renewed   atomic.Int64 // when the last successful renewal or claim began, in ns of the hub's uptime
	renewing  atomic.Bool
	failing   atomic.Bool   // the last renewal failed
	ended     atomic.Uint64 // number of times that leases of others were found to have ended

	mu      sync.Mutex // guards the following
	renewAt time.Duration
	others  map[uint64]time.Time // when the leases of other incarnations end, as last read, by the local clock
}

// extend records a renewal or claim that began at an uptime of the hub.
func (p *partitionLease) extend(began time.Duration) {
	for {
		was := p.renewed.Load()
		if int64(began) <= was || p.renewed.CompareAndSwap(was, int64(began)) {
			return
		}
	}
}

// watch records when the lease of another incarnation ends, as a refused claim has reported it.
func (p *partitionLease) watch(owned *store.OwnedError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.others[owned.Incarnation]; !known {
		p.others[owned.Incarnation] = time.Now().Add(owned.For)
	}
}

// setOthers records the leases of others as just read, and returns the incarnations whose lease has
// ended. A lease that is missing earlier than it should have ended counts until then: the clock of the
// store was set forward, or the store was replaced by an older copy, and its owner renews it soon.
func (p *partitionLease) setOthers(live map[uint64]time.Duration) (gone map[uint64]bool) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	gone = map[uint64]bool{}
	for number, end := range p.others {
		if _, ok := live[number]; !ok && !now.Before(end) {
			gone[number] = true
			delete(p.others, number)
		}
	}
	for number, left := range live {
		p.others[number] = now.Add(left)
	}
	return gone
}

// isLive reports whether another incarnation had a live lease when the leases were last read.
func (p *partitionLease) isLive(incarnation uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.others[incarnation]
	return ok
}

// isDue reports whether the lease must be renewed, or the leases of others be read, because one of
// them should have ended. If not, it returns when the first of them ends; zero if there is none.
func (p *partitionLease) isDue(uptime time.Duration, now time.Time) (bool, time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first time.Time
	for _, end := range p.others {
		first = earlier(first, end)
	}
	return uptime >= p.renewAt || !first.IsZero() && !now.Before(first), first
}

// partitionLeases holds the leases of this replica by partition.
type partitionLeases struct {
	mu       sync.Mutex
	leases   map[int]*partitionLease
	sessions map[*partitionLease]int // number of loaded sessions
}

// acquire returns the lease of a partition, which is renewed until release was called as often.
func (pl *partitionLeases) acquire(partition int) *partitionLease {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	p := pl.leases[partition]
	if p == nil {
		p = &partitionLease{partition: partition, others: map[uint64]time.Time{}}
		pl.leases[partition] = p
	}
	pl.sessions[p]++
	return p
}

// release records that a session of a partition is not loaded any more.
func (pl *partitionLeases) release(p *partitionLease) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	if pl.sessions[p]--; pl.sessions[p] == 0 {
		delete(pl.sessions, p)
	}
}

// inUse returns the leases of all partitions with loaded sessions.
func (pl *partitionLeases) inUse() []*partitionLease {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	return slices.Collect(maps.Keys(pl.sessions))
}

// leaseRenewer renews the leases of this replica and watches those of others.
type leaseRenewer struct {
	env      *environment
	registry *registry
}

// renewAll renews the leases of all partitions in use until ctx ends. A slow partition delays no
// other.
func (lr *leaseRenewer) renewAll(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	lease := lr.env.cfg.Lease
	tick := max(lease/20, time.Millisecond)
	// Other replicas may claim the sessions when the lease expires; the owners stop a little earlier.
	staleAfter := max(lease-time.Second, lease*3/4)
	for wait := tick; sleep(ctx, wait); {
		uptime, now := lr.env.uptime(), time.Now()
		wait = tick
		for _, p := range lr.env.leases.inUse() {
			if uptime-time.Duration(p.renewed.Load()) > staleAfter {
				lr.eachOwner(p, func(ow *owner) { ow.held.end(leaseExpired) })
			}
			switch due, end := p.isDue(uptime, now); {
			case due && p.renewing.CompareAndSwap(false, true):
				wg.Go(func() {
					defer p.renewing.Store(false)
					lr.renew(ctx, p)
				})
			case !due && !end.IsZero():
				wait = max(min(wait, end.Sub(now)), time.Millisecond)
			}
		}
	}
}

// renew renews the lease of one partition and handles the leases of others that have ended.
func (lr *leaseRenewer) renew(ctx context.Context, p *partitionLease) {
	limited, cancel := context.WithTimeout(ctx, lr.env.cfg.Lease/3)
	defer cancel()
	began := lr.env.uptime()
	renewal, err := lr.env.store.RenewShared(limited, lr.env.incarnation, p.partition, lr.env.cfg.Lease)
	if err != nil {
		lr.renewalFailed(ctx, p, err)
		return
	}
	before := time.Duration(p.renewed.Load())
	p.extend(began)
	p.mu.Lock()
	p.renewAt = began + renewInterval(lr.env.cfg.Lease)
	p.mu.Unlock()
	if p.failing.Swap(false) {
		lr.eachOwner(p, func(ow *owner) { ow.live.storeHealth.set(ow.held.ctx, issueRenew, nil) })
	}
	if !renewal.Known {
		// The claims of these owners have created the lease, so the store has lost data.
		lr.eachOwner(p, func(ow *owner) {
			if ow.held.since < began {
				ow.held.end(leaseFenced)
			}
		})
	}
	if before != 0 && (began-before > lr.env.cfg.Lease || !renewal.Known) {
		// The owners that these sessions have elsewhere may have dropped the tabs of this replica.
		lr.eachFollower(p, func(ls *liveSession) {
			ls.tabChanges.add()
			ls.mailbox.signal()
		})
	}
	if gone := p.setOthers(renewal.Live); len(gone) > 0 {
		p.ended.Add(1)
		lr.eachOwner(p, func(ow *owner) { ow.live.mailbox.signal() }) // their tabs are gone
		lr.ownersGone(p, gone)
	}
}

// renewalFailed records a failed renewal, which the next tick repeats.
func (lr *leaseRenewer) renewalFailed(ctx context.Context, p *partitionLease, err error) {
	if ctx.Err() != nil {
		return
	}
	lr.env.log.WarnContext(ctx, "lease renewal failed", "partition", p.partition, "err", err)
	if isStoreUnavailable(err) {
		p.failing.Store(true)
		lr.eachOwner(p, func(ow *owner) { ow.live.storeHealth.set(ow.held.ctx, issueRenew, err) })
	}
}

// eachOwner calls f for each session of a partition that this replica owns.
func (lr *leaseRenewer) eachOwner(p *partitionLease, f func(*owner)) {
	for _, ls := range lr.registry.appendSessions(nil) {
		if ow := ls.activeOwner.Load(); ow != nil && ls.lease == p {
			f(ow)
		}
	}
}

// eachFollower calls f for each loaded session of a partition that this replica does not own.
func (lr *leaseRenewer) eachFollower(p *partitionLease, f func(*liveSession)) {
	for _, ls := range lr.registry.appendSessions(nil) {
		if ls.activeOwner.Load() == nil && ls.lease == p {
			f(ls)
		}
	}
}

// ownersGone makes the followers of sessions whose owner's lease has ended claim them, spread over
// some time if they are many.
func (lr *leaseRenewer) ownersGone(p *partitionLease, gone map[uint64]bool) {
	var sessions []*liveSession
	lr.eachFollower(p, func(ls *liveSession) {
		if gone[ls.ownerIncarnation.Load()] {
			sessions = append(sessions, ls)
		}
	})
	spread := claimJitter + time.Duration(len(sessions))*claimSpread
	for _, ls := range sessions {
		ls.claimableAt.Store(time.Now().Add(rand.N(spread)).UnixNano()) //nolint:gosec // jitter needs no secrecy
		ls.mailbox.signal()
	}
}
