package session

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// renewers bounds the concurrent lease renewals.
const renewers = 64

// renewInterval returns the renewal interval of a session: up to a third of the lease, with jitter,
// so that the renewals of many sessions spread out.
func renewInterval(lease time.Duration) time.Duration {
	third := lease / 3
	return third - rand.N(third/4) //nolint:gosec // jitter needs no secrecy
}

// leaseRenewer renews the leases of the owned sessions.
type leaseRenewer struct {
	env      *environment
	registry *registry
}

// renewAll renews the leases of all owned sessions until ctx ends. A slow renewal delays no other.
func (lr *leaseRenewer) renewAll(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, renewers)
	tick := time.NewTicker(max(lr.env.cfg.Lease/20, time.Millisecond))
	defer tick.Stop()
	// Other replicas may claim the session when the lease expires; the owner stops a little
	// earlier.
	staleAfter := max(lr.env.cfg.Lease-time.Second, lr.env.cfg.Lease*3/4)
	var sessions []*liveSession
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		clear(sessions)
		sessions = lr.registry.appendSessions(sessions[:0])
		for _, k := range sessions {
			l := k.activeOwner.Load()
			if l == nil {
				continue
			}
			age := time.Since(lr.env.started) - time.Duration(l.held.renewed.Load())
			switch {
			case age > staleAfter:
				l.held.end(leaseExpired)
			case age >= l.held.renewEvery && l.held.renewing.CompareAndSwap(false, true):
				wg.Go(func() {
					defer l.held.renewing.Store(false)
					slots <- struct{}{}
					defer func() { <-slots }()
					lr.renew(ctx, l)
				})
			}
		}
	}
}

// renew renews the lease of one owner.
func (lr *leaseRenewer) renew(ctx context.Context, l *owner) {
	ctx, cancel := context.WithTimeout(ctx, lr.env.cfg.Lease/3)
	defer cancel()
	began := time.Since(lr.env.started)
	err := lr.env.store.Renew(ctx, l.held.lease)
	switch {
	case err == nil:
		l.held.renewed.Store(int64(began))
		l.live.setStoreIssue(l.held.ctx, issueRenew, false)
	case errors.Is(err, store.ErrFenced):
		l.held.end(leaseFenced)
	default:
		if isStoreUnavailable(err) {
			l.live.setStoreIssue(l.held.ctx, issueRenew, true)
		}
		l.live.log.WarnContext(ctx, "lease renewal failed", "err", err)
	}
}

// sweepLimit is the number of sessions per sweep.
const sweepLimit = 100

// sweeper claims sessions with work and without an owner, and deletes expired ones.
type sweeper struct {
	env      *environment
	registry *registry
}

// sweepAll searches for sessions with unfinished work and no owner and owns them, until ctx ends.
func (sw *sweeper) sweepAll(ctx context.Context) {
	tried := attempts{}
	for sleep(ctx, sw.env.cfg.SweepEvery/2+rand.N(sw.env.cfg.SweepEvery)) { //nolint:gosec // jitter needs no secrecy
		limited, cancel := context.WithTimeout(ctx, storeTimeout)
		ids, err := sw.env.store.Unattended(limited, sweepLimit)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				sw.env.log.WarnContext(ctx, "search for sessions without an owner failed", "err", err)
			}
			continue
		}
		tried.retain(ids)
		for _, id := range ids {
			if k := sw.registry.lookup(id); k != nil {
				k.requestClaim() // an unused follower does not claim by itself
				continue
			}
			if !tried.allow(id, time.Now()) || sw.dropIfImport(ctx, id) {
				continue
			}
			k, err := sw.registry.acquireSession(id)
			if err != nil {
				continue // draining, or the session is suspended
			}
			sw.registry.releaseSession(k) // its work keeps it loaded
		}
	}
}

// retireEvery is the mean interval between searches for expired sessions.
const retireEvery = 10 * time.Minute

// retireAll deletes sessions that were not used for Config.Retention, until ctx ends.
func (sw *sweeper) retireAll(ctx context.Context) {
	every := min(retireEvery, max(sw.env.cfg.Retention/2, time.Millisecond))
	for sleep(ctx, every/2+rand.N(every)) { //nolint:gosec // jitter needs no secrecy
		if err := sw.retire(ctx); err != nil && ctx.Err() == nil {
			sw.env.log.WarnContext(ctx, "search for expired sessions failed", "err", err)
		}
	}
}

// retire goes through all sessions once and deletes the expired ones.
func (sw *sweeper) retire(ctx context.Context) error {
	for q := (store.Query{}); ; {
		page, err := sw.env.store.Sessions(ctx, q)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, i := range page.Items {
			owned := i.Owner != "" && i.Until.After(now)
			if owned || i.Working || i.Quarantined != "" || now.Sub(i.Updated) < sw.env.cfg.Retention || sw.registry.lookup(i.ID) != nil {
				continue
			}
			if err := sw.retireOne(ctx, i); err != nil {
				sw.env.log.WarnContext(ctx, "expired session not deleted", "session", string(i.ID), "err", err)
			}
		}
		if q.After = page.Next; q.After == "" {
			return nil
		}
	}
}

// retireOne deletes a session unless it has changed since i was read.
func (sw *sweeper) retireOne(ctx context.Context, i store.Info) error {
	lease, err := sw.env.store.Claim(ctx, i.ID, sw.env.cfg.Replica, sw.env.cfg.Lease)
	switch {
	case errors.Is(err, store.ErrOwned), errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	case sw.registry.lookup(i.ID) != nil:
		return nil // its live session claims it again
	case lease.Prev != i.Top:
		return sw.env.store.Release(ctx, lease)
	}
	// If the replica dies in between, the next one deletes the session. In the other order, files
	// without a session would remain forever.
	sw.env.cfg.BeforeExpiry(i.ID)
	return sw.env.store.Delete(ctx, lease)
}

// dropIfImport deletes a session without an owner if it is an unfinished import, and reports
// whether it is one.
func (sw *sweeper) dropIfImport(ctx context.Context, id wire.SessionID) bool {
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	i, err := sw.env.store.Session(limited, id)
	if err != nil || !asInfo(i).Importing {
		return false
	}
	sw.dropImport(limited, i)
	return true
}

func (sw *sweeper) dropImport(ctx context.Context, i store.Info) {
	if err := sw.retireOne(ctx, i); err != nil {
		sw.env.log.WarnContext(ctx, "unfinished import not deleted", "session", string(i.ID), "err", err)
		return
	}
	sw.env.log.InfoContext(ctx, "unfinished import deleted", "session", string(i.ID), "user", i.User)
}
