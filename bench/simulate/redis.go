//go:build linux

package main

import "time"

// node is one Redis master: a single thread that does one thing after the other.
type node struct {
	index int
	free  time.Duration // when it has done all it was asked so far
	// upAt is when it answers again, after an outage; epoch counts outages.
	upAt  time.Duration
	epoch int
	busy  []time.Duration // by second
}

// call is something a replica asks of a node.
type call struct {
	r    *replica
	life int // of the replica when it asked
	n    *node
	// charge is called when the node gets to it, which is when its effect
	// takes place; it returns what that costs.
	charge func() time.Duration
	// done is told whether it worked, unless the replica has died meanwhile.
	done     func(ok bool)
	deadline time.Duration
	urgent   bool
	since    time.Duration // of the first try that failed, or 0
	queued   time.Duration // when it began to wait for a connection
}

// port is a replica's pool of connections to a node.
type port struct {
	used    int
	waiting []*call
}

// askFirst is ask for what must not wait behind others.
func (w *world) askFirst(r *replica, partition int, within time.Duration, charge func() time.Duration, done func(ok bool)) {
	n := w.nodes[partition%len(w.nodes)]
	w.send(&call{r: r, life: r.life, n: n, charge: charge, done: done, deadline: w.now + within, urgent: true})
}

// ask sends something to the node of a partition, within a time.
func (w *world) ask(r *replica, partition int, within time.Duration, charge func() time.Duration, done func(ok bool)) {
	n := w.nodes[partition%len(w.nodes)]
	w.send(&call{r: r, life: r.life, n: n, charge: charge, done: done, deadline: w.now + within})
}

func (w *world) send(c *call) {
	p := &c.r.ports[c.n.index]
	c.queued = w.now
	if p.used >= poolSize && (!c.urgent || !w.cfg.urgent) {
		p.waiting = append(p.waiting, c)
		return
	}
	p.used++
	w.attempt(c, p)
}

// attempt uses a connection that is ours.
func (w *world) attempt(c *call, p *port) {
	switch {
	case c.life != c.r.life:
		w.leave(p)
	case w.now > c.deadline:
		w.leave(p)
		c.done(false)
	case w.now < c.n.upAt, w.now-c.queued > poolTimeout:
		w.leave(p)
		w.retry(c)
	default:
		took := c.charge()
		c.n.free = max(c.n.free, w.now) + took
		w.spend(c.n, took)
		epoch := c.n.epoch
		w.at(c.n.free+w.cfg.rtt, func() {
			w.leave(p)
			switch {
			case c.life != c.r.life:
			case c.n.epoch != epoch:
				w.retry(c)
			default:
				c.done(w.now <= c.deadline)
			}
		})
	}
}

// leave gives a connection to whoever waits for it.
func (w *world) leave(p *port) {
	if len(p.waiting) == 0 || p.used > poolSize {
		p.used--
		return
	}
	next := p.waiting[0]
	p.waiting[0] = nil
	p.waiting = p.waiting[1:]
	w.after(0, func() { w.attempt(next, p) })
}

// retry is what the store does when a server does not answer: it tries again,
// with pauses of up to lastPause, until it has for retryFor. Tries in between
// that cannot succeed are left out.
func (w *world) retry(c *call) {
	if c.since == 0 {
		c.since = w.now
	}
	end := min(c.since+retryFor, c.deadline)
	if c.n.upAt >= end {
		w.at(end, func() {
			if c.life == c.r.life {
				c.done(false)
			}
		})
		return
	}
	w.at(c.n.upAt+w.jitter(lastPause), func() { w.send(c) })
}

// charged is a charge without an effect.
func (w *world) charged(o op, count float64) func() time.Duration {
	return func() time.Duration { return w.price(o, count) }
}

// price counts operations and says how long they take.
func (w *world) price(o op, count float64) time.Duration {
	second := int(w.now / time.Second)
	w.seen.ops[o] = add(w.seen.ops[o], second, count)
	return time.Duration(w.cost[o].CPU * count * float64(time.Microsecond))
}

// spend notes when a node was busy.
func (w *world) spend(n *node, took time.Duration) {
	for from := n.free - took; took > 0; {
		second := from / time.Second
		part := min(took, (second+1)*time.Second-from)
		n.busy = add(n.busy, int(second), part)
		from, took = from+part, took-part
	}
}

// add adds to one of many counters.
func add[T float64 | time.Duration](to []T, i int, v T) []T {
	for len(to) <= i {
		to = append(to, 0)
	}
	to[i] += v
	return to
}

// lane is how the commits of a replica get to a node: in pipelines, of which two
// are under way at most. What arrives meanwhile makes the next one.
type lane struct {
	queue   []*write
	flights int
}

type write struct {
	partition int
	followed  bool // by another replica; the owner listens to its own channel always
	done      func(ok bool)
}

// commit sends a batch of one event.
func (w *world) commit(r *replica, partition int, followed bool, done func(ok bool)) {
	l := &r.lanes[partition%len(w.nodes)]
	l.queue = append(l.queue, &write{partition, followed, done})
	if l.flights < maxFlights {
		l.flights++
		w.fly(r, l)
	}
}

func (w *world) fly(r *replica, l *lane) {
	if len(l.queue) == 0 {
		l.flights--
		return
	}
	n := min(len(l.queue), flightWrites)
	flights := l.queue[:n:n]
	l.queue = l.queue[n:]
	w.ask(r, flights[0].partition, commitTimeout, func() time.Duration {
		// In a Cluster a transaction can have the keys of one partition only.
		groups := map[int]bool{}
		took := time.Duration(0)
		for _, f := range flights {
			if len(w.nodes) > 1 {
				groups[f.partition] = true
			} else {
				groups[0] = true
			}
			took += w.price(opBatched, 1)
			if f.followed || !w.cfg.sparing {
				took += w.price(opPublish, 1)
			}
		}
		w.seen.transactions += float64(len(groups))
		own := w.cost[opCommit].CPU - w.cost[opBatched].CPU // of the transaction itself
		return took + time.Duration(float64(len(groups))*max(own, 0)*float64(time.Microsecond))
	}, func(ok bool) {
		for _, f := range flights {
			f.done(ok)
		}
		w.fly(r, l)
	})
}
