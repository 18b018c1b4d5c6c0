package broadcast

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// TabConfig configures a [Tab].
type TabConfig struct {
	// Conn is the connection. The Center only writes to it and sets its write deadlines.
	Conn *Socket
	Form Form
	// Who is the public description of the connection.
	Who wire.Connection
	// Monitors filters the events; empty means all monitors.
	Monitors []wire.MonitorID
	// ResumeFrom is the last message_id that the client saw, as the client sent it. A value
	// that is not a position in the log leads to a snapshot.
	ResumeFrom string
	// Name, unless empty, replaces the session's id in all frames. All tabs of a session
	// that have a Name have the same.
	Name wire.SessionID
	// Plain is for clients that do not know the mode resume. They get the whole state
	// first, with a message_id; the missed events follow, or otherwise the questions that
	// the plan waits for, each as its original event.
	Plain bool
	// Returning means that a client of the desktop dialect may still show what it saw of
	// the session before. It gets the ending of everything that ended since.
	Returning bool
	// Closed is called once, on its own goroutine, when the Center closes the tab: too
	// slow, position lost, session deleted, connection broken. It is not called after
	// Detach.
	Closed func(code wire.CloseCode, reason string)
}

// lostWindow is the time within which a tab that loses its position for the third time is
// closed as too slow.
const lostWindow = time.Minute

// maxMonitors bounds the filter of a tab.
const maxMonitors = 64

// Tab is one connection attached to a session: a position in a ring.
//
// At most one goroutine at a time writes to the connection: either the holder of mu, with
// non-blocking writes, or the owner goroutine, which may block and does not hold mu while it
// does.
type Tab struct {
	// The fields that every write touches come first and fill two CPU cache lines: with
	// many tabs they are not cached between writes.

	mu sync.Mutex    // guards all fields that do not say otherwise
	at wire.Position // everything up to it is written, or in unwritten
	// owner is closed when the owner goroutine has ended. Without an owner, unwritten,
	// privateFrames, afterEvent, control and snapshotReason are empty, or the tab is closing.
	owner         chan struct{}
	filter        *filter
	sent          int64 // bytes written so far
	fd            int32 // of conn; noDescriptor if non-blocking writes are impossible, and after the end
	form          Form  // constant, like the next two
	ringIndex     uint8 // index of ring in Center.rings
	plain         bool  // see TabConfig
	closing       bool
	closeSent     bool           // the hub's close frame was written
	behind        bool           // see Moving
	unwritten     []byte         // bytes to write before everything else
	privateFrames []byte         // complete frames for this tab alone
	afterEvent    []delayedFrame // likewise, to be written after an event

	cancel           context.CancelFunc // cancels the owner's calls of the Source
	control          *control           // queued control frames of the WebSocket library
	snapshotReason   wire.SnapshotReason
	snapshotRequests uint32       // number of requested snapshots
	lostAt           [2]time.Time // times of the last two lost positions
	progress         writeProgress
	snapshot         *pendingSnapshot // while unwritten is a part of a large snapshot; released by the owner
	who              wire.Connection

	// The fields below are constant.

	center *Center
	ring   *ring
	conn   *Socket
	closed func(wire.CloseCode, string)

	group *group // guarded by Center.mu
	slot  int    // guarded by group.mu
}

// delayedFrame is a frame that must not be written before an event.
type delayedFrame struct {
	at    wire.Position
	frame []byte
	// dropIfStale means that the frame is dropped once a later event was written.
	dropIfStale bool
}

// control is a queued write of control frames by the WebSocket library.
type control struct {
	frames  []byte
	done    chan struct{}
	started bool
	next    *control
}

// writeChunk writes a chunk that was just published, if that is all the tab needs: the tab
// is up to date, nothing else is pending, and the bytes can be sent unchanged. This is by
// far the most common case; otherwise it returns false, and the caller uses flush. The
// caller holds t.mu.
func (t *Tab) writeChunk(c *chunk) (events int, ok bool) {
	if t.at != c.prev || t.owner != nil || t.closing || t.fd == noDescriptor || len(t.unwritten)+len(t.privateFrames)+len(t.afterEvent) > 0 {
		return 0, false
	}
	if t.filter != nil {
		if c.monitors != nil {
			return 0, false
		}
		if !t.filter.shows(c.monitor) {
			t.at = c.last()
			return 0, true
		}
	}
	if t.form == FormBatch {
		return 0, false
	}
	if len(c.data) > 0 {
		n, err := writeNonBlocking(t.fd, c.data)
		if err != nil {
			t.closeBroken(err)
			return 0, true
		}
		t.sent += int64(n)
		if n < len(c.data) {
			b := writeBatch{form: t.form, after: c.prev, filter: t.filter, chunks: []*chunk{c}}
			t.at, t.unwritten, events = b.afterPartialWrite(n)
			t.startCatchUp()
			return events, true
		}
	}
	t.at = c.last()
	return len(c.events), true
}

