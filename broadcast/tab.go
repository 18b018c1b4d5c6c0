package broadcast

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// TabConfig is what a [Tab] is made of.
type TabConfig struct {
	// Conn is where the bytes go. The Center only writes to it and sets its
	// write deadlines.
	Conn *Socket
	Form Form
	// Who is what others are shown of the connection.
	Who wire.Connection
	// Monitors filters the events; none means all.
	Monitors []wire.MonitorID
	// ResumeFrom is the last message_id the client saw, as it sent it.
	// Anything that is not a position in the log means a snapshot.
	ResumeFrom string
	// Name, unless empty, is what the frames name the session by instead of its id. All
	// tabs of a session that have one have the same.
	Name wire.SessionID
	// Plain is for clients that do not know mode resume. The whole state comes first,
	// with a message_id; what they missed follows, or else the questions that the plan
	// waits for, each as the event that asked it.
	Plain bool
	// Returning says that a client of the desktop dialect may still show what it saw of
	// the session before. It gets the end of what ended since.
	Returning bool
	// Closed is called once, from a goroutine of its own, when the Center
	// gives the tab up: too slow, position lost, session deleted, connection
	// broken. It is not called after Detach.
	Closed func(code wire.CloseCode, reason string)
}

// A tab that has lost its place for the third time within lostWithin is too
// slow.
const lostWithin = time.Minute

// maxMonitors bounds the filter of a tab.
const maxMonitors = 64

// Tab is one connection that watches a session.
//
// It is a position in a ring. At most one goroutine at a time writes to the
// connection: whoever has mu, without waiting; or the one that owns it, which
// may wait and does not have mu then.
type Tab struct {
	// What every write looks at comes first and fills two lines of the processor's
	// cache, for it was not looked at since the last one and there are many tabs.

	mu sync.Mutex    // guards what does not say otherwise
	at wire.Position // everything up to it is written, or in rest
	// owner is closed when the goroutine that may wait has ended. Without
	// one, rest, own, due, control and fresh are empty, or the tab is gone.
	owner     chan struct{}
	filter    *filter
	sent      int64 // bytes written so far
	fd        int32 // of conn; noDescriptor where writing may always wait, and after the end
	form      Form  // never changes, like the next two
	ringIndex uint8 // of ring among the rings of the Center
	plain     bool  // see TabConfig
	gone      bool
	hung      bool   // our close frame was written
	busy      bool   // see Moving
	rest      []byte // goes before everything else
	own       []byte // whole frames for this tab alone
	due       []due  // likewise, for later

	cancel  context.CancelFunc // ends what the owner waits for besides the socket
	control *control           // whole frames of the WebSocket library
	fresh   wire.SnapshotReason
	asked   uint32       // counts the orders for a snapshot
	lost    [2]time.Time // when its place was lost lately
	moves   moves
	hold    *hold // while rest is a part of a large snapshot; the owner ends it
	who     wire.Connection

	// These never change.

	center *Center
	ring   *ring
	conn   *Socket
	closed func(wire.CloseCode, string)

	group *group // guarded by the Center's lock
	slot  int    // guarded by the group's lock
}

// due is a frame that may not come before an event.
type due struct {
	at    wire.Position
	frame []byte
	// passing says that it is worth nothing after a later event.
	passing bool
}

// control is frames of the WebSocket library on their way.
type control struct {
	frames []byte
	done   chan struct{}
	begun  bool
	next   *control
}

// follow gives the tab a chunk that was published just now, if that is all it needs:
// it has seen everything before, there is nothing else to write, and the bytes are
// ready. That is how it nearly always is; otherwise it reports false, and flush
// knows what to do. The caller has t.mu.
func (t *Tab) follow(c *chunk) (events int, ok bool) {
	if t.at != c.prev || t.owner != nil || t.gone || t.fd == noDescriptor || len(t.rest)+len(t.own)+len(t.due) > 0 {
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
		n, err := writeNow(t.fd, c.data)
		if err != nil {
			t.broken(err)
			return 0, true
		}
		t.sent += int64(n)
		if n < len(c.data) {
			b := batch{form: t.form, after: c.prev, filter: t.filter, chunks: []*chunk{c}}
			t.at, t.rest, events = b.cut(n)
			t.start()
			return events, true
		}
	}
	t.at = c.last()
	return len(c.events), true
}

