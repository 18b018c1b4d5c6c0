package ratelimit

import (
	"time"

	"golang.org/x/time/rate"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// badLimit and refusedLimit are the numbers of messages within a minute that close a
	// connection.
	badLimit     = 5
	refusedLimit = 3
)

// Connection has the rate limits of one connection. It allocates nothing until something is
// counted.
type Connection struct {
	k *Limiter
	// state is nil until something is counted: most connections only receive.
	state *buckets
}

type buckets struct {
	messages     store.RateWindow
	interactions *rate.Limiter
	renewals     *rate.Limiter
	// bad and refused are the times of the last such messages, oldest first.
	bad     [badLimit - 1]time.Time
	refused [refusedLimit - 1]time.Time
}

// NewConnection returns the limits of a user's connection. It continues with the buckets of a
// connection that ended within the last minute, so that reconnecting does not give a full bucket. A
// Connection is not safe for concurrent use.
func (l *Limiter) NewConnection(user string) Connection {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := l.saved.get(user, func() []savedBuckets { return nil })
	for len(left) > 0 {
		last := left[len(left)-1]
		left = left[:len(left)-1]
		l.saved.set(user, left)
		if time.Since(last.at) < minute {
			return Connection{k: l, state: last.buckets}
		}
	}
	return Connection{k: l}
}

// savedBuckets are the buckets of a connection that ended.
type savedBuckets struct {
	buckets *buckets
	at      time.Time
}

// maxSaved bounds the saved buckets of a user; the connect limits keep more connections than that
// from ending and reconnecting within a minute.
const maxSaved = 128

// End saves the buckets for the user's next connection.
func (c *Connection) End(user string) {
	if c.state == nil || c.k.cfg.Off {
		return
	}
	c.k.mu.Lock()
	defer c.k.mu.Unlock()
	left := c.k.saved.get(user, func() []savedBuckets { return nil })
	if len(left) >= maxSaved {
		left = left[1:]
	}
	c.k.saved.set(user, append(left, savedBuckets{c.state, time.Now()}))
	c.state = nil
}

// Message counts a message and returns 0, or returns how long to wait if it exceeds a limit. Pongs
// are free, and new credentials have a bucket of their own: a client that sends much must still be
// able to renew them, but each costs the check of a signature.
func (c *Connection) Message(p wire.ClientPayload) time.Duration {
	if c.k.cfg.Off {
		return 0
	}
	switch p.(type) {
	case wire.Pong:
		return 0
	case wire.Auth:
		return c.k.report(limitRenewals, takeLazily(&c.buckets().renewals, c.k.cfg.Renewals, burstPartRenewal))
	case wire.UserInteractions:
		return c.k.report(limitInteractions, takeLazily(&c.buckets().interactions, c.k.cfg.Interactions, burstPart))
	}
	wait := c.buckets().messages.Take(time.Now(), c.k.cfg.Messages, minute)
	return c.k.report(limitMessages, wait)
}

// takeLazily takes a token from a bucket, which it creates on first use.
func takeLazily(bucket **rate.Limiter, n, part int) time.Duration {
	if *bucket == nil {
		*bucket = newBucket(n, part)
	}
	return takeToken(*bucket, time.Now())
}

// Bad counts a message that could not be decoded and reports whether it was the fifth within a
// minute. It counts even when limits are off.
func (c *Connection) Bad() bool { return recordAndCheck(c.buckets().bad[:]) }

// Refused counts a message over the limit and reports whether it was the third within a minute,
// after which the gateway closes the connection.
func (c *Connection) Refused() bool { return recordAndCheck(c.buckets().refused[:]) }

func (c *Connection) buckets() *buckets {
	if c.state == nil {
		c.state = new(buckets)
	}
	return c.state
}

// recordAndCheck appends the present time to the last ones and reports whether the oldest of them
// was less than a minute ago.
func recordAndCheck(last []time.Time) bool {
	now := time.Now()
	out := !last[0].IsZero() && now.Sub(last[0]) < minute
	copy(last, last[1:])
	last[len(last)-1] = now
	return out
}
