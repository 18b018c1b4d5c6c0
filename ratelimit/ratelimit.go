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

// Observer is told of those who were refused, for those who count them.
type Observer interface {
	// Limited is called with the name of the limit: that of its field of [Config] in
	// lower case.
	Limited(limit string)
}

// blind is an observer who looks at nothing.
type blind struct{}

func (blind) Limited(string) {}

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
)

// Config is the limits, each per minute. The zero value means the defaults.
type Config struct {
	// Off lifts all limits, for trusted networks and benchmarks.
	Off bool
	// Connects are fresh connections of a user (10), Resumes those that come
	// back to a position of the log (60), Strangers those of an address before
	// it has said who it is (30).
	Connects, Resumes, Strangers int
	// Messages are a connection's (100); Interactions have a bucket of their
	// own (600), so that dragging a window cannot eat what chat needs.
	Messages, Interactions int
	// Renewals are new credentials of a connection (10).
	Renewals int
	// Requests are REST calls of a user that change something (300), Reads
	// those that do not (1,200).
	Requests, Reads int
	// Observer is told of refusals; nil means that nobody looks.
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
	if c.Observer == nil {
		c.Observer = blind{}
	}
	return c
}

const (
	// remembered is how many users and addresses are.
	remembered = 4096
	// burstPart is which part of a bucket may pass at once. Strangers may
	// bring half, since a browser that starts opens its tabs together, and so
	// may renewals, of which there are few.
	burstPart         = 5
	burstPartStranger = 2
	burstPartRenewal  = 2
)

// Limiter counts for one replica.
type Limiter struct {
	cfg    Config
	shared shared

	mu        sync.Mutex // guards the following, never while waiting
	strangers recent[netip.Addr, *rate.Limiter]
	left      recent[string, []leftover]
}

// New makes a keeper.
func New(cfg Config, counts Counts) *Limiter {
	return &Limiter{
		cfg:       cfg.withDefaults(),
		shared:    shared{counts: counts, own: newRecent[string, *store.RateWindow](remembered)},
		strangers: newRecent[netip.Addr, *rate.Limiter](remembered),
		left:      newRecent[string, []leftover](remembered),
	}
}

// Connect counts a connection of a user. It reports how long to wait when it is
// one too many; 0 means that it is not. When the store is away it counts alone.
func (k *Limiter) Connect(ctx context.Context, user string, resume bool) time.Duration {
	if resume {
		return k.observed(limitResumes, k.countShared(ctx, user, "resume", k.cfg.Resumes))
	}
	return k.observed(limitConnects, k.countShared(ctx, user, "fresh", k.cfg.Connects))
}

// Address counts a connection of an address that has not said who it is. IPv6
// addresses count by their /64, since that is what one household has.
func (k *Limiter) Address(addr netip.Addr) time.Duration {
	if k.cfg.Off {
		return 0
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		net, _ := addr.Prefix(64) // 64 always fits
		addr = net.Addr()
	}
	k.mu.Lock()
	l := k.strangers.get(addr, func() *rate.Limiter { return newBucket(k.cfg.Strangers, burstPartStranger) })
	k.mu.Unlock()
	return k.observed(limitStrangers, take(l, time.Now()))
}

// observed tells the observer if somebody has to wait.
func (k *Limiter) observed(limit string, wait time.Duration) time.Duration {
	if wait > 0 {
		k.cfg.Observer.Limited(limit)
	}
	return wait
}

// Request counts a REST call of a user that changes something.
func (k *Limiter) Request(ctx context.Context, user string) time.Duration {
	return k.observed(limitRequests, k.countShared(ctx, user, "request", k.cfg.Requests))
}

// Read counts a REST call of a user that does not.
func (k *Limiter) Read(ctx context.Context, user string) time.Duration {
	return k.observed(limitReads, k.countShared(ctx, user, "read", k.cfg.Reads))
}

// countShared counts over all replicas.
func (k *Limiter) countShared(ctx context.Context, user, kind string, n int) time.Duration {
	if k.cfg.Off {
		return 0
	}
	return k.shared.take(ctx, user, kind, n)
}
