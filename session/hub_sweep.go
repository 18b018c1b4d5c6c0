package session

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sweepLimit is the number of sessions per sweep.
const sweepLimit = 100

// sweeper claims sessions with work and without an owner, and deletes expired ones.
type sweeper struct {
	env      *environment
	registry *registry
}

// sweepAll searches for sessions with unfinished work and no owner and makes this replica claim them, until ctx ends.
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
			if ls := sw.registry.lookup(id); ls != nil {
				ls.requestClaim() // an unused follower does not claim by itself
				continue
			}
			if !tried.allow(id, time.Now()) || sw.dropIfImport(ctx, id) {
				continue
			}
			ls, err := sw.registry.acquireSession(id)
			if err != nil {
				continue // draining, or the session is suspended
			}
			sw.registry.releaseSession(ls) // its work keeps it loaded
		}
	}
}

// The pause of the sweeper before it tries to claim the same session again grows from minAttemptPause
// to maxAttemptPause.
const (
	minAttemptPause = time.Second
	maxAttemptPause = time.Minute
)

// attempts are the sessions that the sweeper has tried to claim.
type attempts map[wire.SessionID]attempt

type attempt struct {
	next  time.Time     // of the next attempt at the earliest
	pause time.Duration // before it
}

// retain drops all sessions but ids.
func (a attempts) retain(ids []wire.SessionID) {
	if len(a) == 0 {
		return
	}
	still := make(map[wire.SessionID]bool, len(ids))
	for _, id := range ids {
		still[id] = true
	}
	maps.DeleteFunc(a, func(id wire.SessionID, _ attempt) bool { return !still[id] })
}

// allow reports whether a session may be tried now, and counts the attempt.
func (a attempts) allow(id wire.SessionID, now time.Time) bool {
	last := a[id]
	if now.Before(last.next) {
		return false
	}
	pause := min(max(2*last.pause, minAttemptPause), maxAttemptPause)
	a[id] = attempt{now.Add(pause), pause}
	return true
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
	sw.env.endKernelsOfDeleted(ctx, i.ID)
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
