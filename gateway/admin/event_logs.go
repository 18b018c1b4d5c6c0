package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/gateway/stream"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// EventStore is the part of the store that holds the logs of sessions.
type EventStore interface {
	// Read returns up to limit events of a session's log that follow the position after.
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
}

// eventLogs serve the logs of sessions, as pages and as streams, without opening the sessions.
type eventLogs struct {
	hub     *session.Hub
	store   EventStore
	budget  *httpio.Budget
	streams *adminStreams
	actions *Actions
}

// maxScannedEvents bounds the events that are read for one page of matching ones.
const maxScannedEvents = 5000

// eventFilter selects events and their form.
type eventFilter struct {
	typ     string
	agent   wire.AgentID
	monitor wire.MonitorID
	content bool // with texts of users and agents
}

// matches reports whether an event is selected.
func (f eventFilter) matches(h wire.Head) bool {
	return (f.typ == "" || h.Type == f.typ) && (f.agent == "" || h.Agent == f.agent) && (f.monitor == "" || h.Monitor == f.monitor)
}

// render returns an event in the form for the caller, or nil if it is not selected. Of an unknown
// event, written by a newer hub, only the type is certain to be no secret.
func (f eventFilter) render(e store.Event) []byte {
	head, ok := wire.Peek(e.Frame)
	if !ok || !f.matches(head) {
		return nil
	}
	if f.content {
		return e.Frame
	}
	event, err := wire.Native{}.DecodeEvent(e.Frame)
	if err != nil {
		text, _ := json.Marshal(struct { // cannot fail: only strings
			Type string        `json:"type"`
			At   wire.Position `json:"message_id"`
		}{head.Type, e.At})
		return text
	}
	event.At = e.At
	return adminview.Redact(event)
}

// parseQuery returns the session, the start position and the filter of a request. The position
// is zero when the request has none.
func (l *eventLogs) parseQuery(c echo.Context) (info session.Info, after wire.Position, want eventFilter, err error) {
	id, err := sessionParam(c)
	if err != nil {
		return info, after, want, err
	}
	read := queryReader{c: c}
	want = eventFilter{
		typ: c.QueryParam("type"), agent: wire.AgentID(c.QueryParam("agent")), monitor: wire.MonitorID(c.QueryParam("monitor")),
		content: seesContent(c),
	}
	if entry, ok := wire.Events().Lookup(want.typ); want.typ != "" && (!ok || !entry.Durable) {
		read.reject("type", "Want the type of an event that is in logs.")
	}
	if want.agent != "" && want.agent.Validate() != nil {
		read.reject("agent", "Want the id of an agent.")
	}
	if want.monitor != "" && want.monitor.Validate() != nil {
		read.reject("monitor", "Want the id of a monitor.")
	}
	if text := cmp.Or(c.Request().Header.Get("Last-Event-ID"), c.QueryParam("after")); text != "" {
		if after, err = wire.ParsePosition(text); err != nil {
			read.reject("after", "Want the message_id of an event.")
		}
	}
	if err := read.err(); err != nil {
		return info, after, want, err
	}
	if info, err = l.hub.Info(c.Request().Context(), id); err == nil {
		err = l.actions.recordOpening(c, viewLog, string(info.ID))
	}
	return info, after, want, err
}

// isPositionLost reports whether an error means that a position is not in the log.
func isPositionLost(err error) bool {
	return errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrUnknownPosition) || errors.Is(err, store.ErrAhead)
}

// notFoundIfDeleted maps an error of the store to the response: the session may have been deleted
// after it was looked up.
func notFoundIfDeleted(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problem.New(wire.CodeSessionNotFound, "")
	}
	return err
}

// adminEvents is a page of a session's log.
type adminEvents struct {
	Events  []json.RawMessage `json:"events"`
	Next    wire.Position     `json:"next"`
	Top     wire.Position     `json:"top"`
	Trimmed bool              `json:"trimmed,omitempty"`
}

