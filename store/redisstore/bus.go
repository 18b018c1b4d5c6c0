package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// bus brings what Redis publishes to those in this process who listen. It is
// only ever a hint: messages may be lost, and everybody looks for themselves now
// and then.
//
// Sharded channels are published on the server that holds their slot, and a
// go-redis subscription talks to one server, so in a Cluster there is a line per
// partition; otherwise one is enough.
type bus struct {
	store *Store

	mu    sync.Mutex // guards the following
	conns map[uint16]*pubSubConn
}

// listener is told what happens on a channel. Its methods must not block.
type listener interface {
	// onMessage is called with each message.
	onMessage(message string)
	// onConnect is called when messages may have been lost before.
	onConnect()
	// wantsBatches says whether batches are of interest.
	wantsBatches() bool
}

func (b *bus) init(s *Store) {
	b.store = s
	b.conns = map[uint16]*pubSubConn{}
}

// listen begins to tell l what happens on a channel, and returns what ends it.
func (b *bus) listen(partition uint16, channel string, l listener) (stop func()) {
	return b.conn(partition).add(channel, l)
}

// channel returns the one of a name if somebody here listens to it, or nil.
func (b *bus) channel(partition uint16, name []byte) *channel {
	b.mu.Lock()
	ln := b.conns[b.connNumber(partition)]
	b.mu.Unlock()
	if ln == nil {
		return nil
	}
	ln.mu.Lock()
	defer ln.mu.Unlock()
	return ln.channels[string(name)]
}

// connNumber is the number of the line that brings what is published in a partition.
func (b *bus) connNumber(partition uint16) uint16 {
	if b.store.servers.cluster == nil {
		return 0
	}
	return partition
}

func (b *bus) conn(partition uint16) *pubSubConn {
	partition = b.connNumber(partition)
	b.mu.Lock()
	defer b.mu.Unlock()
	ln := b.conns[partition]
	if ln == nil {
		ln = &pubSubConn{store: b.store, changed: make(wakeup, 1), channels: map[string]*channel{}}
		b.conns[partition] = ln
		b.store.start(ln.run)
	}
	return ln
}

// pubSubConn is one pub/sub connection after the other.
//
// Ownership: run is the only goroutine that makes, changes and ends connections;
// it waits for the one goroutine that reads from them. It ends with the Store.
type pubSubConn struct {
	store    *Store
	changed  wakeup // somebody came or left
	received atomic.Bool

	mu           sync.Mutex // guards the following
	channels     map[string]*channel
	nextListener int // listeners so far
}

// channel is one that somebody listens to, or did a moment ago.
type channel struct {
	listeners map[int]listener // the line's lock guards it
	requested bool             // the connection was told to subscribe; also guarded

	followers  atomic.Int32 // of the listeners
	subscribed atomic.Bool  // Redis counts us among those who listen
}

// onlyInbox says that Redis counts this process among those who listen, although
// nobody in it has any use for batches: it only waits for commands.
func (c *channel) onlyInbox() bool {
	return c != nil && c.subscribed.Load() && c.followers.Load() == 0
}

func (l *pubSubConn) add(name string, li listener) (stop func()) {
	followers := int32(0)
	if li.wantsBatches() {
		followers = 1
	}
	l.mu.Lock()
	l.nextListener++
	id := l.nextListener
	c := l.channels[name]
	if c == nil {
		c = &channel{listeners: map[int]listener{}}
		l.channels[name] = c
	}
	c.listeners[id] = li
	c.followers.Add(followers)
	l.mu.Unlock()
	l.changed.signal()
	return func() {
		l.mu.Lock()
		delete(c.listeners, id)
		c.followers.Add(-followers)
		l.mu.Unlock()
		l.changed.signal()
	}
}

// activeChannels returns the names of channels that somebody listens to.
func (l *pubSubConn) activeChannels() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for name, c := range l.channels {
		if len(c.listeners) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// clearSubscriptions is for after a connection: Redis does not count us any more.
func (l *pubSubConn) clearSubscriptions() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.channels {
		c.requested = false
		c.subscribed.Store(false)
	}
}

