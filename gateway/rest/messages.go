package rest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// messages serve messages to a session, its state and its log.
type messages struct {
	requests *sessionRequests
	budget   *httpio.Budget
	// stream responds with Server-Sent Events.
	stream     echo.HandlerFunc
	heartbeat  time.Duration
	frameBytes int64
	fitter     *pictures.Fitter
}

const (
	headerStateHash   = "X-State-Hash"
	headerTraceparent = "Traceparent"
)

var (
	userMessageForm = httpio.FormOf[wire.UserMessage]()
	emitForm        = httpio.FormOf[wire.Emit]()
	emittedForm     = httpio.FormOf[wire.Emitted]()
	stateForm       = httpio.FormOf[wire.SessionState]()
)

// messageID returns the idempotency key of a request: that of the header or of the body, or a
// generated one.
func messageID(c echo.Context, inBody wire.MessageID) (wire.MessageID, error) {
	header := wire.MessageID(c.Request().Header.Get(httpio.HeaderIdempotencyKey))
	if header != "" && header.Validate() != nil || header != "" && inBody != "" && header != inBody {
		return "", problem.Query(httpio.HeaderIdempotencyKey, "Want 1 to 64 characters, the same as messageId if that is there.")
	}
	return cmp.Or(header, inBody, wire.MessageID("rest-"+rand.Text())), nil
}

// postMessage sends a message to the session's agents.
func (m *messages) postMessage(c echo.Context) error {
	info, err := m.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	in, err := userMessageForm.ReadFitted(c, m.frameBytes, pictures.MaxMessage, func(beginning []byte, rest io.Reader) ([]byte, error) {
		return m.fitPictures(c.Request().Context(), beginning, rest)
	})
	if err != nil {
		return err
	}
	if in.MessageID, err = messageID(c, in.MessageID); err != nil {
		return err
	}
	answer, err := m.requests.deliverAndWait(c, info.ID, wire.Message{Session: info.ID, ID: in.MessageID, Data: in})
	if err != nil {
		return err
	}
	frame := wire.AppendEvent(nil, wire.Event{Session: info.ID, At: answer.At, Time: time.Now(), Data: answer.Data})
	return c.JSONBlob(http.StatusAccepted, frame)
}

// fitPictures reads the rest of a body that is too long and scales its pictures.
func (m *messages) fitPictures(ctx context.Context, beginning []byte, rest io.Reader) ([]byte, error) {
	tooLarge := &http.MaxBytesError{Limit: m.frameBytes}
	if !pictures.HasPicture(beginning) {
		return nil, tooLarge
	}
	release, err := m.fitter.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	more, err := io.ReadAll(rest)
	if err != nil {
		return nil, err
	}
	body, err := m.fitter.Fit(ctx, append(beginning, more...))
	if bad, ok := errors.AsType[*pictures.Error](err); ok {
		return nil, problem.New(wire.CodeInvalidMessage, bad.Reason)
	}
	if err == nil && int64(len(body)) > m.frameBytes+pictures.MaxEncoded {
		return nil, tooLarge
	}
	return body, err
}

// postActions applies actions to the session's desktop.
func (m *messages) postActions(c echo.Context) error {
	info, err := m.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	in, err := emitForm.Read(c, m.frameBytes)
	if err != nil {
		return err
	}
	if in.MessageID, err = messageID(c, in.MessageID); err != nil {
		return err
	}
	answer, err := m.requests.deliverAndWait(c, info.ID, wire.Message{Session: info.ID, ID: in.MessageID, Data: in})
	if err != nil {
		return err
	}
	return emittedForm.Answer(c, http.StatusOK, &wire.Emitted{MessageID: in.MessageID, At: answer.At})
}

