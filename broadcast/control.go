package broadcast

import (
	"net"
	"os"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// farewell is how long a tab that was given up may take for its close frame.
const farewell = time.Second

// WriteControl writes whole WebSocket frames of the library (pong, close)
// between two of ours. It waits as long as the write timeout allows.
func (t *Tab) WriteControl(frames []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	deadline := time.Now().Add(t.center.cfg.WriteTimeout)
	size := len(frames)
	for t.owner != nil {
		c := &control{frames: frames, done: make(chan struct{})}
		if !t.gone {
			t.line(c)
		}
		switch t.await(c, time.Until(deadline)) {
		case controlWritten:
			return size, nil
		case controlLate:
			return 0, os.ErrDeadlineExceeded
		case controlBegun:
			frames = nil // what is left of them is in rest
		case controlLeft:
		}
	}
	if t.hung {
		return 0, net.ErrClosed // nothing may follow our close frame
	}
	if t.gone {
		deadline = time.Now().Add(min(farewell, t.center.cfg.WriteTimeout))
	}
	return t.writeAlone(frames, size, deadline)
}

// What became of control frames.
type controlEnd uint8

const (
	controlWritten controlEnd = iota
	controlBegun              // the owner ended within them
	controlLeft               // the owner ended before them
	controlLate
)

// line puts control frames at the end of the line.
func (t *Tab) line(c *control) {
	at := &t.control
	for *at != nil {
		at = &(*at).next
	}
	*at = c
}

// await waits for the owner to write control frames. The caller has t.mu, which
// is given up meanwhile.
func (t *Tab) await(c *control, limit time.Duration) controlEnd {
	owner := t.owner
	t.mu.Unlock()
	timer := time.NewTimer(limit)
	late := false
	select {
	case <-c.done:
	case <-owner:
	case <-timer.C:
		late = true
	}
	timer.Stop()
	t.mu.Lock()
	for at := &t.control; *at != nil; at = &(*at).next {
		if *at == c {
			*at = c.next
			break
		}
	}
	select {
	case <-c.done:
		return controlWritten
	default:
	}
	switch {
	case late:
		return controlLate
	case c.begun:
		return controlBegun
	}
	return controlLeft
}

// writeAlone writes what is left and then control frames, waiting until a
// deadline. The caller has t.mu and nobody owns the tab.
func (t *Tab) writeAlone(frames []byte, size int, deadline time.Time) (int, error) {
	f := t.center.cfg.Writers.get()
	defer t.center.cfg.Writers.put(f)
	left := frames
	if t.fd != noDescriptor && !t.gone && len(t.rest) == 0 {
		n, err := writeNow(t.fd, frames)
		if err != nil {
			t.broken(err)
			return 0, err
		}
		if n == len(frames) {
			t.sent += int64(n)
			t.hangUp(frames)
			return size, nil
		}
		t.sent += int64(n)
		left = frames[n:]
	}
	t.acquire()
	err := t.conn.SetWriteDeadline(deadline)
	for _, out := range [][]byte{t.rest, left} {
		if err != nil || len(out) == 0 {
			continue
		}
		t.mu.Unlock()
		var n int
		n, err = t.conn.Write(out)
		t.mu.Lock()
		t.sent += int64(n)
		t.rest = out[n:]
	}
	_ = t.conn.SetWriteDeadline(time.Time{}) // a closed connection has said so to Write
	t.release()
	if err != nil {
		if isTimeout(err) {
			t.giveUp(wire.CloseTooSlow, "takes nothing")
		} else {
			t.broken(err)
		}
		return 0, err
	}
	t.hangUp(frames)
	t.flush(f, nil)
	return size, nil
}

// hangUp ends the tab after a close frame: nothing may follow it. The caller has
// t.mu.
func (t *Tab) hangUp(frames []byte) {
	if isClose(frames) {
		t.gone, t.hung = true, true
	}
}

// isClose reports whether control frames begin with a close.
func isClose(frames []byte) bool {
	const closeFrame = 0x88
	return len(frames) > 0 && frames[0] == closeFrame
}
