package agent

import (
	"sync"

	"github.com/everdesk/everdesk/providers"
)

const (
	// MaxPending bounds the events of a session that wait to be delivered, in bytes. Above it the
	// output of the agent is not read.
	MaxPending = 4 << 20
	// maxPiece bounds a piece of text that is joined from several.
	maxPiece = 32 << 10
	// eventSize is what an event counts besides its texts.
	eventSize = 256
)

// outbox holds events until they are delivered, by one goroutine.
type outbox struct {
	deliver func(providers.Event)
	ended   chan struct{} // closed when the goroutine has ended

	mu     sync.Mutex
	change *sync.Cond
	items  []item
	size   int
	closed bool
}

// item is an event, or nothing but a signal.
type item struct {
	event     *providers.Event
	size      int
	delivered chan struct{} // unless nil, closed after the delivery
}

func newOutbox(deliver func(providers.Event)) *outbox {
	o := &outbox{deliver: deliver, ended: make(chan struct{})}
	o.change = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// wait blocks while too much waits to be delivered.
func (o *outbox) wait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.size > MaxPending && !o.closed {
		o.change.Wait()
	}
}

// push adds an event and does not block. It joins pieces of text. Delivered, unless nil, is closed
// after the delivery of everything up to here.
func (o *outbox) push(e *providers.Event, delivered chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.change.Broadcast()
	if n := len(o.items) - 1; e != nil && n >= 0 && delivered == nil && o.items[n].joins(e) {
		o.items[n].event.Text += e.Text
		o.items[n].size += len(e.Text)
		o.size += len(e.Text)
		return
	}
	i := item{event: e, size: sizeOf(e), delivered: delivered}
	o.items = append(o.items, i)
	o.size += i.size
}

// joins reports whether a piece of text can be added to the item.
func (i item) joins(e *providers.Event) bool {
	text := e.Kind == providers.EventText || e.Kind == providers.EventThinking
	return text && i.event != nil && i.delivered == nil && i.event.Kind == e.Kind && i.event.Message == e.Message && len(i.event.Text)+len(e.Text) <= maxPiece
}

func sizeOf(e *providers.Event) int {
	if e == nil {
		return 0
	}
	size := eventSize + len(e.Text) + len(e.Tool.Input)
	for _, n := range e.Entries {
		for _, b := range n.Blocks {
			size += len(b.Text) + len(b.Input)
		}
	}
	return size
}

// release makes wait return from now on.
func (o *outbox) release() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.change.Broadcast()
}

// close waits until everything is delivered. Nothing may be pushed afterwards.
func (o *outbox) close() {
	o.release()
	<-o.ended
}

// run delivers events until the outbox is closed and empty.
func (o *outbox) run() {
	defer close(o.ended)
	for {
		o.mu.Lock()
		for len(o.items) == 0 && !o.closed {
			o.change.Wait()
		}
		if len(o.items) == 0 {
			o.mu.Unlock()
			return
		}
		next := o.items[0]
		o.items = o.items[1:]
		o.mu.Unlock()
		if next.event != nil {
			o.deliver(*next.event)
		}
		if next.delivered != nil {
			close(next.delivered)
		}
		o.mu.Lock()
		o.size -= next.size
		o.change.Broadcast()
		o.mu.Unlock()
	}
}
