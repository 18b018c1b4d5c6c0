package broadcast

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ErrClosed is returned by a [Center] after Close.
var ErrClosed = errors.New("session is closed on this replica")

// inlineTabs is the number of tabs up to which a publisher writes to the sockets itself:
// handing the work over costs more than a few writes.
const inlineTabs = 16

// Event is one committed event.
type Event struct {
	At wire.Position
	// Frame is the native frame, as in the log.
	Frame []byte
	// Data is the decoded event. It is nil for an event that could not be decoded, for
	// instance one of a newer hub, whose frame is delivered nevertheless.
	Data wire.ServerPayload
	Time time.Time
}

// Source provides what a [Center] does not hold. Its methods may be slow; the Center calls
// them outside its locks and only for the tabs that need them.
type Source interface {
	// Read returns events after a position, with the semantics of the store.
	Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error)
	// Oldest returns the position of the oldest event that Read can begin after.
	Oldest(ctx context.Context) (wire.Position, error)
	// Snapshot returns the state of some or all monitors at a position that is, or is about
	// to be, published.
	Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error)
}

// Config configures a [Center]. Zero fields mean the defaults.
type Config struct {
	// RingEvents and RingBytes bound the frames held per form. They default to 1,024 events
	// and 64 KiB, enough for tabs that were disconnected for a moment; older events are in
	// the log.
	RingEvents int
	RingBytes  int
	// ReplayEvents and ReplayBytes bound the events that a resuming tab is sent instead of
	// a snapshot. They default to 1,000 events and 1 MiB.
	ReplayEvents int
	ReplayBytes  int
	// SnapshotBytes bounds the large snapshots that tabs have not received yet, all
	// together. It defaults to 64 MiB.
	SnapshotBytes int
	// WriteTimeout is the time after which a tab is closed if its socket accepts nothing.
	// It defaults to 10 s.
	WriteTimeout time.Duration
	// Heartbeat is the interval announced in session_state. It defaults to 30 s.
	Heartbeat time.Duration
	// Writers write to the tabs of large sessions. All Centers of a replica share them. If
	// nil, Publish writes to all tabs itself.
	Writers *Writers
	// Observer counts deliveries; nil means none.
	Observer Observer
	Logger   *slog.Logger
}

