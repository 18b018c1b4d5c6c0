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

// ErrClosed is the answer of a [Center] after its end.
var ErrClosed = errors.New("session is closed here")

// inlineTabs is up to how many tabs a publisher writes to itself: handing the
// work over costs more than a few writes.
const inlineTabs = 16

// Event is one committed event on its way to the tabs.
type Event struct {
	At wire.Position
	// Frame is the native frame, as it is in the log.
	Frame []byte
	// Data is the same event decoded. It is nil when it could not be, which
	// is how an event of a newer hub is shown all the same.
	Data wire.ServerPayload
	Time time.Time
}

// Source is where a [Center] gets what it does not hold. Its methods may be
// slow; the Center calls them outside its locks and only for the tab in need.
type Source interface {
	// Read is the store's.
	Read(ctx context.Context, after wire.Position, limit int) ([]store.Event, error)
	// Oldest is the position of the oldest event that Read can begin after.
	Oldest(ctx context.Context) (wire.Position, error)
	// Snapshot is the state of some or all monitors at a position that was,
	// or will at once be, published.
	Snapshot(ctx context.Context, monitors []wire.MonitorID) (wire.SessionState, error)
}

// Config tunes a [Center]. The zero value means the defaults.
type Config struct {
	// RingEvents and RingBytes bound the frames held per form. They default
	// to 1,024 events and 64 KiB, which tabs that were away for a moment find there; older ones are in the log.
	RingEvents int
	RingBytes  int
	// ReplayEvents and ReplayBytes bound what a resuming tab is sent instead
	// of a snapshot. They default to 1,000 events and 1 MiB.
	ReplayEvents int
	ReplayBytes  int
	// SnapshotBytes bounds the large snapshots that tabs have not taken yet,
	// all together. It defaults to 64 MiB.
	SnapshotBytes int
	// WriteTimeout is how long a socket may take nothing before its tab is
	// given up. It defaults to 10 s.
	WriteTimeout time.Duration
	// Heartbeat is what session_state announces. It defaults to 30 s.
	Heartbeat time.Duration
	// Writers write to the tabs of large sessions. All Centers of a replica
	// share them. Without any, Publish writes to all tabs itself.
	Writers *Writers
	// Observer is told what is written; nil means that nobody looks.
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
		c.Observer = blind{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Center shows the log of one session to the tabs of this replica.
//
// Ownership: the Center owns the goroutines of tabs whose sockets are full and
// of the calls of [TabConfig.Closed]. [Center.Close] ends the former, and
// [Center.Wait] returns when all have ended.
type Center struct {
	// mu guards the following. It is taken before the lock of a tab or a
	// ring, and never held while something is read or written.
	mu       sync.Mutex
	head     wire.Position
	closed   bool
	trailing bool             // a goroutine waits to send late texts
	tabs     []*Tab           // oldest first
	rings    [encodings]*ring // those in use
	byID     map[wire.ConnectionID]*Tab
	standing *wire.Event // what new tabs are told, see Tell
	departed []departed  // tabs of the desktop dialect that have left, oldest first

	cfg     Config
	session wire.SessionID
	src     Source
	share   share
	holds   holds
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup
}

// NewCenter makes the Center of a session whose log is shown from after head on.
func NewCenter(cfg Config, session wire.SessionID, head wire.Position, src Source) *Center {
	c := &Center{
		cfg: cfg.withDefaults(), session: session, src: src, head: head,
		byID: map[wire.ConnectionID]*Tab{},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Head is the position of the newest event published.
func (c *Center) Head() wire.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head
}

// Heartbeat is what session_state announces.
func (c *Center) Heartbeat() time.Duration { return c.cfg.Heartbeat }

// Tabs is how many tabs there are; Connections lists the oldest of them.
func (c *Center) Tabs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.tabs)
}

// Connections are the oldest tabs, up to a limit.
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

// Publish shows committed events, which continue the ones before without a gap.
// It never waits for a socket. One goroutine at a time may call it, who may use the
// memory of the events again afterwards.
//
// An event that has a To is shown only to that connection: the answers to
// duplicates as they are, other refusals as an error. ACTIONS and HISTORY_REWOUND with
// By and MessageID are also answered with EMITTED to the connection By,
// MESSAGE_REPEATED to the connection To.
func (c *Center) Publish(events []Event) {
	var few [inlineTabs]*Tab
	var many [8]*group
	n := news{tabs: few[:0], groups: many[:0]}
	c.append(events, &n)
	if len(n.groups) > 0 {
		c.cfg.Writers.news(n.groups)
		return
	}
	c.show(&n)
}

// news is what was published just now and for whom it is: some tabs, or groups of
// them.
type news struct {
	born   time.Time
	chunks [encodings]*chunk // which stay as they are until more is published
	tabs   []*Tab
	groups []*group
}

// show writes news to tabs.
func (c *Center) show(n *news) {
	var f *flusher
	seen := 0
	for _, t := range n.tabs {
		t.mu.Lock()
		events, ok := t.follow(n.chunks[t.ringIndex])
		if !ok {
			if f == nil {
				f = c.cfg.Writers.get()
			}
			t.flush(f, nil)
		}
		t.mu.Unlock()
		seen += events
	}
	if f != nil {
		f.tell(c.cfg.Observer)
		c.cfg.Writers.put(f)
	}
	if seen > 0 {
		c.cfg.Observer.Delivered(seen, since(n.born))
	}
}

// wake has somebody write to the tabs of groups that there is news for.
func (c *Center) wake(groups []*group, tabs int) {
	if tabs <= inlineTabs || c.cfg.Writers.running == 0 {
		if tabs == 0 {
			return
		}
		f := c.cfg.Writers.get()
		for _, g := range groups {
			f.group(g)
		}
		c.cfg.Writers.put(f)
		return
	}
	c.cfg.Writers.news(groups)
}

// append puts events into the rings, and private answers to them into the tabs.
func (c *Center) append(events []Event, n *news) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(events) > 0 && events[0].At.Compare(c.head) <= 0 {
		events = events[1:] // we have it
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
	n.born = time.Now()
	monitor, monitors := monitorsOf(events)
	for _, r := range c.rings {
		if r == nil {
			continue
		}
		made := r.encode(prev, events)
		made.monitor, made.monitors, made.born = monitor, monitors, n.born
		r.add(made, c.cfg.RingEvents, c.cfg.RingBytes)
		n.chunks[r.index()] = made
		if !inline {
			n.groups = append(n.groups, r.groups...)
		}
	}
	for i := range events {
		c.answer(&events[i])
	}
	c.trail()
	if inline {
		n.tabs = append(n.tabs, c.tabs...)
	}
}

// answer tells the connection that an event answers, if it is here.
func (c *Center) answer(e *Event) {
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
		frame := t.ring.private(wire.Event{Session: c.session, Time: e.Time, Data: data})
		t.mu.Lock()
		t.queueAfter(e.At, frame)
		t.mu.Unlock()
	}
}

