package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Pending is a message on its way.
type Pending struct {
	id    wire.MessageID
	frame []byte
	data  wire.ClientPayload
	// keep says that the message is done when it is answered, and not when it
	// is written.
	keep bool
	// written is the number of the connection it was written to last.
	written uint64

	done   chan struct{}
	answer Answer
	err    error
}

// ID is the message's idempotency key.
func (p *Pending) ID() wire.MessageID { return p.id }

// Wait waits for the answer, as [Client.Send] does. The message stays on its way
// when ctx ends first.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	select {
	case <-p.done:
		return p.answer, p.err
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
}

// outbox holds the messages that are not done, in the order in which they were
// sent.
type outbox struct {
	slots chan struct{} // one is taken per message
	wake  chan struct{} // there may be something to write

	mu    sync.Mutex
	queue []*Pending
	err   error // why nothing is taken any more
}

func (o *outbox) init(size int) {
	o.slots = make(chan struct{}, size)
	o.wake = make(chan struct{}, 1)
}

// add takes a message. It waits while there are too many.
func (o *outbox) add(ctx context.Context, p *Pending) error {
	select {
	case o.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.done = make(chan struct{})
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		<-o.slots
		return o.err
	}
	if p.id != "" && slices.ContainsFunc(o.queue, func(q *Pending) bool { return q.id == p.id }) {
		<-o.slots
		return fmt.Errorf("message %q is on its way already", p.id)
	}
	o.queue = append(o.queue, p)
	o.signal()
	return nil
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // it is awake already
	}
}

// next is the first message that was not written to the connection yet, or nil.
func (o *outbox) next(conn uint64) *Pending {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		if p.written < conn {
			p.written = conn
			return p
		}
	}
	return nil
}

// finish ends a message, unless it has ended before.
func (o *outbox) finish(p *Pending, a Answer, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.finishLocked(p, a, err)
}

func (o *outbox) finishLocked(p *Pending, a Answer, err error) {
	i := slices.Index(o.queue, p)
	if i < 0 {
		return
	}
	o.queue = slices.Delete(o.queue, i, i+1)
	p.answer, p.err = a, err
	close(p.done)
	<-o.slots
}

// unwritten says that the write to the connection failed, so that a message that
// needs no answer is written again.
func (o *outbox) unwritten(p *Pending) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p.written = 0
}

// resolve ends the messages that an event answers.
func (o *outbox) resolve(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 || e.Data == nil {
		return
	}
	id := wire.MessageOf(e.Data)
	for _, p := range slices.Clone(o.queue) {
		if p.written == 0 {
			continue // an id of somebody else
		}
		if a, ok := answerTo(p, id, e); ok {
			o.finishLocked(p, a, refusal(e.Data))
		}
	}
}

// refuse ends the message that made the hub close the connection as code says,
// where posted is the size of the largest frame that was written and is done.
// The hub does not say which one it was, but the largest is always one of those
// that were too large, and if it was another the next connection tells.
func (o *outbox) refuse(conn uint64, posted int, reason *Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var culprit *Pending
	for _, p := range o.queue {
		switch {
		case p.written != conn:
		case reason.Code == wire.CloseTooBig:
			if len(p.frame) > posted && (culprit == nil || len(p.frame) > len(culprit.frame)) {
				culprit = p
			}
		case culprit == nil && !utf8.Valid(p.frame):
			culprit = p
		}
	}
	if culprit != nil {
		o.finishLocked(culprit, Answer{}, reason)
	}
}

// close ends everything.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
	for _, p := range slices.Clone(o.queue) {
		o.finishLocked(p, Answer{}, err)
	}
}
