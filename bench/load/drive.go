//go:build linux

package main

import (
	"context"
	"errors"
	"time"
)

const (
	// maxBatch is how many events a publisher puts into one frame: about 20 KiB.
	maxBatch = 64
	// maxUnsent bounds what waits for a publisher's socket. More means that
	// the server has stopped reading.
	maxUnsent = 8 << 20
)

var errBehind = errors.New("the server does not take in what is published")

// publish sends events of one room.
func (c *crowd) publish(r *room, n int, stamp time.Duration, receipt bool) error {
	c.scratch = c.target.encoder.events(c.scratch[:0], r.published, n, stamp, receipt)
	r.published += uint64(n) //nolint:gosec // a count
	return c.send(r.publisher, c.scratch)
}

// flatOut publishes for a while as fast as the slowest tab of each room takes
// it: at most window events are on their way in a room.
func (c *crowd) flatOut(ctx context.Context, d time.Duration, window int) error {
	end := time.Now().Add(d)
	for _, r := range c.rooms {
		c.stir(r)
	}
	err := c.run(ctx, "publish", func() bool { return !time.Now().Before(end) }, func() (time.Duration, error) {
		for _, r := range c.stirring {
			r.stirred = false
			if err := c.refill(r, window); err != nil {
				return 0, err
			}
		}
		c.stirring = c.stirring[:0]
		return tick, c.broken()
	})
	if err != nil {
		return err
	}
	return c.settle(ctx)
}

// refill publishes what a room has space for, unless that is little: tiny
// batches would measure system calls.
func (c *crowd) refill(r *room, window int) error {
	if len(r.publisher.out.rest) > 0 {
		return nil // its socket is full
	}
	space := window - int(r.published-r.slowest()) //nolint:gosec // at most window
	for space >= max(min(window/4, maxBatch), 1) && len(r.publisher.out.rest) == 0 {
		n := min(space, maxBatch)
		if err := c.publish(r, n, c.clock(), false); err != nil {
			return err
		}
		space -= n
	}
	return nil
}

// paced publishes rate events per second, spread over all rooms in turn, however
// the server is doing. An event's delay counts from when it was due.
func (c *crowd) paced(ctx context.Context, d time.Duration, rate float64) error {
	var sent, total float64 = 0, rate * d.Seconds()
	begin := c.clock()
	err := c.run(ctx, "publish", func() bool { return sent >= total }, func() (time.Duration, error) {
		for now := c.clock(); sent < total; sent++ {
			due := begin + time.Duration(sent/rate*float64(time.Second))
			if due > now {
				break
			}
			r := c.rooms[int(sent)%len(c.rooms)]
			if err := c.publish(r, 1, due, false); err != nil {
				return 0, err
			}
			if len(r.publisher.out.rest) > maxUnsent {
				return 0, errBehind
			}
		}
		return time.Millisecond, c.broken()
	})
	if err != nil {
		return err
	}
	return c.settle(ctx)
}

// kept publishes n events in every room and waits until they are durable.
func (c *crowd) kept(ctx context.Context, n int) error {
	wanted := make([]uint64, len(c.rooms))
	for i, r := range c.rooms {
		wanted[i] = r.receipts + 1
		for left := n; left > 0; left -= maxBatch {
			if err := c.publish(r, min(left, maxBatch), c.clock(), left <= maxBatch); err != nil {
				return err
			}
		}
	}
	return c.run(ctx, "publish", func() bool {
		for i, r := range c.rooms {
			if r.receipts < wanted[i] {
				return false
			}
		}
		return true
	}, patiently)
}

// settle waits until every tab has seen everything.
func (c *crowd) settle(ctx context.Context) error {
	return c.run(ctx, "wait for the last deliveries", c.caughtUp, func() (time.Duration, error) { return tick, c.broken() })
}

func (c *crowd) caughtUp() bool {
	for _, r := range c.rooms {
		if r.slowest() < r.published {
			return false
		}
	}
	return true
}

// broken ends a run in which something went wrong that waiting does not mend.
func (c *crowd) broken() error {
	if f := c.faults; f.Closed+f.Errors > 0 {
		return errors.New(f.First)
	}
	return nil
}

// hold keeps the connections for a while.
func (c *crowd) hold(ctx context.Context, d time.Duration) error {
	end := time.Now().Add(d)
	for time.Now().Before(end) {
		if err := c.round(tick); err != nil {
			return err
		}
		if err := errors.Join(ctx.Err(), c.broken()); err != nil {
			return err
		}
	}
	return nil
}

// verdict is everything that went wrong.
func (c *crowd) verdict() faults {
	f := c.faults
	for _, r := range c.rooms {
		for _, t := range r.tabs {
			f.add(t.seen.end(r.published))
		}
	}
	return f
}
