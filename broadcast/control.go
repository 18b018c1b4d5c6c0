package broadcast

import (
	"net"
	"os"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// closeTimeout bounds the write of a close frame to a tab that was closed.
const closeTimeout = time.Second

// WriteControl writes complete WebSocket frames of the library (pong, close) between two
// frames of the hub. It blocks for at most WriteTimeout.
func (t *Tab) WriteControl(frames []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	deadline := time.Now().Add(t.center.cfg.WriteTimeout)
	size := len(frames)
	for t.owner != nil {
		c := &control{frames: frames, done: make(chan struct{})}
		if !t.closing {
			t.queueControl(c)
		}
		switch t.waitControl(c, time.Until(deadline)) {
		case controlWritten:
			return size, nil
		case controlTimedOut:
			return 0, os.ErrDeadlineExceeded
		case controlPartial:
			frames = nil // their rest is in t.unwritten
		case controlUnsent:
		}
	}
	if t.closeSent {
		return 0, net.ErrClosed // nothing may follow the hub's close frame
	}
	if t.closing {
		deadline = time.Now().Add(min(closeTimeout, t.center.cfg.WriteTimeout))
	}
	return t.writeAlone(frames, size, deadline)
}

// controlResult is the result of waiting for control frames.
type controlResult uint8

const (
	controlWritten controlResult = iota
	controlPartial               // the owner ended in the middle of them
	controlUnsent                // the owner ended before them
	controlTimedOut
)

// queueControl appends control frames to the queue. The caller holds t.mu.
func (t *Tab) queueControl(c *control) {
	at := &t.control
	for *at != nil {
		at = &(*at).next
	}
	*at = c
}

// waitControl waits until the owner has written control frames. The caller holds t.mu,
// which is released meanwhile.
func (t *Tab) waitControl(c *control, limit time.Duration) controlResult {
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
		return controlTimedOut
	case c.started:
		return controlPartial
	}
	return controlUnsent
}

// writeAlone writes the unwritten bytes and then control frames, blocking until a deadline.
// The caller holds t.mu, and the tab has no owner.
func (t *Tab) writeAlone(frames []byte, size int, deadline time.Time) (int, error) {
	f := t.center.cfg.Writers.getFlusher()
	defer t.center.cfg.Writers.putFlusher(f)
	left := frames
	if t.fd != noDescriptor && !t.closing && len(t.unwritten) == 0 {
		n, err := writeNonBlocking(t.fd, frames)
		if err != nil {
			t.closeBroken(err)
			return 0, err
		}
		if n == len(frames) {
			t.sent += int64(n)
			t.noteClose(frames)
			return size, nil
		}
		t.sent += int64(n)
		left = frames[n:]
	}
	t.acquireOwner()
	err := t.conn.SetWriteDeadline(deadline)
	for _, out := range [][]byte{t.unwritten, left} {
		if err != nil || len(out) == 0 {
			continue
		}
		t.mu.Unlock()
		var n int
		n, err = t.conn.Write(out)
		t.mu.Lock()
		t.sent += int64(n)
		t.unwritten = out[n:]
	}
	_ = t.conn.SetWriteDeadline(time.Time{}) // a closed connection already failed in Write
	t.releaseOwner()
	if err != nil {
		if isTimeout(err) {
			t.closeTab(wire.CloseTooSlow, "socket accepts no data")
		} else {
			t.closeBroken(err)
		}
		return 0, err
	}
	t.noteClose(frames)
	t.flush(f, nil)
	return size, nil
}

// noteClose marks the tab as closed after a close frame, which no other frame may follow.
// The caller holds t.mu.
func (t *Tab) noteClose(frames []byte) {
	if isClose(frames) {
		t.closing, t.closeSent = true, true
	}
}

// isClose reports whether control frames begin with a close frame.
func isClose(frames []byte) bool {
	const closeFrame = 0x88
	return len(frames) > 0 && frames[0] == closeFrame
}