// flush writes what there is as far as the socket takes it at once; for the rest
// it starts a goroutine. A page is a chunk that may go before the ring. The
// caller has t.mu.
func (t *Tab) flush(f *flusher, page *chunk) {
	if t.owner != nil || t.gone {
		return
	}
	if t.fd == noDescriptor || t.fresh != "" {
		if t.pending() {
			t.start()
		}
		return
	}
	for {
		if len(t.rest) > heldLimit && !t.giveRest() {
			return
		}
		b := &f.batch
		if !b.fits(t) {
			switch b.take(t, batchLimit, false) {
			case foundNothing:
				if len(t.rest)+len(t.own)+len(t.due) > 0 {
					t.give(f)
				}
				return
			case foundGap:
				if page == nil || t.at.Compare(page.last()) >= 0 {
					t.start()
					return
				}
				b.page(page, t, batchLimit, false)
			case foundBytes:
			}
		}
		if !t.give(f) {
			return
		}
		if b.ring != nil && b.at.Compare(b.head) >= 0 {
			return
		}
	}
}

// give writes rest, the batch at hand and the private frames in one piece, and
// reports whether the socket took it all.
func (t *Tab) give(f *flusher) bool {
	b := &f.batch
	data, after := b.data, t.at
	if len(b.chunks) > 0 {
		after = b.at
	}
	ripe := t.ripe(after)
	if len(t.rest)+len(t.own)+ripe > 0 {
		f.joint = append(f.joint[:0], t.rest...)
		f.joint = append(f.joint, b.data...)
		f.joint = append(f.joint, t.own...)
		for _, d := range t.due[:ripe] {
			if !d.passing || d.at == after {
				f.joint = append(f.joint, d.frame...)
			}
		}
		data = f.joint
	}
	n := 0
	if len(data) > 0 {
		var err error
		if n, err = writeNow(t.fd, data); err != nil {
			t.broken(err)
			return false
		}
		t.sent += int64(n)
	}
	own := len(t.rest) + len(b.data) // where it begins
	switch {
	case n >= own:
		if len(b.chunks) > 0 {
			f.wrote(b.events)
		}
		t.rest, t.own, t.at = slices.Clone(data[n:]), nil, after
		t.due = t.due[ripe:]
		if len(t.due) == 0 {
			t.due = nil
		}
	case n < len(t.rest):
		t.rest = t.rest[n:]
	default:
		var events int
		t.at, t.rest, events = b.cut(n - len(t.rest))
		f.wrote(events)
	}
	if n < len(data) {
		t.start()
	}
	return n == len(data)
}

// giveRest is give for a rest that is too large to be copied.
func (t *Tab) giveRest() bool {
	n, err := writeNow(t.fd, t.rest)
	if err != nil {
		t.broken(err)
		return false
	}
	t.sent += int64(n)
	if t.rest = t.rest[n:]; len(t.rest) == 0 {
		t.rest = nil
		return true
	}
	t.start()
	return false
}

// ripe is how many frames may be written after an event. The caller has t.mu.
func (t *Tab) ripe(at wire.Position) int {
	n := 0
	for n < len(t.due) && t.due[n].at.Compare(at) <= 0 {
		n++
	}
	return n
}

// pending reports whether there is something to write. The caller has t.mu.
func (t *Tab) pending() bool {
	if len(t.rest)+len(t.own)+len(t.due) > 0 || t.control != nil || t.fresh != "" {
		return true
	}
	t.ring.mu.Lock()
	defer t.ring.mu.Unlock()
	return t.at.Compare(t.ring.head) < 0
}

