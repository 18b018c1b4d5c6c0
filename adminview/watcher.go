package adminview

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// ErrQuery means that a [Query] cannot be understood.
var ErrQuery = errors.New("the query cannot be understood")

// Hub is what a monitor needs of the sessions here.
type Hub interface {
	Statuses(ctx context.Context) []session.Status
	Inspect(ctx context.Context, id wire.SessionID) (session.Inspection, error)
	InspectStored(ctx context.Context, id wire.SessionID) (session.Inspection, error)
	Viewers(id wire.SessionID) []broadcast.Viewer
	List(ctx context.Context, q store.Query) (store.Page[session.Info], error)
	Info(ctx context.Context, id wire.SessionID) (session.Info, error)
}

// Fleet says which replicas are alive.
type Fleet interface {
	Replicas(ctx context.Context) ([]membership.Card, error)
}

// Store is what a monitor needs of a store.
type Store interface {
	Get(ctx context.Context, collection, name string) (store.Document, error)
	Put(ctx context.Context, d store.Document) (version uint64, err error)
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
}

// Config tunes a [Watcher].
type Config struct {
	Replica wire.ReplicaID
	// Every is how often is reported and looked, 500 ms unless set.
	Every time.Duration
	// Sample is what this replica measures of itself.
	Sample func() Sample
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Every = cmp.Or(c.Every, 500*time.Millisecond)
	if c.Sample == nil {
		c.Sample = func() Sample { return Sample{} }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Watcher reports what this replica knows of its sessions to those who look, and
// puts together what all replicas report. Make it with [New].
type Watcher struct {
	cfg   Config
	hub   Hub
	fleet Fleet
	store Store
	// poke asks for a round at once, and done brings what was found out meanwhile
	// to the goroutine of Run.
	poke chan struct{}
	done chan func()

	// Of the goroutine of Run.
	lookout   lookout
	reporter  *reporter
	cards     []membership.Card // as they were last known
	peers     map[wire.ReplicaID]*peer
	directory *directory
	reported  map[wire.SessionID]*Row
	before    map[wire.SessionID]*Row // what was reported the last time
	last      map[wire.SessionID]part // what our own sessions said last
	studies   map[wire.SessionID]*study
	studying  int // how many of them are read now
	measured  memory
	gone      map[wire.ReplicaID]time.Time // since when replicas are missed
	troubled  bool
	crowded   time.Time      // when it was last said that too much is looked at
	running   sync.WaitGroup // what it started

	mu       sync.Mutex // guards the following; never held while anybody waits
	watching map[*Interest]bool
	glances  map[wire.SessionID]time.Time // until when; that of "" is for all
	listed   time.Time                    // as of when the directory is asked for; zero for no matter when
	current  *view                        // nil while nobody looks
	changed  chan struct{}                // closed when current is another
	numbers  uint64
}

// New makes the monitor of a replica. It does nothing before [Watcher.Run].
func New(cfg Config, h Hub, f Fleet, s Store) *Watcher {
	cfg = cfg.withDefaults()
	m := &Watcher{
		cfg: cfg, hub: h, fleet: f, store: s, poke: make(chan struct{}, 1), done: make(chan func()),
		reporter: newReporter(cfg.Replica), watching: map[*Interest]bool{}, glances: map[wire.SessionID]time.Time{},
		changed: make(chan struct{}),
	}
	m.forget()
	return m
}

// Run reports and watches until ctx ends.
//
// Ownership: it starts goroutines that read what takes long, and returns after they
// have ended.
func (m *Watcher) Run(ctx context.Context) {
	defer m.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case found := <-m.done:
			found()
			continue
		case <-timer.C:
		case <-m.poke:
			timer.Reset(max(hurryEvery-time.Since(last), 0))
			continue
		case <-ctx.Done():
			return
		}
		last = time.Now()
		m.round(ctx, last)
		timer.Reset(m.cfg.Every)
	}
}

