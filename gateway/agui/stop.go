package agui

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/agui"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// openRun is a run that this replica streams to the user who sent its message.
type openRun struct {
	session wire.SessionID
	user    string
	message wire.MessageID
	monitor wire.MonitorID
	// waitsAt is a position of the log at which the message waited for its agent, as far as the stream has come; nil if
	// it does not wait any more.
	waitsAt atomic.Pointer[wire.Position]
}

// update records how far the stream of the run has come.
func (o *openRun) update(run *agui.Run, at wire.Position) {
	if run.Progress().Waits {
		o.waitsAt.Store(&at)
	} else {
		o.waitsAt.Store(nil)
	}
}

// openRuns are the open runs of a replica.
type openRuns struct {
	mu  sync.Mutex // guards the following
	all map[*openRun]struct{}
}

func (o *openRuns) add(r *openRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[*openRun]struct{}{}
	}
	o.all[r] = struct{}{}
}

func (o *openRuns) remove(r *openRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, r)
}

// of returns the runs of a user in a session.
func (o *openRuns) of(id wire.SessionID, user string) (found []*openRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for r := range o.all {
		if r.session == id && r.user == user {
			found = append(found, r)
		}
	}
	return found
}

// stop stops the run that the query names. Without a name, as CopilotKit sends it, it removes the messages of the
// caller's open streams that wait from their queues, and interrupts the caller's turns on the monitors of the other
// streams. Without open streams at this replica it removes the caller's messages that wait for one monitor, or else
// interrupts the caller's turns there. Turns that messages of other users began go on.
func (a *API) stop(c echo.Context) error {
	run, monitor := wire.MessageID(c.QueryParam("run")), wire.MonitorID(c.QueryParam("monitor"))
	if run != "" && run.Validate() != nil {
		return problem.Query("run", "Want the runId of a request.")
	}
	if monitor != "" && monitor.Validate() != nil {
		return problem.Query("monitor", "Want the id of a monitor.")
	}
	info, err := a.sessionOf(c, threadName(c.Param("thread")), access.Operator)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), openTimeout)
	defer cancel()
	h, err := a.Hub.Open(ctx, info.ID)
	if err != nil {
		return err
	}
	defer h.Close()
	open := a.running.of(h.Session(), access.Caller(c).User)
	if run != "" {
		err = a.stopMessage(ctx, c, h, open, run)
	} else {
		err = a.stopStreams(ctx, c, h, open, monitor)
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// stopStreams stops what streams show on a monitor, or on any if that is empty.
func (a *API) stopStreams(ctx context.Context, c echo.Context, h *session.Handle, open []*openRun, monitor wire.MonitorID) error {
	interrupted := map[wire.MonitorID]wire.InterruptQueues{}
	found := false
	for _, r := range open {
		if monitor != "" && r.monitor != monitor {
			continue
		}
		found = true
		at := r.waitsAt.Load()
		if at == nil {
			interrupted[r.monitor] = wire.QueuesKeep
		} else if err := a.withdraw(ctx, c, h, r.message, *at); err != nil {
			return err
		}
	}
	if !found {
		interrupted[cmp.Or(monitor, agui.FirstMonitor)] = wire.QueuesFirst
	}
	for m, queues := range interrupted {
		interrupt := wire.Interrupt{Scope: wire.ScopeSender, MonitorID: m, Queues: queues}
		if err := h.Deliver(ctx, a.command(c, h.Session(), interrupt)); err != nil {
			return err
		}
	}
	return nil
}

// stopMessage removes a message from its queue, or interrupts the turn that it began. A turn that another message began
// goes on.
func (a *API) stopMessage(ctx context.Context, c echo.Context, h *session.Handle, open []*openRun, message wire.MessageID) error {
	for _, r := range open { // the state of a follower may still be behind the stream
		if at := r.waitsAt.Load(); r.message == message && at != nil {
			return a.withdraw(ctx, c, h, message, *at)
		}
	}
	state, err := h.Snapshot(ctx, nil)
	if err != nil {
		return err
	}
	agent, isQueued := agui.FindMessage(&state, message)
	switch {
	case isQueued:
		return a.withdraw(ctx, c, h, message, state.LastMessageID)
	case agent != "":
		return a.interrupt(ctx, c, h, agent)
	}
	return nil
}

// withdraw removes a message that waited at a position of the log from its queue. If its turn begins meanwhile, that is
// interrupted.
func (a *API) withdraw(ctx context.Context, c echo.Context, h *session.Handle, message wire.MessageID, at wire.Position) error {
	err := h.Deliver(ctx, a.command(c, h.Session(), wire.DeleteQueuedMessage{Target: message}))
	if err != nil {
		return err
	}
	agent := wire.AgentID("")
	err = a.readLog(ctx, h.Session(), &at, func(e wire.Event) bool {
		switch data := e.Data.(type) {
		case wire.MessageAccepted:
			if data.MessageID != message || data.To != "" {
				return true
			}
			if data.How == wire.TakenDirect || data.How == wire.TakenEphemeral {
				agent = data.AgentID
			}
			return false
		case wire.MessageRejected:
			return data.MessageID != message || data.To != ""
		}
		return true
	})
	if err != nil || agent == "" {
		return err
	}
	return a.interrupt(ctx, c, h, agent)
}

func (a *API) interrupt(ctx context.Context, c echo.Context, h *session.Handle, agent wire.AgentID) error {
	return h.Deliver(ctx, a.command(c, h.Session(), wire.Interrupt{Scope: wire.ScopeAgent, AgentID: agent}))
}

// cancel stops the work on the message of a run whose client wanted that when it closes the connection, if the client
// may still do so.
func (a *API) cancel(c echo.Context, h *session.Handle, run *agui.Run, at wire.Position) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), openTimeout)
	defer cancel()
	now, err := a.Authenticator.Authenticate(ctx, c)
	if err == nil {
		err = a.checkAccess(ctx, now, h.Session(), access.Operator)
	}
	switch p := run.Progress(); {
	case err != nil:
	case p.Waits:
		err = a.withdraw(ctx, c, h, p.Message, at)
	case p.Agent != "":
		err = a.interrupt(ctx, c, h, p.Agent)
	}
	if err != nil {
		a.Log.WarnContext(ctx, "stopping a closed AG-UI run failed", "session", h.Session(), "err", err)
	}
}
