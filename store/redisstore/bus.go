package redisstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// bus delivers the messages that Redis publishes to the listeners in this process. Messages
// may be lost, so a listener that needs all of them also polls.
//
// Sharded channels are published on the server that holds their slot, and a go-redis
// subscription uses one server, so in a Cluster there is one pubSubConn per partition;
// otherwise there is one.
type bus struct {
	*caller

	mu    sync.Mutex // guards the fields below
	conns map[uint16]*pubSubConn
}

// listener receives the messages of a channel. Its methods must not block.
type listener interface {
	// onMessage is called with each message.
	onMessage(message string)
	// onConnect is called after a new subscription, when earlier messages may have been
	// lost.
	onConnect()
}

func newBus(c *caller) *bus { return &bus{caller: c, conns: map[uint16]*pubSubConn{}} }

// listen registers l for a channel and returns the function that unregisters it.
func (b *bus) listen(partition uint16, channel string, l listener) (stop func()) {
	return b.conn(partition).add(channel, l)
}

// connNumber returns the number of the connection that serves a partition.
func (b *bus) connNumber(partition uint16) uint16 {
	if b.servers.cluster == nil {
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
		ln = &pubSubConn{caller: b.caller, changed: make(wakeup, 1), channels: map[string]*channel{}, ending: map[string]int{}}
		b.conns[partition] = ln
		b.start(ln.run)
	}
	return ln
}

// pubSubConn maintains one pub/sub connection and reconnects it. The goroutine run alone
// opens, changes and closes connections; it waits for the one goroutine that reads from
// them. It stops when the Store is closed.
type pubSubConn struct {
	*caller
	changed  wakeup // listeners were added or removed
	received atomic.Bool

	mu           sync.Mutex // guards the fields below
	channels     map[string]*channel
	nextListener int // id of the newest listener
	// ending counts the ends of subscriptions that were requested and that Redis has not confirmed.
	ending map[string]int
}

// channel is a channel that has listeners, or had until the next syncSubscriptions. The
// connection's mu guards it.
type channel struct {
	listeners map[int]listener
	requested bool // a subscription was requested
}

func (l *pubSubConn) add(name string, li listener) (stop func()) {
	l.mu.Lock()
	l.nextListener++
	id := l.nextListener
	c := l.channels[name]
	if c == nil {
		c = &channel{listeners: map[int]listener{}}
		l.channels[name] = c
	}
	c.listeners[id] = li
	l.mu.Unlock()
	l.changed.signal()
	return func() {
		l.mu.Lock()
		delete(c.listeners, id)
		l.mu.Unlock()
		l.changed.signal()
	}
}

// activeChannels returns the names of the channels with listeners.
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

// clearSubscriptions marks all channels as unsubscribed after a connection was closed.
func (l *pubSubConn) clearSubscriptions() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.channels {
		c.requested = false
	}
	clear(l.ending)
}

// run keeps a connection while there are listeners. It opens every connection itself: a
// go-redis subscription would reconnect without notice, and in a Cluster it might keep
// using the wrong server.
func (l *pubSubConn) run() {
	ctx := l.runCtx
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
		if l.subscribeAndRead(ctx, wanted[0]) {
			failures = 0
		}
		failures++
		l.servers.reloadTopology(ctx)
		l.pause(ctx, min(minBackoff<<min(failures, 10), time.Second))
	}
}

// subscribeAndRead subscribes at the server that holds the channel name and returns when the
// connection is lost. It reports whether anything was received on it.
func (l *pubSubConn) subscribeAndRead(ctx context.Context, name string) (worked bool) {
	server, err := l.servers.forKey(ctx, name)
	if err != nil {
		return false
	}
	sub := l.servers.subscription(ctx)
	l.received.Store(false)
	var reader sync.WaitGroup
	defer func() {
		_ = sub.Close() // stops the reader; fails only if closed already
		reader.Wait()
		l.clearSubscriptions()
		worked = l.received.Load()
	}()
	// Subscribe before starting the reader: a go-redis subscription without channels
	// would connect to an arbitrary server.
	if !l.syncSubscriptions(ctx, sub) {
		return false
	}
	lost := make(chan struct{})
	reader.Go(func() {
		defer close(lost)
		l.read(ctx, sub)
	})
	check := time.NewTicker(l.cfg.CheckEvery)
	defer check.Stop()
	silent := false
	for {
		select {
		case <-l.changed:
			if !l.syncSubscriptions(ctx, sub) {
				return
			}
		case <-check.C:
			// Only subscribers of the present master count and get messages.
			if now, err := l.servers.forKey(ctx, name); err != nil || now != server {
				return
			}
			if !l.received.Swap(false) {
				if silent {
					return // no reply to the ping
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

// syncSubscriptions subscribes to the channels with listeners and unsubscribes from the
// others. It returns false if the connection failed.
func (l *pubSubConn) syncSubscriptions(ctx context.Context, sub *redis.PubSub) bool {
	var come, gone []string
	l.mu.Lock()
	for name, c := range l.channels {
		switch {
		case len(c.listeners) == 0:
			if c.requested {
				gone = append(gone, name)
				l.ending[name]++
			}
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

// read delivers messages until the connection is lost or returns an error, for instance
// because another server now holds the channel.
func (l *pubSubConn) read(ctx context.Context, sub *redis.PubSub) {
	for {
		v, err := sub.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.log.DebugContext(ctx, "pub/sub connection lost", "err", err)
			}
			return
		}
		l.received.Store(true)
		switch v := v.(type) {
		case *redis.Message:
			l.eachListener(v.Channel, func(li listener) { li.onMessage(v.Payload) })
		case *redis.Subscription:
			if v.Kind == "ssubscribe" {
				l.eachListener(v.Channel, listener.onConnect)
				continue
			}
			if !l.confirmEnd(v.Channel) {
				return // the channel has moved to another server
			}
		}
	}
}

// confirmEnd reports whether the end of a subscription, which Redis has confirmed, was requested. The channel may have
// listeners again by now: their subscription was requested after it.
func (l *pubSubConn) confirmEnd(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending[name] == 0 {
		return false
	}
	if l.ending[name]--; l.ending[name] == 0 {
		delete(l.ending, name)
	}
	return true
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