// hurryEvery is how often rounds are made at the most.
const hurryEvery = 50 * time.Millisecond

// background does something that takes long. What it returns is done by the
// goroutine of Run.
func (m *Watcher) background(ctx context.Context, limit time.Duration, do func(ctx context.Context) func()) {
	m.running.Go(func() {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found := do(limited)
		select {
		case m.done <- found:
			m.hurry() // somebody waits for it
		case <-ctx.Done():
		}
	})
}

// hurry asks for a round at once.
func (m *Watcher) hurry() {
	select {
	case m.poke <- struct{}{}:
	default:
	}
}

// complain logs what is wrong with the store, once until it is not.
func (m *Watcher) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !m.troubled {
		m.cfg.Logger.WarnContext(ctx, "the monitor has trouble", "what", what, "err", err)
		m.troubled = true
	}
}

// forget frees what was known while somebody looked.
func (m *Watcher) forget() {
	m.cards, m.peers, m.directory, m.gone = nil, map[wire.ReplicaID]*peer{}, &directory{}, map[wire.ReplicaID]time.Time{}
	m.reported, m.before = map[wire.SessionID]*Row{}, map[wire.SessionID]*Row{}
	m.studies = map[wire.SessionID]*study{}
}

// round looks who looks, reports to those who look elsewhere, and puts everything
// together for those who look here. When the store is away, those see at least what
// is owned here.
func (m *Watcher) round(ctx context.Context, now time.Time) {
	if m.measured.due(now) {
		m.measured.add(now, m.cfg.Sample()) // whether somebody looks or not
	}
	wants, mine := m.wanted(now)
	mine = m.few(ctx, mine, now)
	limited, cancel := context.WithTimeout(ctx, m.cfg.Every)
	err := m.lookout.read(limited, m.store, now)
	if err == nil {
		err = m.lookout.say(limited, m.store, m.cfg.Replica, wants, mine, now)
	}
	cancel()
	if err == nil {
		m.troubled = false
	}
	m.complain(ctx, "it cannot say what is looked at", err)
	asked, theirs := m.lookout.others(m.cfg.Replica, now)
	theirs = m.few(ctx, theirs, now)
	if !wants {
		m.show(nil)
		m.forget()
	}
	if !wants && !asked {
		m.last = nil
		return
	}
	census := m.hub.Statuses(ctx)
	own := rowsOf(census, m.cfg.Replica)
	parts := m.ownParts(ctx, own, union(mine, theirs))
	m.measured.add(now, m.cfg.Sample())
	limited, cancel = context.WithTimeout(ctx, 2*m.cfg.Every)
	defer cancel()
	if asked && err == nil {
		told := make(map[wire.SessionID]part, len(theirs))
		for _, id := range theirs {
			if p, ok := parts[id]; ok {
				told[id] = p
			}
		}
		m.complain(ctx, "it cannot report", m.reporter.publish(limited, m.store, own, told, &m.measured, now))
	}
	if !wants {
		return
	}
	if err == nil {
		m.gather(limited, mine, now)
	}
	m.show(m.assembleView(ctx, own, parts, mine, now))
}

// few are the first of the sessions that somebody looks at: as many as are shown in
// detail.
func (m *Watcher) few(ctx context.Context, ids []wire.SessionID, now time.Time) []wire.SessionID {
	if len(ids) <= maxParts {
		return ids
	}
	if now.Sub(m.crowded) >= time.Minute {
		m.crowded = now
		m.cfg.Logger.WarnContext(ctx, "more sessions are looked at than are shown in detail", "looked", len(ids), "shown", maxParts)
	}
	return ids[:maxParts]
}

