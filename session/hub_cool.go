package session

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// ColdStore moves sessions that have not been used for long from the store to a cheaper storage. The store
// reads them from there and moves them back when they are opened.
type ColdStore interface {
	// Unused lists sessions that have not changed since a time, by page. The first cursor and the
	// last one are "".
	Unused(ctx context.Context, cursor string, since time.Time) (ids []wire.SessionID, next string, err error)
	// Cool moves a session unless it has changed since a time or cannot be moved.
	Cool(ctx context.Context, id wire.SessionID, since time.Time) (bool, error)
	// RemoveUnneeded removes what was not needed any more for some time from the other storage.
	RemoveUnneeded(ctx context.Context, unneeded time.Duration) (int, error)
}

const (
	// coolEvery is the mean interval between searches for sessions to be moved.
	coolEvery = time.Hour
	// coolInterval is the least time between two sessions that a hub moves, and between two pages of a
	// search.
	coolInterval = 20 * time.Millisecond
	// coolFailures in a row end a search: the other storage is probably unavailable.
	coolFailures = 3
	// keepCold is the time for which the copy of a session that came back is kept: a store that is
	// restored from a backup of that day still refers to it.
	keepCold = 24 * time.Hour
)

// cooler moves unused sessions to the cold store.
type cooler struct {
	env      *environment
	registry *registry
}

// coolAll moves sessions that were not used for Config.ColdAfter, until ctx ends. With 0 it only
// removes what is not needed any more.
func (c cooler) coolAll(ctx context.Context) {
	cfg, every := &c.env.cfg, coolEvery
	if cfg.ColdAfter > 0 {
		every = min(every, max(cfg.ColdAfter/2, coolInterval))
	}
	for sleep(ctx, every/2+rand.N(every)) { //nolint:gosec // jitter needs no secrecy
		if _, err := cfg.Cold.RemoveUnneeded(ctx, keepCold); err != nil && ctx.Err() == nil {
			c.env.log.WarnContext(ctx, "unneeded objects of cold sessions not removed", "err", err)
		}
		if cfg.ColdAfter > 0 && cfg.MayCool() {
			c.coolOnce(ctx, time.Now().Add(-cfg.ColdAfter))
		}
	}
}

// coolOnce goes through all sessions once and moves those that have not changed since a time, one
// after the other. That may take hours, so it ends when a replica appears that cannot open them.
func (c cooler) coolOnce(ctx context.Context, since time.Time) {
	moved, failed := 0, 0
search:
	for cursor := ""; sleep(ctx, coolInterval); {
		ids, next, err := c.env.cfg.Cold.Unused(ctx, cursor, since)
		if err != nil {
			if ctx.Err() == nil {
				c.env.log.WarnContext(ctx, "search for unused sessions failed", "err", err)
			}
			break
		}
		for _, id := range ids {
			if c.registry.lookup(id) != nil {
				continue
			}
			if !sleep(ctx, coolInterval) {
				return
			}
			if !c.env.cfg.MayCool() {
				break search
			}
			done, err := c.env.cfg.Cold.Cool(ctx, id, since)
			if done {
				moved++
			}
			switch {
			case err == nil:
				failed = 0
			case ctx.Err() == nil:
				failed++
				c.env.log.WarnContext(ctx, "session not moved to the cold storage", "session", string(id), "err", err)
			}
			if failed >= coolFailures {
				c.env.log.WarnContext(ctx, "moving sessions to the cold storage fails, trying again later")
				return
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if moved > 0 {
		c.env.log.InfoContext(ctx, "unused sessions moved to the cold storage", "sessions", moved)
	}
}
