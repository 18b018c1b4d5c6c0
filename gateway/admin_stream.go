package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/wire"
)

const (
	// galleryMost is how many may watch the hub at once, each with a stream,
	// galleryEach how many of them one user can have, and galleryKept how many are
	// kept for those who may act.
	maxAdminStreams    = 32
	maxStreamsPerAdmin = 8
	adminStreamsKept   = 8
	// galleryBack is after how many seconds it is worth another try.
	adminStreamsBack = "5"
	// tellTimeout is how long who watches may take to take a change.
	tellTimeout = 10 * time.Second
	// tellEvery is the longest silence.
	tellEvery = 15 * time.Second
	// askEvery is how often it is looked up whether somebody still may watch.
	askEvery = 2 * time.Second
)

// adminStreams is where those are who watch the hub. They are no clients of a session:
// nothing counts them but this.
type adminStreams struct {
	mu     sync.Mutex // guards the following
	here   int
	of     map[string]int // by user
	closed bool
	leave  chan struct{} // closed when those who are here have to go
}

// add lets somebody in, until leave is closed. Who is let in exits.
func (g *adminStreams) add(who auth.Identity) (leave <-chan struct{}, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	most := maxAdminStreams
	if !who.Has(auth.RoleAdminAct) {
		most -= adminStreamsKept
	}
	if g.closed || g.here >= most || g.of[who.User] >= maxStreamsPerAdmin {
		return nil, false
	}
	if g.leave == nil {
		g.leave = make(chan struct{})
	}
	if g.of == nil {
		g.of = map[string]int{}
	}
	g.here++
	g.of[who.User]++
	return g.leave, true
}

func (g *adminStreams) remove(who auth.Identity) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.here--
	if g.of[who.User]--; g.of[who.User] == 0 {
		delete(g.of, who.User)
	}
}

// closeAll sends everybody out, and lets nobody in again if that is final.
func (g *adminStreams) closeAll(final bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = g.closed || final
	if g.leave != nil {
		close(g.leave)
		g.leave = nil
	}
}

// news is an event of a stream.
type news struct {
	kind, id string
	data     []byte
}

// append adds the event as it is sent. Nothing of ours has a line break in it.
func (n news) append(dst []byte) []byte {
	if n.kind != "" {
		dst = append(append(append(dst, "event: "...), n.kind...), '\n')
	}
	if n.id != "" {
		dst = append(append(append(dst, "id: "...), n.id...), '\n')
	}
	return append(append(append(dst, "data: "...), n.data...), "\n\n"...)
}

// teller says news as long as ctx lasts. It stops when say reports false.
type teller func(ctx context.Context, say func(news) bool) error

// errDismissed is why a stream ends when the hub goes.
var errDismissed = problem(wire.CodeConnectionFailed, "This hub is shutting down.")

// stream answers with Server-Sent Events until the client leaves or is too slow, its
// credential ends, the hub goes or there is nothing more to tell. The last event of a
// stream that the hub ends says why: problem, with a problem document.
func (s *Server) stream(c echo.Context, tell teller) error {
	h := c.Response().Header()
	if c.Request().Method == http.MethodHead {
		setStreamHead(h)
		return c.NoContent(http.StatusOK)
	}
	leave, ok := s.adminStreams.add(caller(c))
	if !ok {
		return s.full(c)
	}
	defer s.adminStreams.remove(caller(c))
	setStreamHead(h)
	out := &outlet{w: c.Response(), control: http.NewResponseController(c.Response())}
	// What follows is bounded by the deadlines of each write.
	_ = out.control.SetReadDeadline(time.Time{})
	c.Response().WriteHeader(http.StatusOK)
	if out.write([]byte(": here you are\n\n")) != nil {
		return nil // they left
	}
	ctx, cancel := context.WithCancelCause(c.Request().Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() { cancel(s.stillMay(ctx, c)) })
	told := make(chan news)
	wg.Go(func() {
		cancel(tell(ctx, func(n news) bool {
			select {
			case told <- n:
				return true
			case <-ctx.Done():
				return false
			}
		}))
	})
	if why := out.follow(ctx, told, leave); why != nil {
		s.sayGoodbye(c, out, why)
	}
	return nil
}

// full is the answer when nobody else can watch.
func (s *Server) full(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderRetryAfter, adminStreamsBack)
	return problem(wire.CodeConnectionFailed, "As many as can already watch this hub, or as many of yours; try again, or through another.")
}

func setStreamHead(h http.Header) {
	h.Set(echo.HeaderContentType, "text/event-stream; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set("X-Accel-Buffering", "no") // or proxies would collect events
}

// sayGoodbye tells why a stream ends, if there is anybody to tell.
func (s *Server) sayGoodbye(c echo.Context, out *outlet, why error) {
	p := problemOf(why, c.Request())
	if p.Status == http.StatusInternalServerError {
		s.log.ErrorContext(c.Request().Context(), "admin stream failed", "path", c.Request().URL.Path, "err", why)
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	_ = out.write(news{kind: "problem", data: data}.append(nil))
}

// outlet is the client's end of a stream.
//
// Ownership: the goroutine of the request has it.
type outlet struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte
}

func (o *outlet) write(data []byte) error {
	_ = o.control.SetWriteDeadline(time.Now().Add(tellTimeout))
	if _, err := o.w.Write(data); err != nil {
		return err
	}
	return o.control.Flush()
}

// follow writes what it is told. It returns why the stream ends, or nil when the
// client is gone.
func (o *outlet) follow(ctx context.Context, told <-chan news, leave <-chan struct{}) error {
	quiet := time.NewTimer(tellEvery)
	defer quiet.Stop()
	for {
		o.buf = o.buf[:0]
		select {
		case n := <-told:
			o.buf = n.append(o.buf)
		case <-quiet.C:
			o.buf = append(o.buf, ":\n\n"...)
		case <-leave:
			return errDismissed
		case <-ctx.Done():
			if why := context.Cause(ctx); !errors.Is(why, context.Canceled) {
				return why
			}
			return nil
		}
		if o.write(o.buf) != nil {
			return nil
		}
		if cap(o.buf) > streamBuffer {
			o.buf = nil
		}
		quiet.Reset(tellEvery)
	}
}

// streamBuffer is how large a buffer a stream keeps while it is silent.
const streamBuffer = 64 << 10

// stillMay looks again and again whether somebody is who they were and may see what
// they could see, and returns why not; nil when ctx ends. The store being away is no
// reason.
func (s *Server) stillMay(ctx context.Context, c echo.Context) error {
	before := caller(c)
	tick := time.NewTicker(askEvery)
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
		now, err := s.authenticate(ctx, c)
		denied, isDenied := errors.AsType[*auth.Error](err)
		switch {
		case isDenied:
			return denied
		case err != nil && (before.Expires.IsZero() || time.Now().Before(before.Expires)):
			continue
		case err != nil, !now.Expires.IsZero() && !time.Now().Before(now.Expires):
			return &auth.Error{Code: wire.CodeTokenExpired, Reason: wire.CodeTokenExpired.Info().Message}
		case !now.Has(auth.RoleAdminRead), now.Has(auth.RoleAdminContent) != before.Has(auth.RoleAdminContent):
			return problem(wire.CodeForbidden, "What you may see has changed.")
		}
		before = now
	}
}
