package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/adminview"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// looksMost is how many events are looked at for a page of those that are wanted.
const looksMost = 5000

// sieve is which events somebody wants, and in which form.
type sieve struct {
	typ     string
	agent   wire.AgentID
	monitor wire.MonitorID
	content bool
}

// wants reports whether an event is wanted.
func (s sieve) wants(h wire.Head) bool {
	return (s.typ == "" || h.Type == s.typ) && (s.agent == "" || h.Agent == s.agent) && (s.monitor == "" || h.Monitor == s.monitor)
}

// show is an event in the form in which it is shown; nil when it is not wanted. Of
// what a newer hub has written only the type is known to be nobody's secret.
func (s sieve) show(e store.Event) []byte {
	head, ok := wire.Peek(e.Frame)
	if !ok || !s.wants(head) {
		return nil
	}
	if s.content {
		return e.Frame
	}
	event, err := wire.Native{}.DecodeEvent(e.Frame)
	if err != nil {
		text, _ := json.Marshal(struct { // strings always encode
			Type string        `json:"type"`
			At   wire.Position `json:"message_id"`
		}{head.Type, e.At})
		return text
	}
	event.At = e.At
	return adminview.Redact(event)
}

// eventsWanted reads the session, where to begin and which events are wanted. The
// position is zero when none was named.
func (s *Server) eventsWanted(c echo.Context) (info session.Info, after wire.Position, want sieve, err error) {
	id, err := sessionHere(c)
	if err != nil {
		return info, after, want, err
	}
	read := reader{c: c}
	want = sieve{
		typ: c.QueryParam("type"), agent: wire.AgentID(c.QueryParam("agent")), monitor: wire.MonitorID(c.QueryParam("monitor")),
		content: seesContent(c),
	}
	if entry, ok := wire.Events().Lookup(want.typ); want.typ != "" && (!ok || !entry.Durable) {
		read.refuse("type", "Want the type of an event that is in logs.")
	}
	if want.agent != "" && want.agent.Validate() != nil {
		read.refuse("agent", "Want the id of an agent.")
	}
	if want.monitor != "" && want.monitor.Validate() != nil {
		read.refuse("monitor", "Want the id of a monitor.")
	}
	if text := cmp.Or(c.Request().Header.Get("Last-Event-ID"), c.QueryParam("after")); text != "" {
		if after, err = wire.ParsePosition(text); err != nil {
			read.refuse("after", "Want the message_id of an event.")
		}
	}
	if err := read.err(); err != nil {
		return info, after, want, err
	}
	info, err = s.hub.Info(c.Request().Context(), id)
	return info, after, want, err
}

// isOff reports whether a position is not in the log.
func isOff(err error) bool {
	return errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrUnknownPosition) || errors.Is(err, store.ErrAhead)
}

// orGone is an error of the store for clients: the session may have been deleted since
// it was looked up.
func orGone(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problem(wire.CodeSessionNotFound, "")
	}
	return err
}

// adminEvents is a page of a log.
type adminEvents struct {
	Events  []json.RawMessage `json:"events"`
	Next    wire.Position     `json:"next"`
	Top     wire.Position     `json:"top"`
	Trimmed bool              `json:"trimmed,omitempty"`
}

// getAnyEvents shows a page of a session's log without opening the session.
func (s *Server) getAnyEvents(c echo.Context) error {
	info, after, want, err := s.eventsWanted(c)
	if err != nil {
		return err
	}
	limit, err := eventLimit.read(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), answerTimeout)
	defer cancel()
	// While the page is put together, its events are there twice.
	room, err := s.bulk.take(ctx, caller(c).User, 2*pageBytes)
	if err != nil {
		return err
	}
	defer room.release()
	page := adminEvents{Events: []json.RawMessage{}, Next: after, Top: info.Top}
	if err := s.readWanted(ctx, info, want, limit, &page); err != nil {
		return orGone(err)
	}
	if page.Next.Compare(page.Top) > 0 {
		page.Top = page.Next // the log has grown since the session was looked up
	}
	text, err := json.Marshal(page)
	if err != nil {
		return err
	}
	room.resize(int64(len(text)))
	return c.JSONBlob(http.StatusOK, text)
}

// readWanted fills a page: up to a number of events, up to [pageBytes], and with no
// more than [looksMost] looks.
func (s *Server) readWanted(ctx context.Context, info session.Info, want sieve, limit int, page *adminEvents) error {
	bytes, raw, size := 0, 0, firstRead
	for looked := 0; looked < looksMost && len(page.Events) < limit; {
		part, err := s.store.Read(ctx, info.ID, page.Next, size)
		if isOff(err) && !page.Trimmed && looked == 0 {
			page.Trimmed, page.Next = true, info.Oldest
			continue
		}
		if err != nil || len(part) == 0 {
			return err
		}
		for _, e := range part {
			looked, raw = looked+1, raw+len(e.Frame)
			text := want.show(e)
			if bytes += len(text); text != nil && bytes > pageBytes && len(page.Events) > 0 || len(page.Events) >= limit {
				return nil
			}
			page.Next = e.At
			if text != nil {
				page.Events = append(page.Events, text)
			}
		}
		size = min(max(1, pageBytes*looked/max(raw, 1)), eventPage/2) // by what they were so far
	}
	return nil
}

// serveTail streams a session's log, and then what is added to it. Without a position
// it begins with what comes next. It is no tab: the session does not know of it.
func (s *Server) serveTail(c echo.Context) error {
	info, after, want, err := s.eventsWanted(c)
	if err != nil {
		return err
	}
	if after == (wire.Position{}) && c.QueryParam("after") == "" {
		after = info.Top
	}
	return s.stream(c, func(ctx context.Context, say func(news) bool) error {
		for {
			err := s.tailOnce(ctx, info.ID, &after, want, say)
			if !isOff(err) {
				return orGone(err)
			}
			// It was trimmed, or a store has lost its end: what is there now
			// is shown, and that something is not.
			now, err := s.hub.Info(ctx, info.ID)
			if err != nil {
				return err
			}
			after = now.Oldest
			if !say(news{kind: "trimmed", data: []byte(`{"from":"` + after.String() + `"}`)}) {
				return nil
			}
			select { // a log that moves on faster than it can be read is no reason to hurry
			case <-time.After(time.Second):
			case <-ctx.Done():
				return nil
			}
		}
	})
}

// tailOnce tells events until there is an error.
func (s *Server) tailOnce(ctx context.Context, id wire.SessionID, after *wire.Position, want sieve, say func(news) bool) error {
	for part, err := range s.hub.Tail(ctx, id, *after) {
		if err != nil {
			return err
		}
		for _, e := range part.Events {
			*after = e.At
			text := want.show(e)
			if text == nil {
				continue
			}
			if !say(news{kind: "event", id: e.At.String(), data: text}) {
				return nil
			}
		}
	}
	return nil
}
