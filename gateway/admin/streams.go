package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxAdminStreams bounds the admin streams of a replica, maxStreamsPerAdmin those of one user.
	// reservedAdminStreams of them are reserved for users with the role admin:act.
	maxAdminStreams      = 32
	maxStreamsPerAdmin   = 8
	reservedAdminStreams = 8
	// adminStreamRetry is the Retry-After of a refused stream, in seconds.
	adminStreamRetry = "5"
	// streamWriteTimeout bounds the write of one event.
	streamWriteTimeout = 10 * time.Second
	// keepAliveInterval is the interval of comments on an idle stream.
	keepAliveInterval = 15 * time.Second
	// accessCheckInterval is the interval at which a stream's credential is checked again.
	accessCheckInterval = 2 * time.Second
)

// adminStreams counts the open admin streams. They are no tabs: sessions do not see them.
type adminStreams struct {
	log           *slog.Logger
	authenticator *access.Authenticator

	mu      sync.Mutex // guards the following
	count   int
	perUser map[string]int
	closed  bool
	leave   chan struct{} // closed to end the open streams
}

// add counts a stream that must end when leave is closed. After true the caller must call remove.
func (s *adminStreams) add(who auth.Identity) (leave <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := maxAdminStreams
	if !who.Has(auth.RoleAdminAct) {
		most -= reservedAdminStreams
	}
	if s.closed || s.count >= most || s.perUser[who.User] >= maxStreamsPerAdmin {
		return nil, false
	}
	if s.leave == nil {
		s.leave = make(chan struct{})
	}
	if s.perUser == nil {
		s.perUser = map[string]int{}
	}
	s.count++
	s.perUser[who.User]++
	return s.leave, true
}

func (s *adminStreams) remove(who auth.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	if s.perUser[who.User]--; s.perUser[who.User] == 0 {
		delete(s.perUser, who.User)
	}
}

// closeAll ends the open streams; if final, no stream may be opened any more.
func (s *adminStreams) closeAll(final bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = s.closed || final
	if s.leave != nil {
		close(s.leave)
		s.leave = nil
	}
}

// streamEvent is one Server-Sent Event.
type streamEvent struct {
	kind, id string
	data     []byte
}

// append appends the encoded event. None of its fields contains a line break.
func (e streamEvent) append(dst []byte) []byte {
	if e.kind != "" {
		dst = append(append(append(dst, "event: "...), e.kind...), '\n')
	}
	if e.id != "" {
		dst = append(append(append(dst, "id: "...), e.id...), '\n')
	}
	return append(append(append(dst, "data: "...), e.data...), "\n\n"...)
}

// eventSource produces events until ctx ends or send reports false.
type eventSource func(ctx context.Context, send func(streamEvent) bool) error

// errShuttingDown is the reason for ending a stream when the hub stops.
var errShuttingDown = problem.New(wire.CodeConnectionFailed, "This hub is shutting down.")

// serve responds with Server-Sent Events until the client disconnects or is too slow,
// its credential ends, the hub stops or the source ends. The last event of a stream that the hub
// ends is problem, with a problem document.
func (s *adminStreams) serve(c echo.Context, source eventSource) error {
	h := c.Response().Header()
	if c.Request().Method == http.MethodHead {
		setStreamHeaders(h)
		return c.NoContent(http.StatusOK)
	}
	leave, ok := s.add(access.Caller(c))
	if !ok {
		return s.tooManyStreams(c)
	}
	defer s.remove(access.Caller(c))
	setStreamHeaders(h)
	out := &streamWriter{w: c.Response(), control: http.NewResponseController(c.Response())}
	// From here on the deadline of each write bounds the response.
	_ = out.control.SetReadDeadline(time.Time{})
	c.Response().WriteHeader(http.StatusOK)
	if out.write([]byte(": here you are\n\n")) != nil {
		return nil // the client disconnected
	}
	ctx, cancel := context.WithCancelCause(c.Request().Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() { cancel(s.watchAccess(ctx, c)) })
	events := make(chan streamEvent)
	wg.Go(func() {
		cancel(source(ctx, func(e streamEvent) bool {
			select {
			case events <- e:
				return true
			case <-ctx.Done():
				return false
			}
		}))
	})
	if why := out.writeEvents(ctx, events, leave); why != nil {
		s.sendStreamProblem(c, out, why)
	}
	return nil
}