// getSnapshot responds with the state of a session, or of some of its monitors.
func (m *messages) getSnapshot(c echo.Context) error {
	info, err := m.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	var monitors []wire.MonitorID
	for _, m := range c.QueryParams()["monitor"] {
		if wire.MonitorID(m).Validate() != nil {
			return problem.Query("monitor", "Want the id of a monitor.")
		}
		monitors = append(monitors, wire.MonitorID(m))
	}
	var state wire.SessionState
	err = m.requests.withHandle(c, info, func(ctx context.Context, h *session.Handle) (err error) {
		state, err = h.Snapshot(ctx, monitors)
		return err
	})
	if err != nil {
		return err
	}
	etag := `"` + state.LastMessageID.String() + `"`
	h := c.Response().Header()
	h.Set("ETag", etag)
	h.Set(echo.HeaderCacheControl, "no-cache")
	if c.Request().Header.Get("If-None-Match") == etag {
		return c.NoContent(http.StatusNotModified)
	}
	slices.Sort(monitors)
	key := fmt.Sprint("snapshot ", info.ID, " ", state.LastMessageID, " ", monitors)
	shared, done, err := m.budget.ShareEncoded(c.Request().Context(), access.Caller(c).User, key, func() *httpio.Encoded {
		e := &httpio.Encoded{}
		if len(monitors) == 0 {
			e.Hash = desktop.HashOf(state)
		}
		state.HeartbeatMS = int(m.heartbeat.Milliseconds())
		e.Body = stateForm().Append(nil, &state)
		return e
	})
	if err != nil {
		return err
	}
	defer done()
	if shared.Hash != "" {
		h.Set(headerStateHash, shared.Hash)
	}
	return c.JSONBlob(http.StatusOK, shared.Body)
}

// getEvents responds with a page of the log, or streams it to clients that want that.
func (m *messages) getEvents(c echo.Context) error {
	if r := c.Request(); r.Method == http.MethodGet && access.WantsStream(r) {
		return m.stream(c)
	}
	info, err := m.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	limit, err := httpio.EventLimit.Read(c)
	if err != nil {
		return err
	}
	var after wire.Position
	if text := c.QueryParam("after"); text != "" {
		if after, err = wire.ParsePosition(text); err != nil {
			return problem.Query("after", "Want the message_id of an event.")
		}
	}
	// While the page is encoded, its events exist twice.
	reservation, err := m.budget.Reserve(c.Request().Context(), access.Caller(c).User, 2*httpio.MaxPageBytes)
	if err != nil {
		return err
	}
	defer reservation.Release()
	page, err := m.readPage(c, info, after, limit)
	if err != nil {
		return err
	}
	reservation.Resize(int64(len(page)))
	return c.JSONBlob(http.StatusOK, page)
}

// readPage reads and encodes a page of the log.
func (m *messages) readPage(c echo.Context, info session.Info, after wire.Position, limit int) (page []byte, err error) {
	err = m.requests.withHandle(c, info, func(ctx context.Context, h *session.Handle) error {
		events, err := readEvents(ctx, h, after, limit)
		if err == nil {
			page = encodeEventPage(events, after, info.Top)
		}
		return err
	})
	return page, err
}

// readEvents reads up to limit events and [MaxPageBytes] bytes, but at least one event.
func readEvents(ctx context.Context, h *session.Handle, after wire.Position, limit int) ([]store.Event, error) {
	var events []store.Event
	bytes := 0
	for want := httpio.InitialRead; len(events) < limit; {
		part, err := h.Read(ctx, after, min(want, limit-len(events)))
		if err != nil && len(events) > 0 {
			break // the request for the next page returns the error
		}
		if err != nil || len(part) == 0 {
			return events, err
		}
		for _, e := range part {
			if bytes += len(e.Frame); bytes > httpio.MaxPageBytes && len(events) > 0 {
				return events, nil
			}
			events = append(events, e)
			after = e.At
		}
		want = (httpio.MaxPageBytes-bytes)*len(events)/max(bytes, 1) + 1 // by the average size so far
		if want < 1 {
			break
		}
	}
	return events, nil
}

// encodeEventPage joins frames as they are in the log, without those for one connection only.
func encodeEventPage(events []store.Event, after, top wire.Position) []byte {
	size := 128
	for _, e := range events {
		size += len(e.Frame) + 1
	}
	page := append(make([]byte, 0, size), `{"events":[`...)
	first := true
	for _, e := range events {
		after = e.At
		if isForOneConnection(e.Frame) {
			continue
		}
		if !first {
			page = append(page, ',')
		}
		first = false
		page = append(page, e.Frame...)
	}
	if after.Compare(top) > 0 {
		top = after // the log has grown since the session was looked up
	}
	page = append(page, `],"next":"`...)
	page = after.Append(page)
	page = append(page, `","top":"`...)
	page = top.Append(page)
	return append(page, `"}`...)
}

// isForOneConnection reports whether an event is a reply that only one connection gets.
func isForOneConnection(frame []byte) bool {
	if head, ok := wire.Peek(frame); !ok || !strings.HasPrefix(head.Type, "MESSAGE_") && head.Type != "APP_PROTOCOL_REQUEST" {
		return false
	}
	e, err := wire.Native{}.DecodeEvent(frame)
	return err == nil && wire.AddresseeOf(e.Data) != ""
}
