package agentpool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// executeTurn sends the prompt and handles events until the turn ends. An error means that the turn
// did not begin, or that the backend does not end it.
func (ar *activeRun) executeTurn() (Ended, error) {
	session := ar.providerSession.session
	m := providers.Message{ID: string(ar.Turn), Text: ar.Prompt, Images: ar.Images, Mode: providers.Start}
	if ar.Continue {
		m = providers.Message{ID: string(ar.Turn), Mode: providers.Continue, Done: ar.Done}
	}
	sent := ar.callBackend(func() error { return session.Send(ar.workCtx, m) })
	stop := ar.workCtx.Done()
	var steering, stopping <-chan error
	var interruptTimeout <-chan time.Time
	var sending *steer // the message that joins the turn and is being sent
	begun := false
	for {
		if sent == nil && steering == nil && stop != nil {
			if sending = ar.nextSteer(); sending != nil {
				steering = ar.callBackend(func() error { return session.Send(ar.workCtx, sending.message()) })
			}
		}
		select {
		case e := <-ar.eventSource():
			if begun = begun || e.Kind == providers.EventTurnStart; !begun && e.Kind == providers.EventExit {
				return Ended{}, fmt.Errorf("begin the turn: the backend has ended: %w", providers.ErrClosed)
			}
			if end := ar.handleEvent(e); end != nil {
				return *end, nil
			}
		case <-ar.output.due:
			ar.flush()
		case done := <-ar.flushes:
			ar.flush()
			close(done)
		case err := <-sent:
			if sent = nil; err != nil {
				return Ended{}, fmt.Errorf("begin the turn: %w", err)
			}
		case <-ar.wake:
		case err := <-steering:
			if steering = nil; err != nil {
				ar.log.DebugContext(ar.ctx, "message was not steered", "message", sending.Message, "error", err)
				ar.answerSteer(sending, false)
			}
		case <-stop:
			if ar.ctx.Err() != nil { // the session is lost: do not wait for the backend
				return Ended{}, context.Cause(ar.ctx)
			}
			stop, interruptTimeout = nil, time.After(backendTimeout)
			stopping = ar.callBackend(func() error {
				// workCtx has ended, but the backend still needs time for this call.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ar.workCtx), backendTimeout)
				defer cancel()
				return session.Interrupt(ctx)
			})
		case err := <-stopping:
			// Interrupt returns after the end was handled, so there was no turn to end.
			return Ended{}, fmt.Errorf("interrupt the turn: %w", errors.Join(err, context.Cause(ar.workCtx)))
		case <-interruptTimeout:
			ar.log.WarnContext(ar.ctx, "backend does not end its turn, closing the provider session", "provider", ar.Provider)
			return Ended{}, context.Cause(ar.workCtx)
		}
	}
}

// callBackend starts a call into the backend and returns the channel of its error. The run does not end
// before the call does.
func (ar *activeRun) callBackend(call func() error) <-chan error {
	ar.enter()
	return attempt(func() error {
		defer ar.exit()
		return call()
	})
}

// eventSource returns the channel of events, or nil while the output buffer is full: then the
// backend blocks until the text is reported.
func (ar *activeRun) eventSource() <-chan providers.Event {
	if ar.output.full() {
		return nil
	}
	return ar.events
}

// deliver passes an event of a provider session to the run's goroutine. The backend calls it; it blocks until the
// run takes the event. The event is dropped if the run is over, or if sessionOver is closed: the provider session
// has ended then, and the run may go on with another one.
func (ar *activeRun) deliver(e providers.Event, sessionOver <-chan struct{}) {
	select {
	case <-sessionOver:
		return
	default:
	}
	select {
	case ar.events <- e:
	case <-sessionOver:
	case <-ar.over:
	}
}

// handleEvent reports an event and returns the end of the run if the event ends it.
func (ar *activeRun) handleEvent(e providers.Event) *Ended {
	of := RunRef{ar.ID}
	switch e.Kind {
	case providers.EventText:
		ar.bufferOutput(e.Text, "")
	case providers.EventThinking:
		ar.bufferOutput("", e.Text)
	case providers.EventTaken:
		if s := ar.sentSteer(e.Message); s != nil {
			ar.flush()
			ar.answerSteer(s, true)
		}
	case providers.EventEntries:
		ar.flush()
		ar.report(NewEntries{of, e.Thread, e.Entries, ar.sentSteers(e.EntryMessages)})
		if ar.dir.Files {
			ar.runner.files.publishSoon()
		}
	case providers.EventUsage:
		ar.flush()
		if o := ar.runner.parent.cfg.Observer; o != nil {
			o.Spent(e.Usage.Input, e.Usage.Output, e.Usage.CacheRead, e.Usage.CacheWrite, e.Usage.USD)
		}
		ar.report(ModelUsage{of, e.Usage})
	case providers.EventTruncated:
		ar.flush()
		ar.report(InputTruncated{of, e.Truncation})
	case providers.EventRetry:
		ar.flush()
		ar.report(Retrying{of, failureText(e), e.Wait})
	case providers.EventApproval:
		ar.flush()
		ar.askApproval(e)
	case providers.EventApprovalGone:
		ar.cancelApproval(e.Approval)
	case providers.EventTurnEnd:
		ar.flush()
		return new(ar.endFromEvent(e))
	case providers.EventExit:
		ar.flush()
		return new(ar.endAfter(errors.New("the backend ended in the middle of the turn")))
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
func (ar *activeRun) endFromEvent(e providers.Event) Ended {
	s, wasStopped := errors.AsType[*stopped](context.Cause(ar.workCtx))
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
		return ar.failedEnd(errors.New("the backend reported a failure without a reason"))
	default:
		return ar.failedEnd(e.Err)
	}
}
