package session

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// storeProber finds out whether the store answers, for sessions that do not use it themselves.
type storeProber struct {
	env      *environment
	registry *registry
}

// probeAll probes the store every probeEvery with one session of each partition that has tabs here,
// until ctx ends. Idle sessions do not call the store themselves.
func (sp *storeProber) probeAll(ctx context.Context) {
	var sessions []*liveSession
	for sleep(ctx, probeEvery) {
		clear(sessions)
		sessions = sp.registry.appendSessions(sessions[:0])
		parts := map[int]*partitionSessions{}
		for _, ls := range sessions {
			if !ls.isReady() || ls.center == nil {
				continue
			}
			n := sp.env.store.Partition(ls.id)
			if parts[n] == nil {
				parts[n] = &partitionSessions{}
			}
			parts[n].sessions = append(parts[n].sessions, ls)
			parts[n].watched = parts[n].watched || ls.center.Tabs() > 0
		}
		var wg sync.WaitGroup
		for _, p := range parts {
			wg.Go(func() { sp.probe(ctx, p) })
		}
		wg.Wait()
	}
}

// partitionSessions are the loaded sessions of a store partition.
type partitionSessions struct {
	sessions []*liveSession
	watched  bool
}

// probe looks up one session and applies the result to all sessions of the partition. Without tabs
// it does not call the store.
func (sp *storeProber) probe(ctx context.Context, p *partitionSessions) {
	var err error
	if p.watched {
		limited, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		one := p.sessions[rand.N(len(p.sessions))] //nolint:gosec // any will do
		began := time.Now()
		if _, err = sp.env.store.Session(limited, one.id); err == nil {
			sp.env.cfg.Observer.Probed(time.Since(began))
		}
	}
	if ctx.Err() != nil {
		return
	}
	for _, ls := range p.sessions {
		ls.storeHealth.set(ctx, issueProbe, isStoreUnavailable(err))
	}
}
