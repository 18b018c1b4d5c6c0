package client

import (
	"time"

	"github.com/everdesk/everdesk/wire"
)

// How a client that was asked to wait does so.
const (
	// maxWaits is how often a message is sent again because the hub was busy.
	// With the waits in between that is some minutes.
	maxWaits  = 20
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
	// The time between two messages grows when they were too many, and gets
	// shorter by a part of itself with every one that was not.
	minGap   = 10 * time.Millisecond
	maxGap   = 10 * time.Second
	gapParts = 64
)

// isRetryable reports whether a refusal says nothing of the message, which may be taken
// when it is sent again as it is.
func isRetryable(n wire.ErrorNotice) bool {
	switch n.Code {
	case wire.CodeRateLimited, wire.CodeQueueFull, wire.CodeStoreUnavailable:
		return n.SuggestedAction == wire.ActionWait
	}
	return false
}

// pace is how fast messages may be written, over all connections. Its zero value
// is as fast as they come.
type pace struct {
	hold time.Time // nothing before that
	gap  time.Duration
	last time.Time
}

// wait is how long until the next message.
func (p *pace) wait(now time.Time) time.Duration {
	wait := p.hold.Sub(now)
	if p.gap > 0 {
		wait = max(wait, p.last.Add(p.gap).Sub(now))
	}
	return wait
}

// slowDown takes a refusal that asks to wait, the nth for its message.
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

// speedUp takes an answer that does not.
func (p *pace) speedUp() {
	if p.gap -= p.gap / gapParts; p.gap < minGap {
		p.gap = 0
	}
}
