package admin

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Actions executes and audits admin actions: each is recorded before it is executed, and executed once
// per id, through whichever replica the request comes. Without a membership or an audit log it executes
// them only.
type Actions struct {
	log     *slog.Logger
	audit   *audit.Log // nil without an admin API
	members Membership // nil without an admin API
	running runningActions
	// openings are the views of admins that were recorded.
	openings openings
}

// NewActions returns an Actions without any action in execution.
func NewActions(log *slog.Logger, records *audit.Log, members Membership) *Actions {
	ctx, cancel := context.WithCancel(context.Background())
	return &Actions{
		log: log, audit: records, members: members,
		running:  runningActions{running: map[adminActionKey]*runningAction{}, ctx: ctx, cancel: cancel},
		openings: openings{now: time.Now, open: map[opening]*openView{}},
	}
}

// audited reports whether actions are recorded.
func (a *Actions) audited() bool { return a.members != nil && a.audit != nil }

// Wait waits until no action runs, for a moment at most, and then cancels those that do. No action may
// be started afterwards.
func (a *Actions) Wait(ctx context.Context) { a.running.wait(ctx) }

const (
	// maxAdminActions bounds the actions that run on this replica at once.
	maxAdminActions = 256
	// adminActionTimeout bounds the execution of an action with the recording of its outcome.
	adminActionTimeout = 10 * time.Minute
	// adminActionGrace is how long running actions may take to end when the hub stops.
	adminActionGrace = 2 * time.Second
	// auditTimeout bounds one attempt to record the outcome of an action.
	auditTimeout = 2 * time.Second
)

// The bounds of the backoff between attempts while the store is unavailable or a session does not
// answer.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// runningActions are the admin actions that run on this replica. A command that was sent cannot be
// taken back, so an action goes on after its client has disconnected, until its outcome is known
// and recorded.
type runningActions struct {
	mu      sync.Mutex // guards the following
	running map[adminActionKey]*runningAction
	idle    chan struct{} // closed when no action runs; nil unless runningActions.wait is running

	// ctx ends when the hub stops, and with it the actions that still run.
	ctx    context.Context //nolint:containedctx // has the lifetime of the server
	cancel context.CancelFunc
}

// adminActionKey identifies an action. The audit log refuses an id that is used for two of them.
type adminActionKey struct{ id, who, action, target, reason string }

// runningAction is an action in execution.
type runningAction struct {
	ended chan struct{} // closed when record and err are final

	mu     sync.Mutex // guards the following
	record audit.Record
	err    error
}

// start returns the running action with the key k, or starts it. It returns nil if too many run.
func (r *runningActions) start(ctx context.Context, k adminActionKey, do func(context.Context, *runningAction)) *runningAction {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ra := r.running[k]; ra != nil {
		return ra
	}
	if len(r.running) >= maxAdminActions {
		return nil
	}
	ra := &runningAction{ended: make(chan struct{})}
	r.running[k] = ra
	go func() { // ends after adminActionTimeout, or with the server
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminActionTimeout)
		defer cancel()
		defer context.AfterFunc(r.ctx, cancel)()
		defer r.finish(k)
		defer close(ra.ended)
		defer func() {
			if p := recover(); p != nil {
				ra.finish(&problem.PanicError{Value: p, Stack: debug.Stack()})
			}
		}()
		do(ctx, ra)
	}()
	return ra
}

func (r *runningActions) finish(k adminActionKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.running, k); len(r.running) == 0 && r.idle != nil {
		close(r.idle)
		r.idle = nil
	}
}

// wait waits until no action runs, for at most adminActionGrace, and then cancels those that do. No
// action may be started afterwards. A cancelled action stays recorded as begun, and is resumed by
// the next request with its key.
func (r *runningActions) wait(ctx context.Context) {
	r.mu.Lock()
	if len(r.running) == 0 {
		r.mu.Unlock()
		r.cancel()
		return
	}
	if r.idle == nil {
		r.idle = make(chan struct{})
	}
	idle := r.idle
	r.mu.Unlock()
	select {
	case <-idle:
	case <-time.After(adminActionGrace):
	case <-ctx.Done():
	}
	r.cancel()
	<-idle // within auditTimeout: only recordOutcome ignores the cancellation
}

