package agentpool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// turn sends the prompt and handles events until the turn ends. An error means that the turn
// did not begin, or that the backend does not end it.
func (l *activeRun) turn() (Ended, error) {
	session := l.providerSession.session
	m := providers.Message{ID: string(l.Turn), Text: l.Prompt, Images: l.Images, Mode: providers.Start}
	if l.Continue {
		m = providers.Message{ID: string(l.Turn), Mode: providers.Continue, Done: l.Done}
	}
	sent := l.attempt(func() error { return session.Send(l.workCtx, m) })
	stop := l.workCtx.Done()
	var steering, stopping <-chan error
	var late <-chan time.Time
	var now *steer // the message being sent
	begun := false
	for {
		if sent == nil && steering == nil && stop != nil {
			if now = l.nextSteer(); now != nil {
				steering = l.attempt(func() error { return session.Send(l.workCtx, now.message()) })
			}
		}
		select {
		case e := <-l.eventSource():
			if begun = begun || e.Kind == providers.EventTurnStart; !begun && e.Kind == providers.EventExit {
				return Ended{}, fmt.Errorf("begin the turn: the backend has ended: %w", providers.ErrClosed)
			}
			if end := l.handle(e); end != nil {
				return *end, nil
			}
		case <-l.output.due:
			l.flush()
		case done := <-l.flushes:
			l.flush()
			close(done)
		case err := <-sent:
			if sent = nil; err != nil {
				return Ended{}, fmt.Errorf("begin the turn: %w", err)
			}
		case <-l.wake:
		case err := <-steering:
			if steering = nil; err != nil {
				l.log.DebugContext(l.ctx, "message was not steered", "message", now.Message, "error", err)
				l.answerSteer(now, false)
			}
		case <-stop:
			if l.ctx.Err() != nil { // the session is lost: do not wait for the backend
				return Ended{}, context.Cause(l.ctx)
			}
			stop, late = nil, time.After(backendTimeout)
			stopping = l.attempt(func() error {
				// l.workCtx has ended.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(l.workCtx), backendTimeout)
				defer cancel()
				return session.Interrupt(ctx)
			})
		case err := <-stopping:
			// Interrupt returns after the end was handled, so there was no turn to end.
			return Ended{}, fmt.Errorf("interrupt the turn: %w", errors.Join(err, context.Cause(l.workCtx)))
		case <-late:
			l.log.WarnContext(l.ctx, "backend does not end its turn, closing the provider session", "provider", l.Provider)
			return Ended{}, context.Cause(l.workCtx)
		}
	}
}

// attempt calls into the backend in the background; the end of the run waits for the call.
func (l *activeRun) attempt(call func() error) <-chan error {
	l.enter()
	return attempt(func() error {
		defer l.exit()
		return call()
	})
}

// eventSource returns the channel of events, or nil while the output buffer is full: then the
// backend blocks until the text is reported.
func (l *activeRun) eventSource() <-chan providers.Event {
	if l.output.full() {
		return nil
	}
	return l.events
}

// deliver passes an event to the run's goroutine, unless the provider session is over, without
// which the run may have continued. The backend calls it.
func (l *activeRun) deliver(e providers.Event, over <-chan struct{}) {
	select {
	case <-over:
		return
	default:
	}
	select {
	case l.events <- e:
	case <-over:
	case <-l.over:
	}
}

// handle reports an event and returns the end of the run if the event ends it.
func (l *activeRun) handle(e providers.Event) *Ended {
	of := RunRef{l.ID}
	switch e.Kind {
	case providers.EventText:
		l.bufferOutput(e.Text, "")
	case providers.EventThinking:
		l.bufferOutput("", e.Text)
	case providers.EventTaken:
		if s := l.sentSteer(e.Message); s != nil {
			l.flush()
			l.answerSteer(s, true)
		}
	case providers.EventEntries:
		l.flush()
		l.report(NewEntries{of, e.Thread, e.Entries, l.sentSteers(e.Took)})
	case providers.EventUsage:
		l.flush()
		if o := l.runner.parent.cfg.Observer; o != nil {
			o.Spent(e.Usage.Input, e.Usage.Output, e.Usage.CacheRead, e.Usage.CacheWrite, e.Usage.USD)
		}
		l.report(ModelUsage{of, e.Usage})
	case providers.EventTruncated:
		l.flush()
		l.report(InputTruncated{of, e.Truncation})
	case providers.EventRetry:
		l.flush()
		l.report(Retrying{of, failureText(e), e.Wait})
	case providers.EventApproval:
		l.flush()
		l.askApproval(e)
	case providers.EventApprovalGone:
		l.cancelApproval(e.Approval)
	case providers.EventTurnEnd:
		l.flush()
		return new(l.endFromEvent(e))
	case providers.EventExit:
		l.flush()
		return new(l.endAfter(errors.New("the backend ended in the middle of the turn")))
	case providers.EventTurnStart:
	}
	return nil
}

// failureText returns the reason of a failure.
func failureText(e providers.Event) string {
	if e.Text == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Text
}

// endFromEvent returns the end of the run for a TurnEnd event.
func (l *activeRun) endFromEvent(e providers.Event) Ended {
	s, wasStopped := errors.AsType[*stopped](context.Cause(l.workCtx))
	switch {
	case wasStopped && (e.Outcome != providers.Completed || s.end.Outcome == providers.Failed):
		return s.end
	case e.Outcome == providers.Completed:
		return Ended{Outcome: providers.Completed}
	case e.Outcome == providers.Interrupted:
		reason := failureText(e)
		if reason == "" {
			reason = "the backend interrupted the turn"
		}
		return Ended{Outcome: providers.Interrupted, Reason: reason}
	case e.Err == nil:
		return l.failedEnd(errors.New("the backend does not say why"))
	default:
		return l.failedEnd(e.Err)
	}
}