// Restart says that the log goes on at head but not from where the Center was:
// the store has lost something. Every tab gets a fresh snapshot.
func (c *Center) Restart(head wire.Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head = head
	c.share.restart()
	for _, r := range c.rings {
		if r != nil {
			r.restart(head)
		}
	}
	for _, t := range c.tabs {
		t.mu.Lock()
		t.ask(wire.SnapshotUnknown)
		t.mu.Unlock()
	}
}

// Close gives every tab up with a code. It does not wait for anything.
func (c *Center) Close(code wire.CloseCode, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.cancel()
	for _, t := range c.tabs {
		t.mu.Lock()
		t.giveUp(code, reason)
		t.mu.Unlock()
	}
}

// CloseConnection gives one tab up with a code, and reports whether it is here.
func (c *Center) CloseConnection(id wire.ConnectionID, code wire.CloseCode, reason string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.byID[id]
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveUp(code, reason)
	return true
}

// Wait returns when everything the Center started has ended, after Close.
func (c *Center) Wait() { c.wg.Wait() }

// admit takes a tab in.
func (c *Center) admit(t *Tab, as encoding) error {
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
		r.place(t)
	}
	c.tabs = append(c.tabs, t)
	c.byID[t.who.ConnectionID] = t
	c.brief(t)
	return nil
}

// place finds a group with room, or makes one.
func (r *ring) place(t *Tab) {
	for _, g := range r.groups {
		if g.add(t) {
			return
		}
	}
	g := &group{}
	g.add(t)
	r.groups = append(r.groups, g)
}

// forget takes a tab out again.
func (c *Center) forget(t *Tab) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.group == nil {
		return
	}
	at := slices.Index(c.tabs, t)
	c.tabs = slices.Delete(c.tabs, at, at+1)
	c.noteDeparture(t)
	if c.byID[t.who.ConnectionID] == t {
		delete(c.byID, t.who.ConnectionID)
	}
	r := t.ring
	r.tabs--
	if t.group.remove(t) {
		r.drop(t.group)
	}
	t.group = nil
	if r.tabs == 0 {
		c.rings[r.index()] = nil
	}
}