// run keeps a connection as long as there are listeners. It makes every new one
// itself: a go-redis subscription would mend itself without telling, and in a
// Cluster it might ask the wrong server for ever.
func (l *pubSubConn) run() {
	ctx := l.store.runCtx
	failures := 0
	for ctx.Err() == nil {
		wanted := l.activeChannels()
		if len(wanted) == 0 {
			select {
			case <-l.changed:
			case <-ctx.Done():
			}
			continue
		}
		if l.serve(ctx, wanted[0]) {
			failures = 0
		}
		failures++
		l.store.servers.reloadTopology(ctx)
		l.store.pause(ctx, min(minBackoff<<min(failures, 10), time.Second))
	}
}

// serve subscribes at the server that has one of the channels and stays until the
// connection is lost. It reports whether anything was heard on it.
func (l *pubSubConn) serve(ctx context.Context, name string) (worked bool) {
	server, err := l.store.servers.forKey(ctx, name)
	if err != nil {
		return false
	}
	sub := l.store.servers.subscription(ctx)
	l.received.Store(false)
	var reader sync.WaitGroup
	defer func() {
		_ = sub.Close() // which makes the reader end; it fails only if closed
		reader.Wait()
		l.clearSubscriptions()
		worked = l.received.Load()
	}()
	// Channels come before the reader: a go-redis subscription without any
	// would connect anywhere.
	if !l.syncSubscriptions(ctx, sub) {
		return false
	}
	lost := make(chan struct{})
	reader.Go(func() {
		defer close(lost)
		l.read(ctx, sub)
	})
	check := time.NewTicker(l.store.cfg.CheckEvery)
	defer check.Stop()
	silent := false
	for {
		select {
		case <-l.changed:
			if !l.syncSubscriptions(ctx, sub) {
				return
			}
		case <-check.C:
			// Publishers ask the master who listens, so that is where to listen.
			if now, err := l.store.servers.forKey(ctx, name); err != nil || now != server {
				return
			}
			if !l.received.Swap(false) {
				if silent {
					return // not even the ping was answered
				}
				silent = true
				if sub.Ping(ctx) != nil {
					return
				}
				continue
			}
			silent = false
		case <-lost:
			return
		case <-ctx.Done():
			return
		}
	}
}

// syncSubscriptions subscribes to what somebody listens to and to nothing else.
func (l *pubSubConn) syncSubscriptions(ctx context.Context, sub *redis.PubSub) bool {
	var come, gone []string
	l.mu.Lock()
	for name, c := range l.channels {
		switch {
		case len(c.listeners) == 0:
			if c.requested {
				gone = append(gone, name)
			}
			c.subscribed.Store(false)
			delete(l.channels, name)
		case !c.requested:
			come = append(come, name)
			c.requested = true
		}
	}
	l.mu.Unlock()
	if len(gone) > 0 && sub.SUnsubscribe(ctx, gone...) != nil {
		return false
	}
	return len(come) == 0 || sub.SSubscribe(ctx, come...) == nil
}

// read passes messages on until the connection is lost or answers with an
// error, such as that another server has the channel now.
func (l *pubSubConn) read(ctx context.Context, sub *redis.PubSub) {
	for {
		v, err := sub.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.store.log.DebugContext(ctx, "pub/sub connection is lost", "err", err)
			}
			return
		}
		l.received.Store(true)
		switch v := v.(type) {
		case *redis.Message:
			l.eachListener(v.Channel, func(li listener) { li.onMessage(v.Payload) })
		case *redis.Subscription:
			if v.Kind == "ssubscribe" {
				l.markSubscribed(v.Channel)
				l.eachListener(v.Channel, listener.onConnect)
				continue
			}
			lost := false
			l.eachListener(v.Channel, func(listener) { lost = true })
			if lost {
				return // the channel has moved to another server
			}
		}
	}
}

// markSubscribed notes that Redis counts us among those who listen to a channel.
func (l *pubSubConn) markSubscribed(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.channels[name]; c != nil {
		c.subscribed.Store(true)
	}
}

func (l *pubSubConn) eachListener(name string, fn func(listener)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.channels[name]; c != nil {
		for _, li := range c.listeners {
			fn(li)
		}
	}
}