// union are the ids of two lists.
func union(a, b []wire.SessionID) []wire.SessionID {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// ownParts is what is known here of sessions that somebody looks at. A session that
// does not answer is as it was when it did.
func (m *Watcher) ownParts(ctx context.Context, own []Row, ids []wire.SessionID) map[wire.SessionID]part {
	all := make([]part, len(ids))
	var wg sync.WaitGroup
	for n, id := range ids {
		wg.Go(func() { all[n] = m.ownPart(ctx, own, id) }) // those that do not answer take their time together
	}
	wg.Wait()
	parts := make(map[wire.SessionID]part, len(ids))
	for n, id := range ids {
		if p := all[n]; p.Owner || len(p.Detail.Tabs) > 0 {
			parts[id] = p
		}
	}
	m.last = parts
	return parts
}

// ownPart is one of ownParts.
func (m *Watcher) ownPart(ctx context.Context, own []Row, id wire.SessionID) part {
	p := part{Detail: detailOf(&session.Inspection{})}
	_, owned := slices.BinarySearchFunc(own, id, func(r Row, id wire.SessionID) int { return cmp.Compare(r.SessionID, id) })
	if owned {
		if i, err := m.hub.Inspect(ctx, id); err == nil {
			p.Owner, p.Epoch, p.Detail = true, i.Status.Epoch, detailOf(&i)
		} else if was, ok := m.last[id]; ok && was.Owner {
			p = was
		}
	}
	p.Detail.Tabs = tabsOf(m.hub.Viewers(id), m.cfg.Replica)
	return p
}

// assembleView puts everything together.
func (m *Watcher) assembleView(ctx context.Context, own []Row, parts map[wire.SessionID]part, mine []wire.SessionID, now time.Time) *view {
	lists := [][]Row{own}
	alive := map[wire.ReplicaID]bool{m.cfg.Replica: true}
	v := &view{
		details: map[wire.SessionID]Detail{}, studied: map[wire.SessionID]bool{}, complete: !m.directory.scanned.IsZero(),
		scanned:   m.directory.scanned,
		histories: [][]Point{m.measured.points(now)},
	}
	for id, p := range m.peers {
		alive[id] = true
		for _, c := range p.chunks {
			lists = append(lists, c.rows)
		}
		v.histories = append(v.histories, p.history.Points)
		v.complete = v.complete && (p.complete() || p.silent(now))
	}
	m.before, m.reported = m.reported, m.before
	collect(m.reported, lists...)
	m.refreshDirectory(ctx, m.reported, m.before, now)
	v.rows = merge(m.directory.by, m.reported, alive)
	v.overview = overviewOf(v.rows, m.measure(now), now)
	for _, id := range slices.Sorted(maps.Keys(m.gone)) {
		v.overview.Alerts = append(v.overview.Alerts, Alert{Kind: "goneReplica", Count: 1, Where: id})
	}
	for _, id := range mine {
		at, ok := slices.BinarySearchFunc(v.rows, id, func(r Row, id wire.SessionID) int { return cmp.Compare(r.SessionID, id) })
		if ok {
			v.details[id], v.studied[id] = m.detail(ctx, v.rows[at], parts, now)
		}
	}
	for id := range m.studies {
		if !slices.Contains(mine, id) {
			delete(m.studies, id)
		}
	}
	return v
}

// measure is what all replicas have measured, in the order of their ids.
func (m *Watcher) measure(now time.Time) []measured {
	self := measured{
		card: membership.Card{ID: m.cfg.Replica, State: membership.Serving}, self: true, sample: m.measured.latest(), at: now, recent: m.measured.recent(now),
	}
	var all []measured
	for _, c := range m.cards {
		if c.ID == m.cfg.Replica {
			self.card = c
		} else if p := m.peers[c.ID]; p != nil {
			all = append(all, measured{card: c, sample: p.head.Sample, at: p.at, silent: p.silent(now), recent: p.head.Recent})
		}
	}
	all = append(all, self)
	slices.SortFunc(all, func(a, b measured) int { return cmp.Compare(a.card.ID, b.card.ID) })
	return all
}