// Send shows the tab an event of its own, between the others. It never waits. A
// tab that does not take its own answers is given up.
func (t *Tab) Send(e wire.Event) {
	if e.Session == "" {
		e.Session = t.center.session
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	frame := t.ring.private(e)
	f := t.center.cfg.Writers.get()
	t.mu.Lock()
	t.queue(frame)
	t.flush(f, nil)
	t.mu.Unlock()
	f.tell(t.center.cfg.Observer)
	t.center.cfg.Writers.put(f)
}

// queue keeps a private frame until the next write. The caller has t.mu.
func (t *Tab) queue(frame []byte) {
	switch {
	case t.gone:
	case len(t.own) > 0 && len(t.own)+len(frame) > heldLimit:
		t.giveUp(wire.CloseTooSlow, "does not take its answers")
	default:
		t.own = append(t.own, frame...)
	}
}

// queueAfter is queue for what must not be seen before an event. Calls come in
// the order of the events.
func (t *Tab) queueAfter(at wire.Position, frame []byte) {
	held := len(t.own)
	for _, d := range t.due {
		held += len(d.frame)
	}
	switch {
	case t.gone:
	case held > 0 && held+len(frame) > dueLimit:
		t.giveUp(wire.CloseTooSlow, "does not take its answers")
	default:
		t.due = append(t.due, due{at: at, frame: frame})
	}
}

// Watch adds a monitor to the filter of a tab that has one, and shows it a fresh
// snapshot then.
func (t *Tab) Watch(m wire.MonitorID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.filter == nil || t.filter.shows(m) || len(t.filter.monitors) >= maxMonitors {
		return
	}
	t.filter = newFilter(append(slices.Clone(t.filter.monitors), m))
	t.who.Monitors = append(slices.Clone(t.who.Monitors), m)
	t.ask(wire.SnapshotFresh)
}

// ask has a snapshot sent to the tab. The caller has t.mu.
func (t *Tab) ask(reason wire.SnapshotReason) {
	if t.gone {
		return
	}
	t.fresh = reason
	t.asked++
	if t.owner == nil {
		t.start()
	}
}

// Detach forgets the tab. It returns after the last write to the connection
// that is not a WriteControl still to come.
func (t *Tab) Detach() {
	t.center.forget(t)
	t.mu.Lock()
	t.gone = true
	t.interrupt()
	for t.owner != nil {
		owner := t.owner
		t.mu.Unlock()
		<-owner
		t.mu.Lock()
	}
	t.mu.Unlock()
	t.conn.takeBack(t)
}

// giveUp ends the tab from our side. The caller has t.mu.
func (t *Tab) giveUp(code wire.CloseCode, reason string) {
	if t.gone {
		return
	}
	t.gone = true
	t.interrupt()
	if code == wire.CloseTooSlow {
		t.center.cfg.Observer.Slow()
	}
	if t.closed != nil {
		t.center.wg.Go(func() { t.closed(code, reason) })
	}
}

// broken ends a tab whose connection takes no more.
func (t *Tab) broken(err error) {
	t.center.cfg.Logger.Debug("connection is broken", "session", t.center.session,
		"connection", t.who.ConnectionID, "error", err)
	t.giveUp(wire.CloseInternal, "connection is broken")
}

// interrupt ends what the owner waits for. The caller has t.mu and has set gone.
func (t *Tab) interrupt() {
	if t.owner == nil {
		return
	}
	if t.cancel != nil {
		t.cancel()
	}
	_ = t.conn.SetWriteDeadline(past()) // a connection that is closed waits for nothing
}

// acquire makes the caller the one that may wait. The caller has t.mu.
func (t *Tab) acquire() { t.owner = make(chan struct{}) }

// release is the end of acquire.
func (t *Tab) release() {
	close(t.owner)
	t.owner, t.cancel = nil, nil
}
