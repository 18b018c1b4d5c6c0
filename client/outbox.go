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

// Pending is a message that was submitted.
type Pending struct {
	id    wire.MessageID
	frame []byte
	data  wire.ClientPayload
	// awaitsAnswer says that the message is done when it is answered, and not when it is written.
	awaitsAnswer bool
	// written is the number of the connection it was last written to.
	written uint64
	// resend says that it must be written again to the same connection: its answer may have been
	// skipped by a snapshot, or asked to wait.
	resend bool
	waits  int // answers that asked to wait

	done   chan struct{}
	answer Answer
	err    error
}

// ID returns the message's idempotency key.
func (p *Pending) ID() wire.MessageID { return p.id }

// Wait waits for the answer, as [Client.Send] does. The message stays in the outbox when ctx ends
// first.
func (p *Pending) Wait(ctx context.Context) (Answer, error) {
	select {
	case <-p.done:
		return p.answer, p.err
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
}

// outbox holds the messages that are not done, in the order in which they were submitted.
type outbox struct {
	slots chan struct{} // one is taken per message
	wake  chan struct{} // there may be something to write

	mu    sync.Mutex
	queue []*Pending
	pace  pace
	err   error // why no message is accepted any more
}

func (o *outbox) init(size int) {
	o.slots = make(chan struct{}, size)
	o.wake = make(chan struct{}, 1)
}

// add adds a message. It blocks while there are too many.
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
		return fmt.Errorf("message %q is already pending", p.id)
	}
	o.queue = append(o.queue, p)
	o.signal()
	return nil
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // the writer is already signalled
	}
}

// next returns the next message to write to the connection, or nil and the delay until there may be
// one; 0 means until the next wake.
func (o *outbox) next(conn uint64) (*Pending, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		if p.written == conn && !p.resend {
			continue
		}
		now := time.Now()
		if wait := o.pace.delay(now); wait > 0 {
			return nil, wait
		}
		o.pace.last = now
		p.written, p.resend = conn, false
		return p, 0
	}
	return nil, 0
}

// resendUnanswered marks all messages that wait for an answer to be written again: a snapshot may
// have skipped the answers. The hub recognises the ids and answers again.
func (o *outbox) resendUnanswered() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.queue {
		p.resend = p.resend || p.awaitsAnswer
	}
	o.signal()
}

// finish completes a message, unless it is already complete.
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

// resolve completes the messages that an event answers, or marks them to be sent again later if the
// answer asks for that.
func (o *outbox) resolve(e Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 || e.Data == nil {
		return
	}
	id := wire.MessageOf(e.Data)
	for _, p := range slices.Clone(o.queue) {
		if p.written == 0 {
			continue // not written yet: another client's message with the same id
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

// failCulprit fails the message that made the hub close the connection because of a frame's size or
// encoding. posted is the size of the largest frame that was written and is done. The hub does not
// name the message, but the largest frame is always one of those that were too large; if it was
// another, the next connection is closed again.
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

// close fails all messages.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
	for _, p := range slices.Clone(o.queue) {
		o.finishLocked(p, Answer{}, err)
	}
}
