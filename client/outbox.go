package client

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/everdesk/everdesk/wire"
)

// Pending is a message on its way.
type Pending struct {
	id    wire.MessageID
	frame []byte
	data  wire.ClientPayload
	// awaitsAnswer says that the message is done when it is answered, and not when it
	// is written.
	awaitsAnswer bool
	// written is the number of the connection it was written to last.
	written uint64
	// resend says that it has to be written once more all the same: its answer
	// may have been passed over, or asked to wait.
	resend bool
	waits  int // answers that asked to wait

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
	pace  pace
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

// next is the first message that is to be written to the connection, or nil and
// how long until there may be one; 0 means until the next wake.
func (o *outbox) next(conn uint64) (*Pending, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		if p.written == conn && !p.resend {
			continue
		}
		now := time.Now()
		if wait := o.pace.wait(now); wait > 0 {
			return nil, wait
		}
		o.pace.last = now
		p.written, p.resend = conn, false
		return p, 0
	}
	return nil, 0
}

// resendUnanswered has all messages that wait for an answer written again: answers may
// have been among what a snapshot stands for. The hub knows them by their ids
// and answers once more.
func (o *outbox) resendUnanswered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		p.resend = p.resend || p.awaitsAnswer
	}
	o.signal()
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

// resolve ends the messages that an event answers, or has them sent again later
// when that is what the answer says.
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
		a, ok := answerTo(p, id, e)
		if !ok {
			continue
		}
		if n, ok := e.Data.(wire.ErrorNotice); ok && isRetryable(n) && p.waits < maxWaits {
			p.waits++
			p.resend = true
			o.pace.slowDown(n, p.waits, time.Now())
			o.signal()
			continue
		}
		o.pace.speedUp()
		o.finishLocked(p, a, refusal(e.Data))
	}
}

// failCulprit ends the message that made the hub close the connection as code says,
// where posted is the size of the largest frame that was written and is done.
// The hub does not say which one it was, but the largest is always one of those
// that were too large, and if it was another the next connection tells.
func (o *outbox) failCulprit(conn uint64, posted int, reason *Error) {
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