// getPage responds with a page of a session's log without opening the session.
func (l *eventLogs) getPage(c echo.Context) error {
	info, after, want, err := l.parseQuery(c)
	if err != nil {
		return err
	}
	limit, err := httpio.EventLimit.Read(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), httpio.AnswerTimeout)
	defer cancel()
	// While the page is encoded, its events exist twice.
	reservation, err := l.budget.Reserve(ctx, access.Caller(c).User, 2*httpio.MaxPageBytes)
	if err != nil {
		return err
	}
	defer reservation.Release()
	page := adminEvents{Events: []json.RawMessage{}, Next: after, Top: info.Top}
	if err := l.fillPage(ctx, info, want, limit, &page); err != nil {
		return notFoundIfDeleted(err)
	}
	if page.Next.Compare(page.Top) > 0 {
		page.Top = page.Next // the log has grown since the session was looked up
	}
	text, err := json.Marshal(page)
	if err != nil {
		return err
	}
	reservation.Resize(int64(len(text)))
	return c.JSONBlob(http.StatusOK, text)
}

// fillPage reads matching events into a page: up to limit events, [MaxPageBytes] bytes and
// [maxScannedEvents] read events.
func (l *eventLogs) fillPage(ctx context.Context, info session.Info, want eventFilter, limit int, page *adminEvents) error {
	bytes, raw, size := 0, 0, httpio.InitialRead
	for looked := 0; looked < maxScannedEvents && len(page.Events) < limit; {
		part, err := l.store.Read(ctx, info.ID, page.Next, size)
		if isPositionLost(err) && !page.Trimmed && looked == 0 {
			page.Trimmed, page.Next = true, info.Oldest
			continue
		}
		if err != nil || len(part) == 0 {
			return err
		}
		for _, e := range part {
			looked, raw = looked+1, raw+len(e.Frame)
			text := want.render(e)
			if bytes += len(text); text != nil && bytes > httpio.MaxPageBytes && len(page.Events) > 0 || len(page.Events) >= limit {
				return nil
			}
			page.Next = e.At
			if text != nil {
				page.Events = append(page.Events, text)
			}
		}
		size = min(max(1, httpio.MaxPageBytes*looked/max(raw, 1)), httpio.MaxPageEvents/2) // by the average size so far
	}
	return nil
}

// serveTail streams a session's log and the events that are appended to it. Without a position it
// begins with the next event. It is no tab: the session does not see it.
func (l *eventLogs) serveTail(c echo.Context) error {
	info, after, want, err := l.parseQuery(c)
	if err != nil {
		return err
	}
	if after == (wire.Position{}) && c.QueryParam("after") == "" {
		after = info.Top
	}
	return l.streams.Serve(c, func(ctx context.Context, send func(stream.Event) bool) error {
		for {
			err := l.tailOnce(ctx, info.ID, &after, want, send)
			if !isPositionLost(err) {
				return notFoundIfDeleted(err)
			}
			// The log was trimmed, or the store lost its end: continue with the oldest event there
			// is, and send an event about the gap.
			now, err := l.hub.Info(ctx, info.ID)
			if err != nil {
				return err
			}
			after = now.Oldest
			if !send(stream.Event{Kind: "trimmed", Data: []byte(`{"from":"` + after.String() + `"}`)}) {
				return nil
			}
			select { // do not spin when the log is trimmed faster than it can be read
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// tailOnce sends events until an error.
func (l *eventLogs) tailOnce(ctx context.Context, id wire.SessionID, after *wire.Position, want eventFilter, send func(stream.Event) bool) error {
	for part, err := range l.hub.Tail(ctx, id, *after) {
		if err != nil {
			return err
		}
		for _, e := range part.Events {
			*after = e.At
			text := want.render(e)
			if text == nil {
				continue
			}
			if !send(stream.Event{Kind: "event", ID: e.At.String(), Data: text}) {
				return nil
			}
		}
	}
	return nil
}
