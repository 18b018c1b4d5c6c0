package client

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Bounds for resending messages after the hub asked to wait.
const (
	// maxWaits is how often a message is sent again because the hub was busy: over some minutes,
	// with the delays in between.
	maxWaits  = 20
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
	// The gap between two messages grows with each rate-limited message, and shrinks by 1/gapParts
	// with each accepted one.
	minGap   = 10 * time.Millisecond
	maxGap   = 10 * time.Second
	gapParts = 64
)

// isRetryable reports whether an error is temporary and the same message may be accepted later.
func isRetryable(n wire.ErrorNotice) bool {
	switch n.Code {
	case wire.CodeRateLimited, wire.CodeQueueFull, wire.CodeStoreUnavailable:
		return n.SuggestedAction == wire.ActionWait
	}
	return false
}

// pace limits how fast messages are written, over all connections. Its zero value means no limit.
type pace struct {
	hold time.Time // nothing is written before
	gap  time.Duration
	last time.Time
}

// delay returns the delay until the next message.
func (p *pace) delay(now time.Time) time.Duration {
	wait := p.hold.Sub(now)
	if p.gap > 0 {
		wait = max(wait, p.last.Add(p.gap).Sub(now))
	}
	return wait
}

// slowDown applies an error that asks to wait, the nth for its message.
func (p *pace) slowDown(n wire.ErrorNotice, nth int, now time.Time) {
	wait := min(firstWait<<min(nth-1, 10), maxWait)
	if after := time.Duration(n.RetryAfterMS) * time.Millisecond; after > 0 {
		wait = after
	}
	if until := now.Add(wait); until.After(p.hold) {
		p.hold = until
	}
	if n.Code == wire.CodeRateLimited {
		p.gap = min(max(wait, p.gap+p.gap/2), maxGap)
	}
}

// speedUp applies any other answer.
func (p *pace) speedUp() {
	if p.gap -= p.gap / gapParts; p.gap < minGap {
		p.gap = 0
	}
}
