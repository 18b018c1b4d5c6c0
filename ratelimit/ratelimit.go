package ratelimit

import (
	"cmp"
	"context"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/everdesk/everdesk/store"
)

// Counts counts events over all replicas.
type Counts interface {
	// Take counts one event of key and returns 0, unless limit events were counted
	// within the last window: then it counts nothing and returns how long to wait.
	Take(ctx context.Context, key string, limit int, window time.Duration) (wait time.Duration, err error)
}

// Observer receives refusals, for metrics.
type Observer interface {
	// Limited is called with the name of the limit: that of its field of [Config] in
	// lower case.
	Limited(limit string)
}

// noopObserver ignores all calls.
type noopObserver struct{}

func (noopObserver) Limited(string) {}

// The names of the limits.
const (
	limitConnects     = "connects"
	limitResumes      = "resumes"
	limitStrangers    = "strangers"
	limitMessages     = "messages"
	limitInteractions = "interactions"
	limitRenewals     = "renewals"
	limitRequests     = "requests"
	limitReads        = "reads"
	limitProbes       = "probes"
)

// Config has the limits, each per minute. The zero value means the defaults.
type Config struct {
	// Off lifts all limits, for trusted networks and benchmarks.
	Off bool
	// Connects bounds new connections of a user (10), Resumes those that resume from a position of
	// the log (60), and Strangers the unauthenticated connections of an address (30).
	Connects, Resumes, Strangers int
	// Messages bounds those of a connection (100). Interactions have a limit of their own (600), so
	// that dragging a window does not use up the limit of chat messages.
	Messages, Interactions int
	// Renewals bounds new credentials of a connection (10).
	Renewals int
	// Requests bounds a user's REST calls that change something (300), Reads the others (1,200).
	Requests, Reads int
	// Probes bounds a user's requests that make the hub ask a model server (20).
	Probes int
	// Observer receives refusals; nil means none.
	Observer Observer
}

func (c Config) withDefaults() Config {
	c.Connects = cmp.Or(c.Connects, 10)
	c.Resumes = cmp.Or(c.Resumes, 60)
	c.Strangers = cmp.Or(c.Strangers, 30)
	c.Messages = cmp.Or(c.Messages, 100)
	c.Interactions = cmp.Or(c.Interactions, 600)
	c.Renewals = cmp.Or(c.Renewals, 10)
	c.Requests = cmp.Or(c.Requests, 300)
	c.Reads = cmp.Or(c.Reads, 1200)
	c.Probes = cmp.Or(c.Probes, 20)
	if c.Observer == nil {
		c.Observer = noopObserver{}
	}
	return c
}

const (
	// rememberedKeys is the least number of users and of addresses whose limits are kept.
	rememberedKeys = 4096
	// burstPart is the divisor of a limit for its burst. Half of the limit of an address may pass
	// at once, since a starting browser opens its tabs together, and half of the renewals, of which
	// there are few.
	burstPart         = 5
	burstPartStranger = 2
	burstPartRenewal  = 2
)

// Limiter counts for one replica.
type Limiter struct {
	cfg    Config
	shared shared

	mu        sync.Mutex // guards the following, never held during a store call
	strangers recent[netip.Addr, *rate.Limiter]
	saved     recent[string, []savedBuckets]
}

// New returns a limiter that counts users' connects and requests with counts.
func New(cfg Config, counts Counts) *Limiter {
	return &Limiter{
		cfg:       cfg.withDefaults(),
		shared:    shared{counts: counts, own: newRecent[string, *store.RateWindow](rememberedKeys)},
		strangers: newRecent[netip.Addr, *rate.Limiter](rememberedKeys),
		saved:     newRecent[string, []savedBuckets](rememberedKeys),
	}
}

// Connect counts a connection of a user. It returns 0, or how long to wait if a limit is exceeded.
// When the store is unavailable it counts this replica's connections only.
func (l *Limiter) Connect(ctx context.Context, user string, resume bool) time.Duration {
	if resume {
		return l.report(limitResumes, l.countShared(ctx, user, "resume", l.cfg.Resumes))
	}
	return l.report(limitConnects, l.countShared(ctx, user, "fresh", l.cfg.Connects))
}

// Address counts an unauthenticated connection of an address. IPv6 addresses count by their /64,
// the prefix of one household.
func (l *Limiter) Address(addr netip.Addr) time.Duration {
	if l.cfg.Off {
		return 0
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		net, _ := addr.Prefix(64) // 64 always fits
		addr = net.Addr()
	}
	l.mu.Lock()
	bucket := l.strangers.get(addr, func() *rate.Limiter { return newBucket(l.cfg.Strangers, burstPartStranger) })
	l.mu.Unlock()
	return l.report(limitStrangers, takeToken(bucket, time.Now()))
}

// report notifies the observer if wait is positive, and returns wait.
func (l *Limiter) report(limit string, wait time.Duration) time.Duration {
	if wait > 0 {
		l.cfg.Observer.Limited(limit)
	}
	return wait
}

// Request counts a REST call of a user that changes something.
func (l *Limiter) Request(ctx context.Context, user string) time.Duration {
	return l.report(limitRequests, l.countShared(ctx, user, "request", l.cfg.Requests))
}

// Read counts a REST call of a user that changes nothing.
func (l *Limiter) Read(ctx context.Context, user string) time.Duration {
	return l.report(limitReads, l.countShared(ctx, user, "read", l.cfg.Reads))
}

// Probe counts a REST call of a user that makes the hub ask a model server.
func (l *Limiter) Probe(ctx context.Context, user string) time.Duration {
	return l.report(limitProbes, l.countShared(ctx, user, "probe", l.cfg.Probes))
}

// countShared counts over all replicas.
func (l *Limiter) countShared(ctx context.Context, user, kind string, n int) time.Duration {
	if l.cfg.Off {
		return 0
	}
	return l.shared.count(ctx, user, kind, n)
}
