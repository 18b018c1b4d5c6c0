package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// timing holds the durations of instances.
type timing struct {
	// start bounds the start of a server with the first list of its tools. A package manager may have to
	// download it.
	start time.Duration
	// prepare bounds how long a turn waits for servers whose tools are not known.
	prepare time.Duration
	// idle is how long an instance is kept without calls.
	idle time.Duration
	// firstPause and maxPause bound the pause after failures, and steady is how long an instance must have
	// been ready for its failure to count as the first.
	firstPause, maxPause, steady time.Duration
	// maxWait bounds how long a call waits for the end of a pause.
	maxWait time.Duration
	// debounce is the pause before changed tools are listed again.
	debounce time.Duration
	// silence is how long a call may be without progress.
	silence time.Duration
}

// instance is one server that runs, or can be started again. One goroutine owns it while it is not stopped
// and not failed.
type instance struct {
	server Server
	// open returns the transport for one start.
	open   func(ctx context.Context, log *ring) (mcp.Transport, error)
	client mcp.Implementation
	times  timing
	log    *ring
	// spawn starts a goroutine that the manager waits for.
	spawn func(func())
	// listed gets the tools of the server whenever they are listed.
	listed func([]Tool)

	mu      sync.Mutex    // guards the following
	state   State         // changed by change only
	changed chan struct{} // closed and replaced with every change of the state
	session *mcp.ClientSession
	calls   map[*call]bool
	// lastUsed is when the last call ended, or the instance became ready.
	lastUsed time.Time
	err      error // of the last failure
	failures int   // in a row
	retryAt  time.Time
	stop     context.CancelCauseFunc // ends the goroutine; set while it runs
	lost     chan struct{}           // closed when a call of the session was lost; replaced with the session
	closed   bool                    // it is not started again
}

// call is one call that runs.
type call struct {
	at     Place
	caller string // who asks, for questions of the server
	// ask is nil, as complete is, if the call cannot answer requests of the server: a view makes it.
	ask   func(ctx context.Context, q Question) (Answer, error)
	token string
	// complete and onProgress are those of the Call.
	complete   func(ctx context.Context, r ModelRequest) (ModelAnswer, error)
	onProgress func(Progress)
	samplings  atomic.Int32 // requests for the model
	// progress has room for one and is signalled by progress of the call.
	progress chan struct{}
}

// errEnded is the cause of an end that the hub wants.
var errEnded = errors.New("the hub ends the server")

// errReplaced means that an instance was ended for good before a call was sent to it: its server or a secret of it has
// changed, or its place was needed.
var errReplaced = errors.New("the server was changed or removed")

// applyEvent applies an event to the state, if it has one there. It reports whether it has. The caller holds mu.
func (s *instance) applyEvent(e event) bool {
	next, ok := transitions[s.state][e]
	if !ok {
		return false
	}
	s.log.add(FromHub, string(s.state)+" → "+string(next))
	s.state = next
	close(s.changed)
	s.changed = make(chan struct{})
	return true
}

// acquire returns the session of a ready server, which it starts if necessary, and registers a call, unless it
// is nil. The caller must call release with the same call.
func (s *instance) acquire(ctx context.Context, c *call) (*mcp.ClientSession, error) {
	for {
		s.mu.Lock()
		if s.state == Ready {
			if c != nil {
				s.calls[c] = true
			}
			session := s.session
			s.mu.Unlock()
			return session, nil
		}
		wait, err := s.startIfNeeded()
		changed := s.changed
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-changed:
		case <-wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if err := s.startFailed(); err != nil {
			return nil, err
		}
	}
}

// awaitReady starts the server unless it runs, and waits until its tools are listed.
func (s *instance) awaitReady(ctx context.Context) error {
	_, err := s.acquire(ctx, nil)
	return err
}

// startFailed returns the error of a start that has just failed, so that callers do not wait for the next one.
func (s *instance) startFailed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Failed && time.Now().Before(s.retryAt) {
		return s.failure()
	}
	return nil
}

// failure describes the last failure. The caller holds mu.
func (s *instance) failure() error {
	return fmt.Errorf("%w (attempt %d, the next one in %s)", s.err, s.failures, max(time.Until(s.retryAt), 0).Round(time.Second))
}

// startIfNeeded starts the server if it does not run. A channel is returned if it is in a pause, which ends then. The caller
// holds mu.
func (s *instance) startIfNeeded() (<-chan time.Time, error) {
	if s.closed {
		return nil, errReplaced
	}
	switch s.state {
	case Failed:
		if left := time.Until(s.retryAt); left > s.times.maxWait {
			return nil, s.failure()
		} else if left > 0 {
			return time.After(left), nil
		}
		s.launch()
	case Stopped:
		s.launch()
	}
	return nil, nil
}

// launch starts the goroutine of the instance. The caller holds mu.
func (s *instance) launch() {
	if !s.applyEvent(needed) {
		return
	}
	ctx, stop := context.WithCancelCause(context.Background())
	s.stop = stop
	s.spawn(func() {
		defer stop(nil)
		s.run(ctx)
	})
}

