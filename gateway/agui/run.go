package agui

import (
	"context"
	"errors"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/gateway/stream"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

func (a *API) runSession(c echo.Context) error {
	return a.serve(c, access.Operator, a.sessionInPath, a.begin)
}

func (a *API) runThread(c echo.Context) error {
	return a.serve(c, access.Operator, a.sessionInBody, a.begin)
}

func (a *API) connectSession(c echo.Context) error {
	return a.serve(c, access.Viewer, a.sessionInPath, a.connect)
}

func (a *API) connectThread(c echo.Context) error {
	return a.serve(c, access.Viewer, a.sessionInBody, a.connect)
}

// finder finds the session of a request.
type finder func(c echo.Context, in *agui.Input, least access.Level) (session.Info, error)

func (a *API) sessionInPath(c echo.Context, _ *agui.Input, least access.Level) (session.Info, error) {
	return a.sessionOf(c, wire.SessionID(c.Param("session")), least)
}

func (a *API) sessionInBody(c echo.Context, in *agui.Input, least access.Level) (session.Info, error) {
	return a.sessionOfThread(c, in.ThreadID, least)
}

// beginner makes the run of a request in an open session.
type beginner func(ctx context.Context, c echo.Context, h *session.Handle, in *agui.Input) (*agui.Run, wire.Position, error)

// serve responds with a run.
func (a *API) serve(c echo.Context, least access.Level, find finder, begin beginner) error {
	in, err := readInput(c)
	if err != nil {
		return err
	}
	place, err := a.streams.Open(c) // first: a message whose stream is refused must not be sent
	if err != nil {
		return err
	}
	defer place.Close()
	info, err := find(c, in, least)
	if err != nil {
		return err
	}
	opening, cancel := context.WithTimeout(c.Request().Context(), openTimeout)
	defer cancel()
	h, err := a.Hub.Open(opening, info.ID) // it keeps the session loaded while the stream is open
	if err != nil {
		return err
	}
	defer h.Close()
	entry := &openRun{session: info.ID, user: access.Caller(c).User, message: wire.MessageID(in.RunID), monitor: in.Monitor()}
	if least == access.Operator {
		a.running.add(entry)
		defer a.running.remove(entry)
	}
	run, at, err := begin(opening, c, h, in)
	if err != nil {
		return err
	}
	cancels := in.ForwardedProps.Everdesk.CancelOnClose // the stream must not retain in, which may be large
	check := func(ctx context.Context, now auth.Identity) error { return a.checkAccess(ctx, now, info.ID, least) }
	c.Set(runKey, runName{in.ThreadID, in.RunID})
	err = place.Serve(check, func(ctx context.Context, send func(stream.Event) bool) error {
		return a.tail(ctx, h, entry, run, &at, send)
	})
	if cancels && !run.Ended() && c.Request().Context().Err() != nil {
		a.cancel(c, h, run, at)
	}
	return err
}

// connect shows the conversation and the turn that runs, and later turns if the client wants to follow.
func (a *API) connect(ctx context.Context, c echo.Context, h *session.Handle, in *agui.Input) (*agui.Run, wire.Position, error) {
	state, err := h.Snapshot(ctx, nil)
	if err != nil {
		return nil, wire.Position{}, err
	}
	run := agui.NewRun(in, h.Session(), state)
	if in.ForwardedProps.Everdesk.Follow {
		run.Follow()
	}
	err = a.withOlderRows(ctx, h, access.Caller(c).User, run, "", func() { run.Attach("", false) })
	return run, state.LastMessageID, err
}

// rowPage is the number of older rows that are read at once.
const rowPage = 200

// withOlderRows calls use after it has added the older rows that the run needs to show the turn of a message.
func (a *API) withOlderRows(ctx context.Context, h *session.Handle, user string, run *agui.Run, message wire.MessageID, use func()) error {
	if _, ok := run.NeedsRows(message); !ok {
		use()
		return nil
	}
	return a.Budget.WithPage(ctx, user, func(ctx context.Context) error {
		for {
			before, ok := run.NeedsRows(message)
			if !ok {
				break
			}
			page, err := a.Hub.Rows(ctx, h.Session(), session.RowQuery{Monitor: run.Monitor(), Limit: rowPage, Before: before})
			if err != nil {
				return err
			}
			run.AddRows(page.Rows)
			if !page.More {
				break
			}
		}
		use()
		return nil
	})
}

// begin executes a request: it answers questions, sends the message, or shows what is there.
func (a *API) begin(ctx context.Context, c echo.Context, h *session.Handle, in *agui.Input) (*agui.Run, wire.Position, error) {
	// The state is that before the request, so the events of the request follow it.
	state, err := h.Snapshot(ctx, nil)
	if err != nil {
		return nil, wire.Position{}, err
	}
	message, isNew, err := in.UserMessage()
	if isNew && err == nil && len(in.Resume) > 0 {
		isNew, err = a.isNew(ctx, c, h, in, state)
	}
	if err != nil {
		return nil, wire.Position{}, err
	}
	sent := map[wire.ConnectionID]string{} // the questions that are answered
	for _, answer := range in.Answers(&state) {
		command := a.command(c, h.Session(), answer.Message)
		if err := h.Deliver(ctx, command); err != nil {
			return nil, wire.Position{}, err
		}
		sent[command.From.Connection] = answer.Question
	}
	// attach makes a run that shows the turn of a message from its beginning, see [agui.Run.Attach].
	attach := func(message wire.MessageID, wait bool) (*agui.Run, wire.Position, error) {
		run := newRun(in, h, state, sent)
		err := a.withOlderRows(ctx, h, access.Caller(c).User, run, message, func() { run.Attach(message, wait) })
		return run, state.LastMessageID, err
	}
	if !isNew {
		return attach(in.Turn(&state), false)
	}
	answer, err := h.DeliverAndWait(ctx, a.command(c, h.Session(), message))
	if err != nil {
		return nil, wire.Position{}, err
	}
	if refused, ok := answer.Data.(wire.MessageRejected); ok {
		p := problem.New(refused.Code, refused.Reason)
		p.MessageID, p.Field, p.ReasonCode = refused.MessageID, refused.Field, refused.ReasonCode
		return nil, wire.Position{}, p
	}
	if isRepetition(answer.Data) {
		if state, err = h.Snapshot(ctx, nil); err != nil {
			return nil, wire.Position{}, err
		}
		// The state of a follower may still be behind the answer of the owner.
		return attach(message.MessageID, state.LastMessageID.Compare(answer.At) < 0)
	}
	run := newRun(in, h, state, sent)
	run.Expect(message.MessageID)
	return run, state.LastMessageID, nil
}

// newRun returns the run of a request that answered questions.
func newRun(in *agui.Input, h *session.Handle, state wire.SessionState, answered map[wire.ConnectionID]string) *agui.Run {
	run := agui.NewRun(in, h.Session(), state)
	for connection, question := range answered {
		run.Answered(question, connection)
	}
	return run
}

// isNew reports whether the last message of a request that answers questions is a new one, see [agui.IsNew].
func (a *API) isNew(ctx context.Context, c echo.Context, h *session.Handle, in *agui.Input, state wire.SessionState) (isNew bool, err error) {
	run, turn := agui.NewRun(in, h.Session(), state), in.Turn(&state)
	read := a.withOlderRows(ctx, h, access.Caller(c).User, run, turn, func() { isNew, err = agui.IsNew(run, in, turn) })
	return isNew, errors.Join(read, err)
}

// isRepetition reports whether an answer says that the message was sent before.
func isRepetition(answer wire.ServerPayload) bool {
	switch answer := answer.(type) {
	case wire.MessageAccepted:
		return answer.Duplicate
	case wire.MessageQueued:
		return answer.Duplicate
	case wire.MessageRepeated:
		return true
	}
	return false
}

// tailRetry is the pause before a log is read again whose position was lost.
const tailRetry = time.Second

// tail sends the events of a run, from a position on, until it has ended, and advances the position. When the store lost
// the position of the run, the run goes on with the present state.
func (a *API) tail(ctx context.Context, h *session.Handle, entry *openRun, run *agui.Run, at *wire.Position, send func(stream.Event) bool) error {
	sendAll := func() bool { // reports whether the run goes on
		entry.update(run, *at) // before the client knows it
		for _, data := range run.Take() {
			if !send(stream.Event{ID: at.String(), Data: data, IsFinal: agui.EndsRun(data)}) {
				return false
			}
		}
		return !run.Ended()
	}
	for {
		if !sendAll() {
			return nil
		}
		err := a.readLog(ctx, h.Session(), at, func(e wire.Event) bool {
			run.Apply(e)
			return sendAll()
		})
		switch isLost := errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrUnknownPosition) || errors.Is(err, store.ErrAhead); {
		case run.Ended(), ctx.Err() != nil:
			return nil //nolint:nilerr // the run has ended, or its client disconnected
		case !isLost:
			return err
		}
		select { // do not spin when the log is trimmed faster than it can be read
		case <-time.After(tailRetry):
		case <-ctx.Done():
			return nil
		}
		state, err := h.Snapshot(ctx, nil)
		if err != nil {
			return err
		}
		if err := a.withOlderRows(ctx, h, entry.user, run, run.Restore(state), run.Continue); err != nil {
			return err
		}
		*at = state.LastMessageID
	}
}

// readLog reads the log of a session after a position, which it advances, until take returns false or the log cannot be
// read.
func (a *API) readLog(ctx context.Context, id wire.SessionID, at *wire.Position, take func(wire.Event) bool) error {
	for part, err := range a.Hub.Tail(ctx, id, *at) {
		if err != nil {
			return err
		}
		for _, stored := range part.Events {
			*at = stored.At
			e, err := wire.Native{}.DecodeEvent(stored.Frame)
			if err != nil {
				continue // of a newer hub
			}
			e.At = stored.At
			if !take(e) {
				return nil
			}
		}
	}
	return ctx.Err()
}