// tooManyStreams returns the response to a request for one stream too many.
func (s *adminStreams) tooManyStreams(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderRetryAfter, adminStreamRetry)
	return problem.New(wire.CodeConnectionFailed, "As many as can already watch this hub, or as many of yours; try again, or through another.")
}

func setStreamHeaders(h http.Header) {
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering events
}

// sendStreamProblem sends the reason why a stream ends, if the client is still connected.
func (s *adminStreams) sendStreamProblem(c echo.Context, out *streamWriter, why error) {
	p := problem.Of(why)
	if p.Status == http.StatusInternalServerError {
		s.log.ErrorContext(c.Request().Context(), "admin stream failed", "path", c.Request().URL.Path, "err", why)
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // cannot fail: only strings and numbers
	}
	_ = out.write(streamEvent{kind: "problem", data: data}.append(nil))
}

// streamWriter writes the events of a stream.
//
// Ownership: the goroutine of the request.
type streamWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
}

func (w *streamWriter) write(data []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	if _, err := w.w.Write(data); err != nil {
		return err
	}
	return w.control.Flush()
}

// writeEvents writes the events of a stream. It returns the reason why the stream ends, or nil if
// the client disconnected.
func (w *streamWriter) writeEvents(ctx context.Context, events <-chan streamEvent, leave <-chan struct{}) error {
	quiet := time.NewTimer(keepAliveInterval)
	defer quiet.Stop()
	for {
		w.buf = w.buf[:0]
		select {
		case e := <-events:
			w.buf = e.append(w.buf)
		case <-quiet.C:
			w.buf = append(w.buf, ":\n\n"...)
		case <-leave:
			return errShuttingDown
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
				return why
			}
			return nil
		}
		if w.write(w.buf) != nil {
			return nil
		}
		if cap(w.buf) > maxIdleStreamBuffer {
			w.buf = nil
		}
		quiet.Reset(keepAliveInterval)
	}
}

// maxIdleStreamBuffer bounds the buffer that an idle stream keeps.
const maxIdleStreamBuffer = 64 << 10

// watchAccess periodically authenticates the request again, and returns the reason when the
// credential has ended or the caller's rights have changed; nil when ctx ends. An unavailable store
// is no reason.
func (s *adminStreams) watchAccess(ctx context.Context, c echo.Context) error {
	before := access.Caller(c)
	tick := time.NewTicker(accessCheckInterval)
	defer tick.Stop()
	for {
		var ends <-chan time.Time
		if !before.Expires.IsZero() {
			ends = time.After(time.Until(before.Expires))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-ends:
		}
		now, err := s.authenticator.Authenticate(ctx, c)
		denied, isDenied := errors.AsType[*auth.Error](err)
		switch {
		case isDenied:
			return denied
		case err != nil && (before.Expires.IsZero() || time.Now().Before(before.Expires)):
			continue
		case err != nil, !now.Expires.IsZero() && !time.Now().Before(now.Expires):
			return &auth.Error{Code: wire.CodeTokenExpired, Reason: wire.CodeTokenExpired.Info().Message}
		case !now.Has(auth.RoleAdminRead), now.Has(auth.RoleAdminContent) != before.Has(auth.RoleAdminContent):
			return problem.New(wire.CodeForbidden, "What you may see has changed.")
		}
		before = now
	}
}

// serveProfile serves a runtime profile, which ends early when the hub stops. It counts as an admin
// stream.
func (s *adminStreams) serveProfile(next http.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if text := c.QueryParam("seconds"); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n > 0 && n <= maxProfileSeconds) {
				return problem.Query("seconds", fmt.Sprintf("Want a number of seconds up to %d.", maxProfileSeconds))
			}
		}
		leave, ok := s.add(access.Caller(c))
		if !ok {
			return s.tooManyStreams(c)
		}
		defer s.remove(access.Caller(c))
		ctx, cancel := context.WithCancel(c.Request().Context())
		defer cancel()
		done := make(chan struct{})
		defer close(done)
		go func() { // ends with the request
			select {
			case <-leave:
				cancel()
			case <-done:
			}
		}()
		next(c.Response(), c.Request().WithContext(ctx))
		return nil
	}
}

// maxProfileSeconds bounds the duration of a runtime profile.
const maxProfileSeconds = 300
