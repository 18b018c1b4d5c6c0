package stream

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

const (
	// writeTimeout bounds the write of one event.
	writeTimeout = 10 * time.Second
	// keepAliveInterval is the interval of comments on an idle stream.
	keepAliveInterval = 15 * time.Second
	// accessCheckInterval is the interval at which the credential of a stream and the access of its user are checked again.
	accessCheckInterval = 2 * time.Second
	// maxIdleBuffer bounds the buffer that an idle stream keeps.
	maxIdleBuffer = 64 << 10
	// retryAfter is the Retry-After of a refused stream, in seconds.
	retryAfter = "5"
)

// Event is one Server-Sent Event. No field may contain a line break.
type Event struct {
	Kind, ID string
	Data     []byte
	// IsFinal says that nothing may follow the event but the beginning of something else. It is not sent.
	IsFinal bool
}

// append appends the encoded event.
func (e Event) append(dst []byte) []byte {
	if e.Kind != "" {
		dst = append(append(append(dst, "event: "...), e.Kind...), '\n')
	}
	if e.ID != "" {
		dst = append(append(append(dst, "id: "...), e.ID...), '\n')
	}
	return append(append(append(dst, "data: "...), e.Data...), "\n\n"...)
}

// Source produces events until ctx ends or send reports false. The error is the reason why the
// stream ends; nil means that it is complete.
type Source func(ctx context.Context, send func(Event) bool) error

// ErrStopping is the reason for ending a stream when the hub stops.
var ErrStopping = problem.New(wire.CodeConnectionFailed, "This hub is shutting down.")

// Config configures a [Set].
type Config struct {
	Authenticator *access.Authenticator
	// Limit returns how many streams may be open, counting the new one of a user. PerUser bounds those
	// of one user.
	Limit   func(who auth.Identity) int
	PerUser int
	// Check returns why a caller whose identity has changed may no longer read the stream, or nil.
	Check func(before, now auth.Identity) error
	// Last returns the last events of a stream that ends before its source does. afterFinal says that the newest event
	// of the source was final.
	Last func(c echo.Context, why error, afterFinal bool) []Event
}

// Set counts the open streams of one kind. They are no tabs: sessions do not see them.
type Set struct {
	cfg Config

	mu      sync.Mutex // guards the following
	count   int
	perUser map[string]int
	closed  bool
	leave   chan struct{} // closed to end the open streams
}

// NewSet returns a Set without streams.
func NewSet(cfg Config) *Set {
	return &Set{cfg: cfg, perUser: map[string]int{}, leave: make(chan struct{})}
}

// Add counts a stream that must end when leave is closed. After true the caller must call
// [Set.Remove].
func (s *Set) Add(who auth.Identity) (leave <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.count >= s.cfg.Limit(who) || s.perUser[who.User] >= s.cfg.PerUser {
		return nil, false
	}
	s.count++
	s.perUser[who.User]++
	return s.leave, true
}

// Remove ends what [Set.Add] began.
func (s *Set) Remove(who auth.Identity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count--
	if s.perUser[who.User]--; s.perUser[who.User] == 0 {
		delete(s.perUser, who.User)
	}
}

// CloseAll ends the open streams; if final, no stream may be opened any more.
func (s *Set) CloseAll(final bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = s.closed || final
	close(s.leave)
	s.leave = make(chan struct{})
}

// Refuse returns the response to a request for one stream too many.
func (s *Set) Refuse(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderRetryAfter, retryAfter)
	return problem.New(wire.CodeConnectionFailed, "As many as can already watch this hub, or as many of yours; try again, or through another.")
}

// Serve responds with the stream of a source, see [Stream.Serve].
func (s *Set) Serve(c echo.Context, source Source) error {
	if c.Request().Method == http.MethodHead {
		setHeaders(c)
		return c.NoContent(http.StatusOK)
	}
	st, err := s.Open(c)
	if err != nil {
		return err
	}
	defer st.Close()
	return st.Serve(nil, source)
}

