package redisstore

import (
	"context"
	"maps"
	"slices"
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
	lines map[uint16]*line
}

// listener is told what happens on a channel. Its methods must not block.
type listener interface {
	// hear is called with each message.
	hear(message string)
	// connected is called when messages may have been lost before.
	connected()
}

func (b *bus) init(s *Store) {
	b.store = s
	b.lines = map[uint16]*line{}
}

// listen begins to tell l what happens on a channel, and returns what ends it.
func (b *bus) listen(partition uint16, channel string, l listener) (stop func()) {
	return b.line(partition).add(channel, l)
}

func (b *bus) line(partition uint16) *line {
	if b.store.servers.cluster == nil {
		partition = 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ln := b.lines[partition]
	if ln == nil {
		ln = &line{store: b.store, changed: make(knock, 1), listeners: map[string]map[int]listener{}}
		b.lines[partition] = ln
		b.store.start(ln.run)
	}
	return ln
}

// line is one pub/sub connection after the other.
//
// Ownership: run is the only goroutine that makes, changes and ends connections;
// it waits for the one goroutine that reads from them. It ends with the Store.
type line struct {
	store   *Store
	changed knock // somebody came or left
	heard   atomic.Bool

	mu        sync.Mutex // guards the following
	listeners map[string]map[int]listener
	named     int // listeners so far
}

func (l *line) add(channel string, li listener) (stop func()) {
	l.mu.Lock()
	l.named++
	id := l.named
	if l.listeners[channel] == nil {
		l.listeners[channel] = map[int]listener{}
	}
	l.listeners[channel][id] = li
	l.mu.Unlock()
	l.changed.now()
	return func() {
		l.mu.Lock()
		delete(l.listeners[channel], id)
		if len(l.listeners[channel]) == 0 {
			delete(l.listeners, channel)
		}
		l.mu.Unlock()
		l.changed.now()
	}
}

func (l *line) channels() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.listeners))
}

// run keeps a connection as long as there are listeners. It makes every new one
// itself: a go-redis subscription would mend itself without telling, and in a
// Cluster it might ask the wrong server for ever.
func (l *line) run() {
	ctx := l.store.life
	failures := 0
	for ctx.Err() == nil {
		channels := l.channels()
		if len(channels) == 0 {
			select {
			case <-l.changed:
			case <-ctx.Done():
			}
			continue
		}
		if l.serve(ctx, channels) {
			failures = 0
		}
		failures++
		l.store.servers.lookAround(ctx)
		l.store.pause(ctx, min(firstPause<<min(failures, 10), time.Second))
	}
}

// serve subscribes and stays until the connection is lost. It reports whether
// anything was heard on it.
func (l *line) serve(ctx context.Context, channels []string) (worked bool) {
	server, err := l.store.servers.of(ctx, channels[0])
	if err != nil {
		return false
	}
	sub := l.store.servers.subscription(ctx)
	l.heard.Store(false)
	asked := map[string]bool{}
	var reader sync.WaitGroup
	defer func() {
		_ = sub.Close() // which makes the reader end; it fails only if closed
		reader.Wait()
		worked = l.heard.Load()
	}()
	// Channels come before the reader: a go-redis subscription without any
	// would connect anywhere.
	if !l.adjust(ctx, sub, asked, channels) {
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
			if !l.adjust(ctx, sub, asked, l.channels()) {
				return
			}
		case <-check.C:
			// Publishers ask the master who listens, so that is where to listen.
			if now, err := l.store.servers.of(ctx, channels[0]); err != nil || now != server {
				return
			}
			if !l.heard.Swap(false) {
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

// adjust subscribes to what is wanted and from nothing else.
func (l *line) adjust(ctx context.Context, sub *redis.PubSub, asked map[string]bool, wanted []string) bool {
	var come, gone []string
	want := map[string]bool{}
	for _, c := range wanted {
		want[c] = true
		if !asked[c] {
			come = append(come, c)
			asked[c] = true
		}
	}
	for c := range asked {
		if !want[c] {
			gone = append(gone, c)
			delete(asked, c)
		}
	}
	if len(gone) > 0 && sub.SUnsubscribe(ctx, gone...) != nil {
		return false
	}
	return len(come) == 0 || sub.SSubscribe(ctx, come...) == nil
}

// read passes messages on until the connection is lost or answers with an
// error, such as that another server has the channel now.
func (l *line) read(ctx context.Context, sub *redis.PubSub) {
	for {
		v, err := sub.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil {
				l.store.log.DebugContext(ctx, "pub/sub connection is lost", "err", err)
			}
			return
		}
		l.heard.Store(true)
		switch v := v.(type) {
		case *redis.Message:
			l.each(v.Channel, func(li listener) { li.hear(v.Payload) })
		case *redis.Subscription:
			if v.Kind == "ssubscribe" {
				l.each(v.Channel, listener.connected)
				continue
			}
			lost := false
			l.each(v.Channel, func(listener) { lost = true })
			if lost {
				return // the channel has moved to another server
			}
		}
	}
}

func (l *line) each(channel string, fn func(listener)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, li := range l.listeners[channel] {
		fn(li)
	}
}
