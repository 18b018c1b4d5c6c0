package gateway

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxAdminActions is how many actions are under way here at once.
	maxAdminActions = 256
	// adminActionTimeout is how long it is tried to do one and to write down how it ended.
	adminActionTimeout = 10 * time.Minute
	// adminActionGrace is how long those that are under way may take to end when the hub
	// stops and nobody waits for them any more.
	adminActionGrace = 2 * time.Second
	// auditTimeout is how long one try to write down how a action ended may take.
	auditTimeout = 2 * time.Second
)

// When the store is away or a session does not answer it is tried again, after a wait
// that grows.
const (
	retryFirst = 50 * time.Millisecond
	retryLast  = 2 * time.Second
)

// adminActions are what admins have under way here. An order that was given cannot be taken
// back, so a action goes on when who asked for it has left: until it is known how it ended
// and that is written down.
type adminActions struct {
	mu      sync.Mutex // guards the following
	running map[adminActionKey]*runningAction
	idle    chan struct{} // closed when none is running; nil unless somebody waits

	// over ends those that are still running when the hub has to go.
	over context.Context //nolint:containedctx // it lasts as long as the server
	end  context.CancelFunc
}

// adminActionKey tells actions apart. An id that stands for two of them is refused by the audit.
type adminActionKey struct{ id, who, action, target, reason string }

// runningAction is a action that is being done.
type runningAction struct {
	ended chan struct{} // closed when known and err say how

	mu    sync.Mutex // guards the following
	known audit.Record
	err   error
}

func (d *adminActions) init() {
	d.running = map[adminActionKey]*runningAction{}
	d.over, d.end = context.WithCancel(context.Background())
}

// start finds a action that is under way, or begins it. It is nil when there are too many.
func (d *adminActions) start(ctx context.Context, k adminActionKey, do func(context.Context, *runningAction)) *runningAction {
	d.mu.Lock()
	defer d.mu.Unlock()
	if u := d.running[k]; u != nil {
		return u
	}
	if len(d.running) >= maxAdminActions {
		return nil
	}
	u := &runningAction{ended: make(chan struct{})}
	d.running[k] = u
	go func() { // ends after adminActionTimeout, or with the server
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminActionTimeout)
		defer cancel()
		defer context.AfterFunc(d.over, cancel)()
		defer d.finish(k)
		defer close(u.ended)
		defer func() {
			if p := recover(); p != nil {
				u.finish(&panicError{value: p, stack: debug.Stack()})
			}
		}()
		do(ctx, u)
	}()
	return u
}

func (d *adminActions) finish(k adminActionKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if delete(d.running, k); len(d.running) == 0 && d.idle != nil {
		close(d.idle)
		d.idle = nil
	}
}

// wait waits until nothing is under way, for a while; what is left then is cut. Nothing
// may be begun any more. What was cut is written down as begun, and goes on when it is
// asked for again.
func (d *adminActions) wait(ctx context.Context) {
	d.mu.Lock()
	if len(d.running) == 0 {
		d.mu.Unlock()
		d.end()
		return
	}
	if d.idle == nil {
		d.idle = make(chan struct{})
	}
	idle := d.idle
	d.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(adminActionGrace):
	case <-ctx.Done():
	}
	d.end()
	<-idle // within auditTimeout: nothing else goes on without its context
}

// setRecord tells those who do not wait longer what is known.
func (u *runningAction) setRecord(known audit.Record) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.known = known
}

func (u *runningAction) finish(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.err = err
}

// wait returns the record of how a action ended, or when ctx ends before, the one that
// says that it began.
func (u *runningAction) wait(ctx context.Context) (audit.Record, error) {
	select {
	case <-u.ended:
	case <-ctx.Done():
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.err == nil && u.known.ID == "" {
		return audit.Record{}, ctx.Err() // it is not even written down
	}
	return u.known, u.err
}

// runAction does a action, unless it is done already, and has its record shown.
func (s *Server) runAction(ctx context.Context, u *runningAction, d adminAction, r audit.Record) error {
	known, done, err := s.audit.Find(ctx, r)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return reused(err)
	}
	if done {
		u.setRecord(known)
		return nil
	}
	switch why := d.check(ctx); {
	case d.final && isGone(why):
		// It is done if it was written down, perhaps only now by somebody who
		// sent the same.
		if known, done, err = s.audit.Find(ctx, r); errors.Is(err, store.ErrNotFound) {
			return why
		} else if err != nil {
			return reused(err)
		}
		u.setRecord(known)
		if done {
			return nil
		}
	case why != nil:
		return why
	default:
		if known, done, err = s.audit.Begin(ctx, r); err != nil {
			return reused(err)
		}
		u.setRecord(known)
		if done {
			return nil
		}
	}
	o, failure := s.outcome(ctx, d, r.ID)
	if o.Result == "" {
		return failure
	}
	o.Replica = r.Replica
	for again := (backoff{}); ; {
		known, err := s.ended(ctx, r.ID, o)
		switch {
		case err == nil && known.Result == audit.Done: // perhaps because of somebody else
			u.setRecord(known)
			return nil
		case err == nil:
			return failure
		}
		s.log.WarnContext(ctx, "cannot write down how an action ended", "id", r.ID, "action", r.Action, "result", string(o.Result), "err", err)
		if !again.wait(ctx) {
			return err
		}
	}
}

// ended writes down how a action ended, also when the hub has to go.
func (s *Server) ended(ctx context.Context, id string, o audit.Outcome) (audit.Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	return s.audit.End(ctx, id, o)
}

// outcome does a action until it is known whether it is done; the result is empty when
// time was up before.
func (s *Server) outcome(ctx context.Context, d adminAction, id string) (audit.Outcome, error) {
	again := backoff{}
	for tried := false; ; tried = true {
		detail, err := d.do(ctx, id)
		switch {
		case err == nil, d.final && isGone(err):
			return audit.Outcome{Result: audit.Done, Detail: detail, Time: time.Now()}, nil
		case isUnclear(err):
			if !again.wait(ctx) {
				s.log.WarnContext(ctx, "admin action outcome unknown", "id", id, "action", d.action, "target", d.target, "err", err)
				return audit.Outcome{}, err
			}
		case tried && d.fleeting && isMissing(err):
			return audit.Outcome{Result: audit.Done, Detail: "it is gone", Time: time.Now()}, nil
		default:
			p := problemOf(err, &http.Request{})
			return audit.Outcome{Result: audit.Failed, Detail: p.Name + ": " + p.Detail, Time: time.Now()}, err
		}
	}
}

// isUnclear reports whether an error leaves open whether something was or will be done.
func isUnclear(err error) bool {
	for _, is := range []error{context.Canceled, context.DeadlineExceeded, store.ErrUnavailable, store.ErrClosed} {
		if errors.Is(err, is) {
			return true
		}
	}
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == wire.CodeStoreUnavailable
}

// backoff is how long to wait before the next try.
type backoff struct{ last time.Duration }

// wait waits and reports whether ctx still lasts.
func (b *backoff) wait(ctx context.Context) bool {
	b.last = min(max(2*b.last, retryFirst), retryLast)
	select {
	case <-time.After(b.last):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
