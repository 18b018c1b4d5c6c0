package rooipc

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/rooipc"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	// flushInterval is the time between two versions of a text that grows. Each version is the whole text.
	flushInterval = 100 * time.Millisecond
	// tailRetry is the pause before a log is read again whose position was lost.
	tailRetry = time.Second
	// missedEvents bounds the events that are replayed; a client that missed more gets the present rows.
	missedEvents = 2000
	// markInterval is the time between two marks, and maxMarks their number. What was sent arriveTime ago
	// has arrived.
	markInterval = time.Second
	maxMarks     = 4
	arriveTime   = 2 * time.Second
)

// taskStream sends the log of a session to a client.
type taskStream struct {
	client *client
	handle *session.Handle
	cancel context.CancelFunc
	wg     sync.WaitGroup
	wake   chan struct{} // there is text to flush

	mu       sync.Mutex // guards the following
	task     *rooipc.Task
	at       wire.Position
	marks    []mark
	lastSent time.Time
}

// mark is a position that was sent at some time. What was sent in the last moments before a connection is
// cut may not have arrived.
type mark struct {
	at   wire.Position
	when time.Time
}

// follow begins to send the log of a session to the client, instead of that of its last task. begin sends
// the first events; the state of the task is that before all later ones.
func (c *client) follow(ctx context.Context, id wire.SessionID, begin func(t *rooipc.Task, h *session.Handle, at wire.Position) error) error {
	opening, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	h, err := c.server.Hub.Open(opening, id) // it keeps the session loaded while the client is there
	if err != nil {
		return err
	}
	state, err := h.Snapshot(opening, nil)
	if err != nil {
		h.Close()
		return err
	}
	f := &taskStream{client: c, handle: h, task: rooipc.NewTask(id, state), at: state.LastMessageID, wake: make(chan struct{}, 1)}
	f.addMark(time.Now())
	c.leaveTask()
	if err := begin(f.task, h, f.at); err != nil {
		h.Close()
		return err
	}
	c.task = f
	f.send(f.at)
	ctx, f.cancel = context.WithCancel(ctx)
	f.wg.Go(func() { f.flushAll(ctx) })
	f.wg.Go(func() { f.tail(ctx) })
	return nil
}

// leaveTask stops following the present task, which goes on.
func (c *client) leaveTask() {
	if c.task == nil {
		return
	}
	c.task.stop()
	c.task.task.EmitUnfocused()
	c.task.send(wire.Position{})
	c.task = nil
}

// stop ends the goroutines.
func (f *taskStream) stop() {
	f.cancel()
	f.wg.Wait()
	f.handle.Close()
}

// send writes what the task has to send, and reports whether the client is still there. The caller holds
// mu, or is the only goroutine.
func (f *taskStream) send(at wire.Position) bool {
	return f.client.write(f.task.Take(at)...)
}

// safePosition returns a position up to which everything has very likely arrived.
func (f *taskStream) safePosition(now time.Time) wire.Position {
	if len(f.marks) == 0 || now.Sub(f.lastSent) > arriveTime {
		return f.at
	}
	for _, m := range slices.Backward(f.marks) {
		if now.Sub(m.when) > arriveTime {
			return m.at
		}
	}
	return f.marks[0].at
}

// flushAll sends texts that grow, at most every flushInterval.
func (f *taskStream) flushAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		f.mu.Lock()
		f.task.Flush()
		alive := f.send(wire.Position{})
		f.mu.Unlock()
		if !alive {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(flushInterval):
		}
	}
}

// tail sends the events of the log until the client is gone. When the store lost the position, it goes on
// with the present state.
func (f *taskStream) tail(ctx context.Context) {
	for {
		err := f.tailOnce(ctx)
		if ctx.Err() != nil || err == nil {
			return
		}
		if !isLost(err) {
			f.client.server.Log.Warn("reading the log for the IPC socket failed", "session", f.handle.Session(), "err", err)
		}
		select {
		case <-time.After(tailRetry):
		case <-ctx.Done():
			return
		}
		if !isLost(err) {
			continue
		}
		id := f.handle.Session()
		state, err := f.handle.Snapshot(ctx, nil)
		var older []rooipc.RowPage
		if err == nil {
			older, err = f.client.addOlderRows(ctx, id, rooipc.NewTask(id, state), nil)
		}
		if err != nil {
			f.client.disconnect() // it connects again, perhaps when the hub works again
			return
		}
		f.mu.Lock()
		f.task.Restart(state, older)
		f.at = state.LastMessageID
		f.send(f.at)
		f.mu.Unlock()
	}
}

func isLost(err error) bool {
	return errors.Is(err, store.ErrTrimmed) || errors.Is(err, store.ErrUnknownPosition) || errors.Is(err, store.ErrAhead)
}

// tailOnce sends events until the client is gone, which is no error, or the log cannot be read.
func (f *taskStream) tailOnce(ctx context.Context) error {
	for part, err := range f.client.server.Hub.Tail(ctx, f.handle.Session(), f.at) {
		if err != nil {
			return err
		}
		for _, stored := range part.Events {
			if !f.apply(stored) {
				return nil
			}
		}
	}
	return ctx.Err()
}

// apply sends an event, and reports whether the client is still there.
func (f *taskStream) apply(stored store.Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = stored.At
	e, err := wire.Native{}.DecodeEvent(stored.Frame)
	if err != nil {
		return true // of a newer hub
	}
	e.At = stored.At
	f.task.Apply(e)
	if f.task.HasUnsentText() {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
	alive := f.send(f.at)
	f.addMark(time.Now())
	return alive
}

func (f *taskStream) addMark(now time.Time) {
	f.lastSent = now
	if n := len(f.marks); n > 0 && now.Sub(f.marks[n-1].when) < markInterval {
		return
	}
	if len(f.marks) == maxMarks {
		f.marks = f.marks[1:]
	}
	f.marks = append(f.marks, mark{f.at, now})
}

// missed returns the events of the log between two positions, or an error if they cannot be read or are
// too many.
func missed(ctx context.Context, h *session.Handle, after, until wire.Position) ([]wire.Event, error) {
	stored, err := h.Read(ctx, after, missedEvents+1)
	if err != nil {
		return nil, err
	}
	var all []wire.Event
	for _, s := range stored {
		if s.At.Compare(until) > 0 {
			return all, nil
		}
		e, err := wire.Native{}.DecodeEvent(s.Frame)
		if err != nil {
			continue // of a newer hub
		}
		e.At = s.At
		all = append(all, e)
	}
	if len(stored) > missedEvents {
		return nil, store.ErrTrimmed
	}
	return all, nil
}
