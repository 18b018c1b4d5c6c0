package storetest

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/store"
)

func rateChecks() []check {
	return []check{
		{name: "a rate limit lets the limit through and then makes callers wait", run: rateLimit},
		{name: "an event leaves the window of a rate limit", run: rateExpires},
		{name: "keys of rate limits are counted apart", run: rateKeys},
		{name: "handles share the counts of rate limits", run: rateShared},
		{name: "a rate limit refuses invalid arguments", run: rateInvalid},
	}
}

// takes counts one event that must pass.
func (r *rig) takes(key string, limit int, window time.Duration) {
	r.Helper()
	wait, err := r.Rates.Take(r.ctx, key, limit, window)
	r.ok(err)
	if wait != 0 {
		r.Fatalf("Take of %q has to wait %v, want 0", key, wait)
	}
}

func rateLimit(r *rig) {
	window := r.long()
	for range 3 {
		r.takes("k", 3, window)
	}
	wait, err := r.Rates.Take(r.ctx, "k", 3, window)
	r.ok(err)
	if wait <= 0 || wait > window+2*window/store.RateSteps {
		r.Fatalf("Take over the limit waits %v, want up to %v", wait, window)
	}
	r.takes("k", 4, window)
}

func rateExpires(r *rig) {
	window := r.renewed()
	for range 3 {
		r.takes("k", 1, window)
		r.env.Advance(window + 2*window/store.RateSteps)
	}
}

func rateKeys(r *rig) {
	r.takes("k", 1, r.long())
	r.takes("other", 1, r.long())
	r.takes("k:{}"+strings.Repeat("é", 50), 1, r.long())
}

func rateShared(r *rig) {
	var passed atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		h := r.secondHandle()
		wg.Go(func() {
			for range 5 {
				if wait, err := h.Rates.Take(r.ctx, "k", 10, r.long()); err != nil {
					r.Error(err)
				} else if wait == 0 {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n != 10 {
		r.Errorf("%d of 20 events passed, want 10", n)
	}
}

func rateInvalid(r *rig) {
	for what, take := range map[string]func() (time.Duration, error){
		"no key":       func() (time.Duration, error) { return r.Rates.Take(r.ctx, "", 1, r.long()) },
		"no limit":     func() (time.Duration, error) { return r.Rates.Take(r.ctx, "k", 0, r.long()) },
		"short window": func() (time.Duration, error) { return r.Rates.Take(r.ctx, "k", 1, store.MinRateWindow-1) },
	} {
		_, err := take()
		r.is(err, store.ErrInvalid, "Take with "+what)
	}
}
