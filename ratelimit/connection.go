package ratelimit

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// badLimit and refusedLimit are which one in a minute is too many.
	badLimit     = 5
	refusedLimit = 3
)

// Connection are the buckets of one connection. They cost nothing until used.
type Connection struct {
	k *Limiter
	// used is nil until something is counted: most connections only watch.
	used *buckets
}

type buckets struct {
	messages     store.RateWindow
	interactions *rate.Limiter
	renewals     *rate.Limiter
	// bad and refused are when the last ones were, the oldest first.
	bad     [badLimit - 1]time.Time
	refused [refusedLimit - 1]time.Time
}

// NewConnection makes the buckets of a connection of a user, or hands on those of
// one that ended, so that nobody gets a full bucket by coming back. One goroutine
// uses them.
func (k *Limiter) NewConnection(user string) Connection {
	k.mu.Lock()
	defer k.mu.Unlock()
	left := k.left.get(user, func() []leftover { return nil })
	for len(left) > 0 {
		last := left[len(left)-1]
		left = left[:len(left)-1]
		k.left.set(user, left)
		if time.Since(last.at) < minute {
			return Connection{k: k, used: last.used}
		}
	}
	return Connection{k: k}
}

// leftover are the buckets of a connection that ended.
type leftover struct {
	used *buckets
	at   time.Time
}

// maxLeftovers is how many are kept of a user; more connections than that do not
// end and come back within a minute, since connecting is limited too.
const maxLeftovers = 128

// End keeps what the connection used for the next one of its user.
func (c *Connection) End(user string) {
	if c.used == nil || c.k.cfg.Off {
		return
	}
	c.k.mu.Lock()
	defer c.k.mu.Unlock()
	left := c.k.left.get(user, func() []leftover { return nil })
	if len(left) >= maxLeftovers {
		left = left[1:]
	}
	c.k.left.set(user, append(left, leftover{c.used, time.Now()}))
	c.used = nil
}

// Message counts a message. It reports how long to wait when it is one too many.
// Pongs are free, and new credentials have a bucket of their own: who talks much
// must still be able to renew them, but each costs a signature to check.
func (c *Connection) Message(p wire.ClientPayload) time.Duration {
	if c.k.cfg.Off {
		return 0
	}
	switch p.(type) {
	case wire.Pong:
		return 0
	case wire.Auth:
		return c.k.observed(limitRenewals, takeFrom(&c.buckets().renewals, c.k.cfg.Renewals, burstPartRenewal))
	case wire.UserInteractions:
		return c.k.observed(limitInteractions, takeFrom(&c.buckets().interactions, c.k.cfg.Interactions, burstPart))
	}
	wait := c.buckets().messages.Take(time.Now(), c.k.cfg.Messages, minute)
	return c.k.observed(limitMessages, wait)
}

// takeFrom takes one from a bucket, which is made with the first.
func takeFrom(bucket **rate.Limiter, n, part int) time.Duration {
	if *bucket == nil {
		*bucket = newBucket(n, part)
	}
	return take(*bucket, time.Now())
}

// Bad counts a message that could not be understood and reports whether it was
// the fifth in a minute. It counts even when limits are off.
func (c *Connection) Bad() bool { return strike(c.buckets().bad[:]) }

// Refused counts a message that was one too many and reports whether it was the
// third such in a minute, after which the door closes.
func (c *Connection) Refused() bool { return strike(c.buckets().refused[:]) }

func (c *Connection) buckets() *buckets {
	if c.used == nil {
		c.used = new(buckets)
	}
	return c.used
}

// strike puts now behind the last times and reports whether the first of them
// was less than a minute ago.
func strike(last []time.Time) bool {
	now := time.Now()
	out := !last[0].IsZero() && now.Sub(last[0]) < minute
	copy(last, last[1:])
	last[len(last)-1] = now
	return out
}