// run runs the server until it ends. It is the goroutine of the instance.
func (s *instance) run(ctx context.Context) {
	started, err := s.runOnce(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session, s.stop = nil, nil
	if s.state == Stopping || errors.Is(context.Cause(ctx), errEnded) {
		s.applyEvent(ended)
		s.applyEvent(gone)
		return
	}
	if !started.IsZero() && time.Since(started) >= s.times.steady {
		s.failures = 0
	}
	s.failures++
	s.err = errors.New(s.log.clean(err.Error()))
	s.retryAt = time.Now().Add(backoff(s.failures, s.times.firstPause, s.times.maxPause))
	s.log.add(FromHub, s.err.Error())
	s.applyEvent(broke)
}

// runOnce starts the server and waits for its end. It returns when it became ready, if it did, and why it ended.
func (s *instance) runOnce(ctx context.Context) (ready time.Time, err error) {
	// SSE binds its stream to the context of the connection, so a deadline there would end a ready server. A timer that
	// stops with the start limits it instead.
	connected, disconnect := context.WithCancelCause(ctx)
	defer disconnect(nil)
	late := fmt.Errorf("the server did not answer within %s", s.times.start)
	limit := time.AfterFunc(s.times.start, func() { disconnect(late) })
	defer limit.Stop()
	transport, err := s.open(connected, s.log)
	if err != nil {
		return ready, err
	}
	relist := make(chan struct{}, 1)
	session, err := s.newClient(relist).Connect(connected, transport, nil)
	if err != nil {
		return ready, endReason(connected, transport, fmt.Errorf("connect: %w", err))
	}
	gone := make(chan error, 1)
	s.spawn(func() { gone <- session.Wait() })
	defer func() {
		_ = session.Close() // it may be broken already
		<-gone
	}()
	if err := s.listTools(connected, session); err != nil {
		return ready, endReason(connected, transport, err)
	}
	if !limit.Stop() {
		return ready, late // the timer disconnects the session
	}
	ready = time.Now()
	s.mu.Lock()
	lost := make(chan struct{})
	s.session, s.lost, s.lastUsed = session, lost, ready
	s.applyEvent(started)
	s.mu.Unlock()
	err = s.watch(ctx, session, gone, watched{relist, lost})
	return ready, endReason(ctx, transport, err)
}

// endReason returns the most useful of several reasons for the end of a server.
func endReason(ctx context.Context, t mcp.Transport, err error) error {
	if p, ok := t.(*program); ok && p.ended() != nil {
		return p.ended()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// watched are the signals about a ready server: its tools have changed, or a call of it was lost.
type watched struct{ relist, lost <-chan struct{} }

// watch waits for the end of a ready server. Meanwhile it lists changed tools and ends an idle server.
func (s *instance) watch(ctx context.Context, session *mcp.ClientSession, gone chan error, on watched) error {
	var settled <-chan time.Time
	idle := time.NewTicker(max(s.times.idle/4, time.Millisecond))
	defer idle.Stop()
	for {
		select {
		case err := <-gone:
			gone <- err
			if err == nil {
				err = errors.New("the server closed the connection")
			}
			return err
		case <-ctx.Done():
			s.mu.Lock()
			s.applyEvent(ended)
			s.mu.Unlock()
			return context.Cause(ctx)
		case <-on.lost: // a session over HTTP does not notice it
			return errors.New("the server ended during a call")
		case <-on.relist:
			if settled == nil {
				settled = time.After(s.times.debounce)
			}
		case <-settled:
			settled = nil
			listing, cancel := context.WithTimeout(ctx, s.times.start)
			err := s.listTools(listing, session)
			cancel()
			if err != nil {
				s.log.add(FromHub, "list tools: "+err.Error())
			}
		case <-idle.C:
			if s.endIfIdle(s.times.idle) {
				return errEnded
			}
		}
	}
}

// endIfIdle begins the end of a ready server without calls since that time, and reports whether it did.
func (s *instance) endIfIdle(since time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state == Ready && len(s.calls) == 0 && time.Since(s.lastUsed) >= since && s.applyEvent(ended)
}

// isRunning reports whether the server runs, starts or stops.
func (s *instance) isRunning() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state != Stopped && s.state != Failed
}

// end ends the server and keeps it from being started again. It does not wait.
func (s *instance) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.stop != nil {
		s.stop(errEnded)
		return
	}
	s.applyEvent(ended)
}

// skipPause ends the pause after a failure: the next call of startIfNeeded starts the server at once.
func (s *instance) skipPause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retryAt = time.Time{}
}

// abandonSession ends the session of a call that was lost.
func (s *instance) abandonSession(session *mcp.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session && s.lost != nil {
		close(s.lost)
		s.lost = nil
	}
}

// startUnlessFailed starts the server unless it runs or failed shortly before. It reports whether the server may be
// ready soon: it runs, or is started for the first time.
func (s *instance) startUnlessFailed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Stopped || s.state == Failed && !time.Now().Before(s.retryAt) {
		_, _ = s.startIfNeeded() // a server that was removed is not started
	}
	return s.failures == 0 || s.state == Ready
}

// listTools lists the tools of the server.
func (s *instance) listTools(ctx context.Context, session *mcp.ClientSession) error {
	var all []Tool
	if r := session.InitializeResult(); r != nil && r.Capabilities != nil && r.Capabilities.Tools == nil {
		s.listed(all)
		return nil
	}
	seen := map[string]bool{}
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list tools: %w", err)
		}
		tool, ok := toolOf(s.server, t)
		if !ok || len(all) >= maxTools || seen[tool.ModelName] {
			s.log.add(FromHub, "the tool "+shorten(t.Name)+" cannot be used")
			if len(all) >= maxTools {
				break
			}
			continue
		}
		seen[tool.ModelName] = true
		all = append(all, tool)
	}
	s.listed(all)
	return nil
}