func (c Config) withDefaults() Config {
	c.RingEvents = cmp.Or(c.RingEvents, 1024)
	c.RingBytes = cmp.Or(c.RingBytes, 64<<10)
	c.ReplayEvents = cmp.Or(c.ReplayEvents, 1000)
	c.ReplayBytes = cmp.Or(c.ReplayBytes, 1<<20)
	c.SnapshotBytes = cmp.Or(c.SnapshotBytes, 64<<20)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, 30*time.Second)
	if c.Writers == nil {
		c.Writers = &Writers{}
	}
	if c.Observer == nil {
		c.Observer = noopObserver{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Center delivers the log of one session to the tabs of this replica. It owns the goroutines
// of tabs whose sockets are full and those that call [TabConfig.Closed]. [Center.Close] stops
// the former, and [Center.Wait] returns when all have ended.
type Center struct {
	// mu guards the fields up to the blank line. It is locked before the mutex of a tab or
	// a ring, and never held during I/O.
	mu                sync.Mutex
	head              wire.Position
	closed            bool
	lateSenderRunning bool             // a goroutine will send throttled texts
	tabs              []*Tab           // oldest first
	rings             [encodings]*ring // by encoding.index; nil if unused
	byID              map[wire.ConnectionID]*Tab
	lastingNotice     *wire.Event // sent to new tabs as well, see Notify
	departed          []departed  // detached tabs of the desktop dialect, oldest first

	cfg       Config
	session   wire.SessionID
	src       Source
	cache     sourceCache
	snapshots pendingSnapshots
	pointers  pointerTimes
	ctx       context.Context // canceled by Close
	cancel    context.CancelFunc
	wg        sync.WaitGroup
}

// NewCenter returns the Center of a session, which delivers the events after head.
func NewCenter(cfg Config, session wire.SessionID, head wire.Position, src Source) *Center {
	c := &Center{
		cfg: cfg.withDefaults(), session: session, src: src, head: head,
		byID: map[wire.ConnectionID]*Tab{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Head returns the position of the newest published event.
func (c *Center) Head() wire.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head
}

// Heartbeat returns the interval announced in session_state.
func (c *Center) Heartbeat() time.Duration { return c.cfg.Heartbeat }

// Tabs returns the number of attached tabs.
func (c *Center) Tabs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tabs)
}

// Connections returns the oldest tabs, at most limit.
func (c *Center) Connections(limit int) []wire.Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := c.tabs[:min(limit, len(c.tabs))]
	list := make([]wire.Connection, 0, len(oldest))
	for _, t := range oldest {
		t.mu.Lock()
		list = append(list, t.who)
		t.mu.Unlock()
	}
	return list
}

// Publish delivers committed events, which must continue the previous ones without a gap. It
// never blocks on a socket. One goroutine at a time may call it; the memory of the events may
// be reused afterwards.
//
// An event with a To is delivered to that connection only: replies to duplicates unchanged,
// other refusals as an error. For ACTIONS and HISTORY_REWOUND with By and MessageID the
// connection By also gets EMITTED, for MESSAGE_REPEATED the connection To.
func (c *Center) Publish(events []Event) {
	var few [inlineTabs]*Tab
	var many [8]*group
	n := publication{tabs: few[:0], groups: many[:0]}
	c.appendToRings(events, &n)
	if len(n.groups) > 0 {
		c.cfg.Writers.enqueueGroups(n.groups)
		return
	}
	c.writeNews(&n)
}

// publication is the result of one Publish and its recipients: some tabs, or groups of
// tabs.
type publication struct {
	publishedAt time.Time
	chunks      [encodings]*chunk // unchanged until the next Publish
	tabs        []*Tab
	groups      []*group
}

// writeNews writes a publication to its tabs.
func (c *Center) writeNews(n *publication) {
	var f *flusher
	seen := 0
	for _, t := range n.tabs {
		t.mu.Lock()
		events, ok := t.writeChunk(n.chunks[t.ringIndex])
		if !ok {
			if f == nil {
				f = c.cfg.Writers.getFlusher()
			}
			t.flush(f, nil)
		}
		t.mu.Unlock()
		seen += events
	}
	if f != nil {
		f.reportDelivered(c.cfg.Observer)
		c.cfg.Writers.putFlusher(f)
	}
	if seen > 0 {
		c.cfg.Observer.Delivered(seen, elapsedSince(n.publishedAt))
	}
}

// writeGroups writes to the tabs of groups, inline if they are few and otherwise through
// the Writers.
func (c *Center) writeGroups(groups []*group, tabs int) {
	if tabs <= inlineTabs || c.cfg.Writers.running == 0 {
		if tabs == 0 {
			return
		}
		f := c.cfg.Writers.getFlusher()
		for _, g := range groups {
			f.writeGroup(g)
		}
		c.cfg.Writers.putFlusher(f)
		return
	}
	c.cfg.Writers.enqueueGroups(groups)
}

// appendToRings appends events to the rings and queues private replies for the tabs.
func (c *Center) appendToRings(events []Event, n *publication) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(events) > 0 && events[0].At.Compare(c.head) <= 0 {
		events = events[1:] // already published
	}
	if c.closed || len(events) == 0 {
		return
	}
	prev := c.head
	c.head = events[len(events)-1].At
	if len(c.tabs) == 0 {
		return
	}
	inline := len(c.tabs) <= inlineTabs || c.cfg.Writers.running == 0
	n.publishedAt = time.Now()
	monitor, monitors := monitorsOf(events)
	for _, r := range c.rings {
		if r == nil {
			continue
		}
		made := r.encode(prev, events)
		made.monitor, made.monitors, made.publishedAt = monitor, monitors, n.publishedAt
		r.add(made, c.cfg.RingEvents, c.cfg.RingBytes)
		n.chunks[r.index()] = made
		if !inline {
			n.groups = append(n.groups, r.groups...)
		}
	}
	for i := range events {
		c.queueReply(&events[i])
	}
	c.startLateSender()
	if inline {
		n.tabs = append(n.tabs, c.tabs...)
	}
}

