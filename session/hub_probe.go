package session

import (
	"context"
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
	failing := map[int]error{} // the partitions whose last probe failed
	for sleep(ctx, probeEvery) {
		clear(sessions)
		sessions = sp.registry.appendSessions(sessions[:0])
		failed := sp.probe(ctx, sp.watchedSessions(sessions))
		if ctx.Err() != nil {
			return
		}
		for _, ls := range sessions {
			if len(failing) == 0 && len(failed) == 0 {
				break
			}
			n := sp.env.store.Partition(ls.id)
			if (failing[n] != nil || failed[n] != nil) && ls.isReady() && ls.center != nil {
				ls.storeHealth.set(ctx, issueProbe, failed[n])
			}
		}
		failing = failed
	}
}

// watchedSessions returns one session with tabs for each partition that has one. Of sessions in random
// order it looks at a few only.
func (sp *storeProber) watchedSessions(sessions []*liveSession) map[int]*liveSession {
	watched, partitions := map[int]*liveSession{}, len(sp.env.leases.inUse())
	for _, ls := range sessions {
		if len(watched) == partitions {
			break
		}
		n := sp.env.store.Partition(ls.id)
		if watched[n] == nil && ls.isReady() && ls.center != nil && ls.center.Tabs() > 0 {
			watched[n] = ls
		}
	}
	return watched
}

// probe looks the sessions up and returns the partitions in which the store is unavailable.
func (sp *storeProber) probe(ctx context.Context, watched map[int]*liveSession) map[int]error {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := map[int]error{}
	for n, ls := range watched {
		wg.Go(func() {
			began := time.Now()
			_, err := sp.env.store.Session(limited, ls.id)
			if err == nil {
				sp.env.cfg.Observer.Probed(time.Since(began))
			}
			if isStoreUnavailable(err) {
				mu.Lock()
				failed[n] = err
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return failed
}