// flush writes pending data as far as the socket accepts it without blocking, and starts
// the owner goroutine for the rest. page, unless nil, is a chunk that precedes the ring.
// The caller holds t.mu.
func (t *Tab) flush(f *flusher, page *chunk) {
	if t.owner != nil || t.closing {
		return
	}
	if t.fd == noDescriptor || t.snapshotReason != "" {
		if t.pending() {
			t.startCatchUp()
		}
		return
	}
	for {
		if len(t.unwritten) > maxHeldBytes && !t.writeUnwritten() {
			return
		}
		b := &f.batch
		if !b.fits(t) {
			switch b.fillFromRing(t, maxWriteBytes, false) {
			case batchEmpty:
				if len(t.unwritten)+len(t.privateFrames)+len(t.afterEvent) > 0 {
					t.writePending(f)
				}
				return
			case batchGap:
				if page == nil || t.at.Compare(page.last()) >= 0 {
					t.startCatchUp()
					return
				}
				b.fillFromPage(page, t, maxWriteBytes, false)
			case batchFilled:
			}
		}
		if !t.writePending(f) {
			return
		}
		if b.ring != nil && b.at.Compare(b.head) >= 0 {
			return
		}
	}
}

// writePending writes unwritten bytes, the batch and the private frames with one system
// call, and reports whether the socket accepted all of it.
func (t *Tab) writePending(f *flusher) bool {
	b := &f.batch
	data, after := b.data, t.at
	if len(b.chunks) > 0 {
		after = b.at
	}
	ripe := t.countDue(after)
	if len(t.unwritten)+len(t.privateFrames)+ripe > 0 {
		f.joined = append(f.joined[:0], t.unwritten...)
		f.joined = append(f.joined, b.data...)
		f.joined = append(f.joined, t.privateFrames...)
		for _, d := range t.afterEvent[:ripe] {
			if !d.dropIfStale || d.at == after {
				f.joined = append(f.joined, d.frame...)
			}
		}
		data = f.joined
	}
	n := 0
	if len(data) > 0 {
		var err error
		if n, err = writeNonBlocking(t.fd, data); err != nil {
			t.closeBroken(err)
			return false
		}
		t.sent += int64(n)
	}
	own := len(t.unwritten) + len(b.data) // offset of the private frames
	switch {
	case n >= own:
		if len(b.chunks) > 0 {
			f.countDelivered(b.events)
		}
		t.unwritten, t.privateFrames, t.at = slices.Clone(data[n:]), nil, after
		t.afterEvent = t.afterEvent[ripe:]
		if len(t.afterEvent) == 0 {
			t.afterEvent = nil
		}
	case n < len(t.unwritten):
		t.unwritten = t.unwritten[n:]
	default:
		var events int
		t.at, t.unwritten, events = b.afterPartialWrite(n - len(t.unwritten))
		f.countDelivered(events)
	}
	if n < len(data) {
		t.startCatchUp()
	}
	return n == len(data)
}

// writeUnwritten writes t.unwritten to the socket directly, without copying it into the
// shared buffer. It reports whether the socket accepted all of it.
func (t *Tab) writeUnwritten() bool {
	n, err := writeNonBlocking(t.fd, t.unwritten)
	if err != nil {
		t.closeBroken(err)
		return false
	}
	t.sent += int64(n)
	if t.unwritten = t.unwritten[n:]; len(t.unwritten) == 0 {
		t.unwritten = nil
		return true
	}
	t.startCatchUp()
	return false
}

// countDue returns the number of delayed frames that may be written after the event at a
// position. The caller holds t.mu.
func (t *Tab) countDue(at wire.Position) int {
	n := 0
	for n < len(t.afterEvent) && t.afterEvent[n].at.Compare(at) <= 0 {
		n++
	}
	return n
}