// queueReply queues the private frame for the connection that an event replies to, if it is
// attached here.
func (c *Center) queueReply(e *Event) {
	var to wire.ConnectionID
	var data wire.ServerPayload
	switch p := e.Data.(type) {
	case wire.MessageAccepted:
		to, p.To = p.To, ""
		data = p
	case wire.MessageQueued:
		to, p.To = p.To, ""
		data = p
	case wire.MessageRejected:
		to, p.To = p.To, ""
		data = p
		if !p.Duplicate {
			notice := p.Code.Notice(p.Reason)
			notice.MessageID, notice.Field = p.MessageID, p.Field
			data = notice
		}
	case wire.AppProtocolRequest:
		to, p.To = p.To, ""
		data = p
	case wire.MessageRepeated:
		to, data = p.To, wire.Emitted{MessageID: p.MessageID, At: p.First}
	case wire.Actions:
		if p.MessageID == "" {
			return
		}
		to, data = p.By, wire.Emitted{MessageID: p.MessageID, At: e.At}
	case wire.HistoryRewound:
		if p.MessageID == "" {
			return
		}
		to, data = p.By, wire.Emitted{MessageID: p.MessageID, At: e.At}
	}
	if to == "" {
		return
	}
	if t := c.byID[to]; t != nil {
		frame := t.ring.privateFrame(wire.Event{Session: c.session, Time: e.Time, Data: data})
		t.mu.Lock()
		t.queueAfter(e.At, frame)
		t.mu.Unlock()
	}
}

// Restart continues the log at head after the store lost data. Every tab gets a new
// snapshot.
func (c *Center) Restart(head wire.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head = head
	c.cache.clear()
	for _, r := range c.rings {
		if r != nil {
			r.restart(head)
		}
	}
	for _, t := range c.tabs {
		t.mu.Lock()
		t.requestSnapshot(wire.SnapshotUnknown)
		t.mu.Unlock()
	}
}

// Close closes every tab with a code. It does not block.
func (c *Center) Close(code wire.CloseCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cancel()
	for _, t := range c.tabs {
		t.mu.Lock()
		t.closeTab(code, reason)
		t.mu.Unlock()
	}
}

// CloseConnection closes one tab with a code and reports whether it is attached here.
func (c *Center) CloseConnection(id wire.ConnectionID, code wire.CloseCode, reason string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.byID[id]
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closeTab(code, reason)
	return true
}

// Wait returns when all goroutines of the Center have ended, after Close.
func (c *Center) Wait() { c.wg.Wait() }

// addTab adds a tab, and its ring if it is the first of its encoding.
func (c *Center) addTab(t *Tab, as encoding) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	r := c.rings[t.ringIndex]
	if r == nil {
		r = &ring{encoding: as, head: c.head, texts: texts{form: as.form, session: c.session}}
		c.rings[t.ringIndex] = r
	}
	t.ring = r
	r.tabs++
	if n := len(r.groups); n == 0 || !r.groups[n-1].add(t) {
		r.addToGroup(t)
	}
	c.tabs = append(c.tabs, t)
	c.byID[t.who.ConnectionID] = t
	c.queueLastingNotice(t)
	return nil
}

// addToGroup adds a tab to a group with space, or to a new one.
func (r *ring) addToGroup(t *Tab) {
	for _, g := range r.groups {
		if g.add(t) {
			return
		}
	}
	g := &group{}
	g.add(t)
	r.groups = append(r.groups, g)
}

// removeTab removes a tab, and its ring if it was the last of its encoding.
func (c *Center) removeTab(t *Tab) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.group == nil {
		return
	}
	at := slices.Index(c.tabs, t)
	c.tabs = slices.Delete(c.tabs, at, at+1)
	c.recordDeparted(t)
	if c.byID[t.who.ConnectionID] == t {
		delete(c.byID, t.who.ConnectionID)
	}
	r := t.ring
	r.tabs--
	if t.group.remove(t) {
		r.removeGroup(t.group)
	}
	t.group = nil
	if r.tabs == 0 {
		c.rings[r.index()] = nil
	}
}
