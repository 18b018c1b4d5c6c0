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
func (g *adminStreams) add(who auth.Identity) (leave <-chan struct{}, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	most := maxAdminStreams
	if !who.Has(auth.RoleAdminAct) {
		most -= reservedAdminStreams
	}
	if g.closed || g.count >= most || g.perUser[who.User] >= maxStreamsPerAdmin {
		return nil, false
	}
	if g.leave == nil {
		g.leave = make(chan struct{})
	}
	if g.perUser == nil {
		g.perUser = map[string]int{}
	}
	g.count++
	g.perUser[who.User]++
	return g.leave, true
}

func (g *adminStreams) remove(who auth.Identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count--
	if g.perUser[who.User]--; g.perUser[who.User] == 0 {
		delete(g.perUser, who.User)
	}
}

// closeAll ends the open streams; if final, no stream may be opened any more.
func (g *adminStreams) closeAll(final bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = g.closed || final
	if g.leave != nil {
		close(g.leave)
		g.leave = nil
	}
}

// streamEvent is one Server-Sent Event.
type streamEvent struct {
	kind, id string
	data     []byte
}

// append appends the encoded event. None of its fields contains a line break.
func (n streamEvent) append(dst []byte) []byte {
	if n.kind != "" {
		dst = append(append(append(dst, "event: "...), n.kind...), '\n')
	}
	if n.id != "" {
		dst = append(append(append(dst, "id: "...), n.id...), '\n')
	}
	return append(append(append(dst, "data: "...), n.data...), "\n\n"...)
}

// eventSource produces events until ctx ends or send reports false.
type eventSource func(ctx context.Context, send func(streamEvent) bool) error

// errShuttingDown is the reason for ending a stream when the hub stops.
var errShuttingDown = problem.New(wire.CodeConnectionFailed, "This hub is shutting down.")

// serve responds with Server-Sent Events until the client disconnects or is too slow,
// its credential ends, the hub stops or the source ends. The last event of a stream that the hub
// ends is problem, with a problem document.
func (g *adminStreams) serve(c echo.Context, source eventSource) error {
	h := c.Response().Header()
	if c.Request().Method == http.MethodHead {
		setStreamHeaders(h)
		return c.NoContent(http.StatusOK)
	}
	leave, ok := g.add(access.Caller(c))
	if !ok {
		return g.tooManyStreams(c)
	}
	defer g.remove(access.Caller(c))
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
	wg.Go(func() { cancel(g.watchAccess(ctx, c)) })
	events := make(chan streamEvent)
	wg.Go(func() {
		cancel(source(ctx, func(n streamEvent) bool {
			select {
			case events <- n:
				return true
			case <-ctx.Done():
				return false
			}
		}))
	})
	if why := out.writeEvents(ctx, events, leave); why != nil {
		g.sendStreamProblem(c, out, why)
	}
	return nil
}

// tooManyStreams returns the response to a request for one stream too many.
func (g *adminStreams) tooManyStreams(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderRetryAfter, adminStreamRetry)
	return problem.New(wire.CodeConnectionFailed, "As many as can already watch this hub, or as many of yours; try again, or through another.")
}

func setStreamHeaders(h http.Header) {
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering events
}

// sendStreamProblem sends the reason why a stream ends, if the client is still connected.
func (g *adminStreams) sendStreamProblem(c echo.Context, out *streamWriter, why error) {
	p := problem.Of(why)
	if p.Status == http.StatusInternalServerError {
		g.log.ErrorContext(c.Request().Context(), "admin stream failed", "path", c.Request().URL.Path, "err", why)
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

func (o *streamWriter) write(data []byte) error {
	_ = o.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	if _, err := o.w.Write(data); err != nil {
		return err
	}
	return o.control.Flush()
}

// writeEvents writes the events of a stream. It returns the reason why the stream ends, or nil if
// the client disconnected.
func (o *streamWriter) writeEvents(ctx context.Context, events <-chan streamEvent, leave <-chan struct{}) error {
	quiet := time.NewTimer(keepAliveInterval)
	defer quiet.Stop()
	for {
		o.buf = o.buf[:0]
		select {
		case n := <-events:
			o.buf = n.append(o.buf)
		case <-quiet.C:
			o.buf = append(o.buf, ":\n\n"...)
		case <-leave:
			return errShuttingDown
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
				return why
			}
			return nil
		}
		if o.write(o.buf) != nil {
			return nil
		}
		if cap(o.buf) > maxIdleStreamBuffer {
			o.buf = nil
		}
		quiet.Reset(keepAliveInterval)
	}
}

// maxIdleStreamBuffer bounds the buffer that an idle stream keeps.
const maxIdleStreamBuffer = 64 << 10

// watchAccess periodically authenticates the request again, and returns the reason when the
// credential has ended or the caller's rights have changed; nil when ctx ends. An unavailable store
// is no reason.
func (g *adminStreams) watchAccess(ctx context.Context, c echo.Context) error {
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
		now, err := g.authenticator.Authenticate(ctx, c)
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
func (g *adminStreams) serveProfile(next http.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if text := c.QueryParam("seconds"); text != "" {
			n, err := strconv.ParseFloat(text, 64)
			if err != nil || !(n > 0 && n <= maxProfileSeconds) {
				return problem.Query("seconds", fmt.Sprintf("Want a number of seconds up to %d.", maxProfileSeconds))
			}
		}
		leave, ok := g.add(access.Caller(c))
		if !ok {
			return g.tooManyStreams(c)
		}
		defer g.remove(access.Caller(c))
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