// pending reports whether there is data to write. The caller holds t.mu.
func (t *Tab) pending() bool {
	if len(t.unwritten)+len(t.privateFrames)+len(t.afterEvent) > 0 || t.control != nil || t.snapshotReason != "" {
		return true
	}
	t.ring.mu.Lock()
	defer t.ring.mu.Unlock()
	return t.at.Compare(t.ring.head) < 0
}

// Send sends the tab a private event, between the others. It never blocks. A tab that does
// not receive its private events is closed.
func (t *Tab) Send(e wire.Event) {
	if e.Session == "" {
		e.Session = t.center.session
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	frame := t.ring.privateFrame(e)
	f := t.center.cfg.Writers.getFlusher()
	t.mu.Lock()
	t.queue(frame)
	t.flush(f, nil)
	t.mu.Unlock()
	f.reportDelivered(t.center.cfg.Observer)
	t.center.cfg.Writers.putFlusher(f)
}

// queue adds a private frame to the next write. The caller holds t.mu.
func (t *Tab) queue(frame []byte) {
	switch {
	case t.closing:
	case len(t.privateFrames) > 0 && len(t.privateFrames)+len(frame) > maxHeldBytes:
		t.closeTab(wire.CloseTooSlow, "replies not received in time")
	default:
		t.privateFrames = append(t.privateFrames, frame...)
	}
}

// queueAfter queues a private frame that must not be written before the event at a
// position. Calls come in the order of events. The caller holds t.mu.
func (t *Tab) queueAfter(at wire.Position, frame []byte) {
	held := len(t.privateFrames)
	for _, d := range t.afterEvent {
		held += len(d.frame)
	}
	switch {
	case t.closing:
	case held > 0 && held+len(frame) > maxDelayedBytes:
		t.closeTab(wire.CloseTooSlow, "replies not received in time")
	default:
		t.afterEvent = append(t.afterEvent, delayedFrame{at: at, frame: frame})
	}
}

// Watch adds a monitor to the filter of a tab that has a filter, and sends it a new
// snapshot.
func (t *Tab) Watch(m wire.MonitorID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filter == nil || t.filter.shows(m) || len(t.filter.monitors) >= maxMonitors {
		return
	}
	t.filter = newFilter(append(slices.Clone(t.filter.monitors), m))
	t.who.Monitors = append(slices.Clone(t.who.Monitors), m)
	t.requestSnapshot(wire.SnapshotFresh)
}

// requestSnapshot makes the owner goroutine send a snapshot. The caller holds t.mu.
func (t *Tab) requestSnapshot(reason wire.SnapshotReason) {
	if t.closing {
		return
	}
	t.snapshotReason = reason
	t.snapshotRequests++
	if t.owner == nil {
		t.startCatchUp()
	}
}

// Detach removes the tab. It returns after the last write to the connection, except for
// calls of WriteControl still to come.
func (t *Tab) Detach() {
	t.center.removeTab(t)
	t.mu.Lock()
	t.closing = true
	t.interruptOwner()
	for t.owner != nil {
		owner := t.owner
		t.mu.Unlock()
		<-owner
		t.mu.Lock()
	}
	t.mu.Unlock()
	t.conn.detachTab(t)
}

// closeTab closes the tab from the hub's side. The caller holds t.mu.
func (t *Tab) closeTab(code wire.CloseCode, reason string) {
	if t.closing {
		return
	}
	t.closing = true
	t.interruptOwner()
	if code == wire.CloseTooSlow {
		t.center.cfg.Observer.Slow()
	}
	if t.closed != nil {
		t.center.wg.Go(func() { t.closed(code, reason) })
	}
}

// closeBroken closes a tab whose connection failed.
func (t *Tab) closeBroken(err error) {
	t.center.cfg.Logger.Debug("connection broken", "session", t.center.session,
		"connection", t.who.ConnectionID, "error", err)
	t.closeTab(wire.CloseInternal, "connection broken")
}

// interruptOwner ends the blocking calls of the owner goroutine. The caller holds t.mu and
// has set closing.
func (t *Tab) interruptOwner() {
	if t.owner == nil {
		return
	}
	if t.cancel != nil {
		t.cancel()
	}
	_ = t.conn.SetWriteDeadline(expiredDeadline()) // fails only if the connection is closed
}

// acquireOwner makes the caller the owner, which may block. The caller holds t.mu.
func (t *Tab) acquireOwner() { t.owner = make(chan struct{}) }

// releaseOwner ends the ownership. The caller holds t.mu.
func (t *Tab) releaseOwner() {
	close(t.owner)
	t.owner, t.cancel = nil, nil
}