// Stream is a counted stream of a [Set].
type Stream struct {
	set   *Set
	c     echo.Context
	leave <-chan struct{}
}

// Open counts a stream for a request before anything else happens for it, or returns the response to one stream too
// many. The caller must call [Stream.Close].
func (s *Set) Open(c echo.Context) (*Stream, error) {
	leave, ok := s.Add(access.Caller(c))
	if !ok {
		return nil, s.Refuse(c)
	}
	return &Stream{set: s, c: c, leave: leave}, nil
}

// Close ends what [Set.Open] began.
func (st *Stream) Close() { st.set.Remove(access.Caller(st.c)) }

// Check returns why a caller, as authenticated now, may no longer read a stream, or nil. An unavailable store is no
// reason.
type Check func(ctx context.Context, now auth.Identity) error

func setHeaders(c echo.Context) {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set("X-Accel-Buffering", "no") // keeps proxies from buffering events
}

// Serve responds with Server-Sent Events until the client disconnects or is too slow, its credential
// ends, check (unless nil) returns a reason, the hub stops or the source ends. A stream that does not end by its
// client has [Config.Last] at its end, unless the source is complete.
func (st *Stream) Serve(check Check, source Source) error {
	c := st.c
	setHeaders(c)
	out := &writer{w: c.Response(), control: http.NewResponseController(c.Response())}
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
	wg.Go(func() { cancel(st.set.WatchAccess(ctx, c, check)) })
	events := make(chan Event)
	wg.Go(func() {
		cancel(source(ctx, func(e Event) bool {
			select {
			case events <- e:
				return true
			case <-ctx.Done():
				return false
			}
		}))
	})
	if why := out.writeEvents(ctx, events, st.leave); why != nil {
		var last []byte
		for _, e := range st.set.cfg.Last(c, why, out.afterFinal) {
			last = e.append(last)
		}
		_ = out.write(last) // the client may have disconnected
	}
	return nil
}

// WatchAccess periodically authenticates a request again, and returns the reason when the credential has ended, the
// caller's rights have changed or check, unless it is nil, returns one; nil when ctx ends. An unavailable store is no
// reason.
func (s *Set) WatchAccess(ctx context.Context, c echo.Context, check Check) error {
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
		now, err := s.cfg.Authenticator.Authenticate(ctx, c)
		denied, isDenied := errors.AsType[*auth.Error](err)
		switch {
		case isDenied:
			return denied
		case err != nil && (before.Expires.IsZero() || time.Now().Before(before.Expires)):
			continue
		case err != nil, !now.Expires.IsZero() && !time.Now().Before(now.Expires):
			return &auth.Error{Code: wire.CodeTokenExpired, Reason: wire.CodeTokenExpired.Info().Message}
		}
		if err := s.cfg.Check(before, now); err != nil {
			return err
		}
		if check != nil {
			if err := check(ctx, now); err != nil {
				return err
			}
		}
		before = now
	}
}

// writer writes the events of a stream.
//
// Ownership: the goroutine of the request.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
	// afterFinal says that the newest event was final.
	afterFinal bool
}

func (w *writer) write(data []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err := w.w.Write(data); err != nil {
		return err
	}
	return w.control.Flush()
}

// writeEvents writes the events of a stream. It returns the reason why the stream ends, or nil if
// the client disconnected or the source is complete.
func (w *writer) writeEvents(ctx context.Context, events <-chan Event, leave <-chan struct{}) error {
	quiet := time.NewTimer(keepAliveInterval)
	defer quiet.Stop()
	for {
		w.buf = w.buf[:0]
		select {
		case e := <-events:
			w.buf = e.append(w.buf)
			w.afterFinal = e.IsFinal
		case <-quiet.C:
			w.buf = append(w.buf, ":\n\n"...)
		case <-leave:
			return ErrStopping
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
				return why
			}
			return nil
		}
		if w.write(w.buf) != nil {
			return nil
		}
		if cap(w.buf) > maxIdleBuffer {
			w.buf = nil
		}
		quiet.Reset(keepAliveInterval)
	}
}
