//go:build linux

package main

import (
	"context"
	"errors"
	"time"
)

const (
	// maxBatch is the maximum number of events in a publisher's frame: about 20 KiB.
	maxBatch = 64
	// maxUnsent bounds the bytes that wait for a publisher's socket. More means that the server has
	// stopped reading.
	maxUnsent = 8 << 20
)

var errBehind = errors.New("the server does not read the published events")

// publish sends n events of one session.
func (c *clients) publish(r *session, n int, stamp time.Duration, receipt bool) error {
	c.scratch = c.target.encoder.events(c.scratch[:0], r.id, r.published, n, stamp, receipt)
	r.published += uint64(n) //nolint:gosec // a count
	return c.send(r.publisher, c.scratch)
}

// publishAtFullRate publishes for d, with at most window undelivered events per session.
func (c *clients) publishAtFullRate(ctx context.Context, d time.Duration, window int) error {
	end := time.Now().Add(d)
	for _, r := range c.sessions {
		c.queueRefill(r)
	}
	err := c.run(ctx, "publish", func() bool { return !time.Now().Before(end) }, func() (time.Duration, error) {
		for _, r := range c.refillQueue {
			r.queued = false
			if err := c.refill(r, window); err != nil {
				return 0, err
			}
		}
		c.refillQueue = c.refillQueue[:0]
		return tick, c.firstFault()
	})
	if err != nil {
		return err
	}
	return c.awaitDelivered(ctx)
}

// refill publishes events until window are undelivered. It skips small batches, which would measure
// system calls.
func (c *clients) refill(r *session, window int) error {
	if len(r.publisher.out.rest) > 0 {
		return nil // the socket is full
	}
	space := window - int(r.published-r.minReceived()) //nolint:gosec // at most window
	for space >= max(min(window/4, maxBatch), 1) && len(r.publisher.out.rest) == 0 {
		n := min(space, maxBatch)
		if err := c.publish(r, n, c.clock(), false); err != nil {
			return err
		}
		space -= n
	}
	return nil
}

// publishAtRate publishes rate events per second, over all sessions in turn, independent of the
// server's speed. The delay of an event counts from its due time.
func (c *clients) publishAtRate(ctx context.Context, d time.Duration, rate float64) error {
	var sent, total float64 = 0, rate * d.Seconds()
	begin := c.clock()
	err := c.run(ctx, "publish", func() bool { return sent >= total }, func() (time.Duration, error) {
		for now := c.clock(); sent < total; sent++ {
			due := begin + time.Duration(sent/rate*float64(time.Second))
			if due > now {
				break
			}
			r := c.sessions[int(sent)%len(c.sessions)]
			if err := c.publish(r, 1, due, false); err != nil {
				return 0, err
			}
			if len(r.publisher.out.rest) > maxUnsent {
				return 0, errBehind
			}
		}
		return time.Millisecond, c.firstFault()
	})
	if err != nil {
		return err
	}
	return c.awaitDelivered(ctx)
}

// publishDurably publishes n events in every session and waits until they are durable.
func (c *clients) publishDurably(ctx context.Context, n int) error {
	wanted := make([]uint64, len(c.sessions))
	for i, r := range c.sessions {
		wanted[i] = r.receipts + 1
		for left := n; left > 0; left -= maxBatch {
			if err := c.publish(r, min(left, maxBatch), c.clock(), left <= maxBatch); err != nil {
				return err
			}
		}
	}
	return c.run(ctx, "publish", func() bool {
		for i, r := range c.sessions {
			if r.receipts < wanted[i] {
				return false
			}
		}
		return true
	}, waitOnly)
}

// awaitDelivered waits until every tab has received every event.
func (c *clients) awaitDelivered(ctx context.Context) error {
	return c.run(ctx, "wait for the last deliveries", c.allDelivered, func() (time.Duration, error) { return tick, c.firstFault() })
}

func (c *clients) allDelivered() bool {
	for _, r := range c.sessions {
		if r.minReceived() < r.published {
			return false
		}
	}
	return true
}

// firstFault returns an error if a connection was closed or a message refused: such a run cannot
// complete.
func (c *clients) firstFault() error {
	if f := c.faults; f.Closed+f.Errors > 0 {
		return errors.New(f.First)
	}
	return nil
}

// hold keeps the connections open for d.
func (c *clients) hold(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		if err := c.pollOnce(tick); err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), c.firstFault()); err != nil {
			return err
		}
	}
	return nil
}

// allFaults returns the faults of all tabs and connections.
func (c *clients) allFaults() faults {
	f := c.faults
	for _, r := range c.sessions {
		for _, t := range r.tabs {
			f.add(t.seen.finish(r.published))
		}
	}
	return f
}