// setRecord sets the record that wait returns, also to callers that stop waiting.
func (ra *runningAction) setRecord(known audit.Record) {
	ra.mu.Lock()
	defer ra.mu.Unlock()
	ra.record = known
}

func (ra *runningAction) finish(err error) {
	ra.mu.Lock()
	defer ra.mu.Unlock()
	ra.err = err
}

// wait returns the record of an action's outcome, or, when ctx ends first, the one that says that
// it began.
func (ra *runningAction) wait(ctx context.Context) (audit.Record, error) {
	select {
	case <-ra.ended:
	case <-ctx.Done():
	}
	ra.mu.Lock()
	defer ra.mu.Unlock()
	if ra.err == nil && ra.record.ID == "" {
		return audit.Record{}, ctx.Err() // not recorded yet
	}
	return ra.record, ra.err
}

// runAction executes an action unless it is done already, and records it.
func (a *Actions) runAction(ctx context.Context, ra *runningAction, action Action, r audit.Record) error {
	known, done, err := a.audit.Find(ctx, r)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return keyReusedProblem(err)
	}
	if done {
		ra.setRecord(known)
		return nil
	}
	switch why := action.check(ctx); {
	case action.DoneIfGone && isSessionNotFound(why):
		// The session is gone: the action is done if it was recorded, perhaps just now by a
		// concurrent request with the same key.
		if known, done, err = a.audit.Find(ctx, r); errors.Is(err, store.ErrNotFound) {
			return why
		} else if err != nil {
			return keyReusedProblem(err)
		}
		ra.setRecord(known)
		if done {
			return nil
		}
	case why != nil:
		return why
	default:
		if known, done, err = a.audit.Begin(ctx, r); err != nil {
			return keyReusedProblem(err)
		}
		ra.setRecord(known)
		if done {
			return nil
		}
	}
	o, failure := a.executeAction(ctx, action, r.ID)
	if o.Result == "" {
		return failure
	}
	o.Replica = r.Replica
	for again := (backoff{}); ; {
		known, err := a.recordOutcome(ctx, r.ID, o)
		switch {
		case err == nil && known.Result == audit.Done: // perhaps by another request
			ra.setRecord(known)
			return nil
		case err == nil:
			return failure
		}
		a.log.WarnContext(ctx, "recording admin action outcome failed", "id", r.ID, "action", r.Action, "result", string(o.Result), "err", err)
		if !again.wait(ctx) {
			return err
		}
	}
}

// recordOutcome records the outcome of an action, also while the hub stops.
func (a *Actions) recordOutcome(ctx context.Context, id string, o audit.Outcome) (audit.Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	return a.audit.End(ctx, id, o)
}

// executeAction executes an action until its outcome is known. The result is empty if ctx ended
// before.
func (a *Actions) executeAction(ctx context.Context, action Action, id string) (audit.Outcome, error) {
	again := backoff{}
	for tried := false; ; tried = true {
		detail, err := action.Execute(ctx, id)
		switch {
		case err == nil, action.DoneIfGone && isSessionNotFound(err):
			return audit.Outcome{Result: audit.Done, Detail: detail, Time: time.Now()}, nil
		case IsOutcomeUnknown(err):
			if !again.wait(ctx) {
				a.log.WarnContext(ctx, "admin action outcome unknown", "id", id, "action", action.Action, "target", action.Target, "err", err)
				return audit.Outcome{}, err
			}
		case tried && action.DoneIfGoneOnRetry && isNotFoundProblem(err):
			return audit.Outcome{Result: audit.Done, Detail: "it is gone", Time: time.Now()}, nil
		default:
			p := problem.Of(err)
			return audit.Outcome{Result: audit.Failed, Detail: p.Name + ": " + p.Detail, Time: time.Now()}, err
		}
	}
}

// IsOutcomeUnknown reports whether an error leaves open whether a command was or will be executed.
func IsOutcomeUnknown(err error) bool {
	for _, is := range []error{context.Canceled, context.DeadlineExceeded, store.ErrUnavailable, store.ErrClosed} {
		if errors.Is(err, is) {
			return true
		}
	}
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == wire.CodeStoreUnavailable
}

// backoff is an exponential backoff between attempts.
type backoff struct{ last time.Duration }

// wait waits for the next attempt and reports whether ctx has not ended.
func (b *backoff) wait(ctx context.Context) bool {
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	select {
	case <-time.After(b.last):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
