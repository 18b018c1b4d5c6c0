//go:build linux

package main

import "time"

// event is something that happens at a time of the model.
type event struct {
	at time.Duration
	n  uint64 // those of the same time happen in the order they were made
	do func()
}

func (e event) before(o event) bool { return e.at < o.at || e.at == o.at && e.n < o.n }

// clock is the model's time: a heap of what is going to happen.
type clock struct {
	now   time.Duration
	made  uint64
	queue []event
}

// after makes something happen some time from now.
func (c *clock) after(d time.Duration, do func()) { c.at(c.now+max(d, 0), do) }

// at makes something happen at a time, which must not be past.
func (c *clock) at(t time.Duration, do func()) {
	c.made++
	q := append(c.queue, event{max(t, c.now), c.made, do})
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !q[i].before(q[up]) {
			break
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
	c.queue = q
}

// run lets time pass until there is nothing to happen any more before a time.
func (c *clock) run(until time.Duration) {
	for len(c.queue) > 0 && c.queue[0].at <= until {
		e := c.pop()
		c.now = e.at
		e.do()
	}
	c.now = until
}

func (c *clock) pop() event {
	q := c.queue
	first, last := q[0], len(q)-1
	q[0] = q[last]
	q[last] = event{}
	q = q[:last]
	for i := 0; ; {
		next := 2*i + 1
		if next >= last {
			break
		}
		if next+1 < last && q[next+1].before(q[next]) {
			next++
		}
		if !q[next].before(q[i]) {
			break
		}
		q[i], q[next] = q[next], q[i]
		i = next
	}
	c.queue = q
	return first
}
