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

// ErrQuery means that a [Query] is invalid.
var ErrQuery = errors.New("invalid query")

// Hub provides the sessions of this replica.
type Hub interface {
	// Statuses returns the status of all sessions that are owned or used here. A session that does
	// not answer in time is left as it was last seen or marked as stuck; there is no error.
	Statuses(ctx context.Context) []session.Status
	// Inspect returns the details of a session that is owned here. The error is [*session.Error] if it
	// is not owned here or does not answer in time.
	Inspect(ctx context.Context, id wire.SessionID) (session.Inspection, error)
	// InspectStored returns what the store has of a session, wherever it is owned, without loading it.
	InspectStored(ctx context.Context, id wire.SessionID) (session.Inspection, error)
	// Viewers returns the oldest tabs of a session at this replica; none for an unknown session.
	Viewers(id wire.SessionID) []broadcast.Viewer
	// List returns a page of sessions. The error is that of the store.
	List(ctx context.Context, q store.Query) (store.Page[session.Info], error)
	// Info looks a session up. While the store is unavailable it returns the last known state, marked
	// as stale; an unknown session is an error.
	Info(ctx context.Context, id wire.SessionID) (session.Info, error)
}

// ReplicaLister lists the live replicas.
type ReplicaLister interface {
	// Replicas returns the cards of all live replicas, of this one, too. The error is that of the store.
	Replicas(ctx context.Context) ([]membership.Card, error)
}

// Documents is the part of the store that holds the reports.
type Documents interface {
	// Get returns a document, or [store.ErrNotFound].
	Get(ctx context.Context, collection, name string) (store.Document, error)
	// Put writes a document if the stored version is d.Version (0: none), else
	// [store.ErrConflict].
	Put(ctx context.Context, d store.Document) (version uint64, err error)
}

// Log is the part of the store that holds the logs of sessions.
type Log interface {
	// Read returns the events after a cursor in order, fewer than limit only at the end of
	// the log. A cursor without an event is [store.ErrTrimmed], [store.ErrUnknownPosition]
	// or [store.ErrAhead].
	Read(ctx context.Context, session wire.SessionID, after wire.Position, limit int) ([]store.Event, error)
}

// Config configures a [Watcher].
type Config struct {
	Replica wire.ReplicaID
	// Every is the interval of a round. Default 500 ms.
	Every time.Duration
	// Sample measures this replica.
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

// Watcher reports the sessions of this replica to replicas through which admins look, and
// merges the reports of all replicas. Create it with [New].
type Watcher struct {
	cfg      Config
	hub      Hub
	replicas ReplicaLister
	docs     Documents
	logs     Log
	// poke requests a round immediately. done passes results of background reads to the
	// goroutine of Run.
	wakeRound chan struct{}
	done      chan func()

	// The following fields belong to the goroutine of Run.
	lookout       interestTracker
	reporter      *reporter
	cards         []membership.Card // the last known cards
	peers         map[wire.ReplicaID]*peer
	directory     *directory
	reported      map[wire.SessionID]*Row
	before        map[wire.SessionID]*Row // rows reported in the previous round
	last          map[wire.SessionID]part // the last parts of own sessions
	stored        map[wire.SessionID]*storedDetail
	storedReads   int // number of reads in progress
	measured      sampleHistory
	gone          map[wire.ReplicaID]time.Time // alert start of replicas that vanished
	warned        bool
	warnedCrowded time.Time      // time of the last warning about too many sessions
	running       sync.WaitGroup // background reads

	mu       sync.Mutex // guards the following; never held while blocking
	watching map[*Interest]bool
	queries  map[wire.SessionID]time.Time // end of each query's interest; "" is for all sessions
	listed   time.Time                    // minimum time of the directory for list requests; zero if any will do
	current  *view                        // nil while no admin looks
	changed  chan struct{}                // closed when current is replaced
	numbers  uint64
}

// New creates the watcher of a replica. It does nothing before [Watcher.Run].
func New(cfg Config, h Hub, l ReplicaLister, docs Documents, logs Log) *Watcher {
	cfg = cfg.withDefaults()
	w := &Watcher{
		cfg: cfg, hub: h, replicas: l, docs: docs, logs: logs, wakeRound: make(chan struct{}, 1), done: make(chan func()),
		reporter: newReporter(cfg.Replica), watching: map[*Interest]bool{}, queries: map[wire.SessionID]time.Time{},
		changed: make(chan struct{}),
	}
	w.clearState()
	return w
}

// Run reports and merges until ctx ends.
//
// Ownership: it starts goroutines for slow reads, and returns after they have ended.
func (w *Watcher) Run(ctx context.Context) {
	defer w.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last time.Time
	for {
		select {
		case found := <-w.done:
			found()
			continue
		case <-timer.C:
		case <-w.wakeRound:
			timer.Reset(max(minRoundInterval-time.Since(last), 0))
			continue
		case <-ctx.Done():
			return
		}
		last = time.Now()
		w.round(ctx, last)
		timer.Reset(w.cfg.Every)
	}
}

// minRoundInterval is the minimum interval between rounds.
const minRoundInterval = 50 * time.Millisecond

// background runs do in a goroutine with a timeout. The goroutine of Run executes the
// function that do returns.
func (w *Watcher) background(ctx context.Context, limit time.Duration, do func(ctx context.Context) func()) {
	w.running.Go(func() {
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found := do(limited)
		select {
		case w.done <- found:
			w.requestRound() // a query may wait for it
		case <-ctx.Done():
		}
	})
}

// requestRound requests a round immediately.
func (w *Watcher) requestRound() {
	select {
	case w.wakeRound <- struct{}{}:
	default:
	}
}

// warn logs a failed operation on the store, once until the store works again.
func (w *Watcher) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !w.warned {
		w.cfg.Logger.WarnContext(ctx, "admin view store operation failed", "what", what, "err", err)
		w.warned = true
	}
}

// clearState frees everything that was collected while an admin looked.
func (w *Watcher) clearState() {
	w.cards, w.peers, w.directory, w.gone = nil, map[wire.ReplicaID]*peer{}, &directory{}, map[wire.ReplicaID]time.Time{}
	w.reported, w.before = map[wire.SessionID]*Row{}, map[wire.SessionID]*Row{}
	w.stored = map[wire.SessionID]*storedDetail{}
}

// round reads the interests, reports to other replicas that need it, and merges the view
// for admins who look here. While the store is unavailable the view still has the sessions
// owned here.
func (w *Watcher) round(ctx context.Context, now time.Time) {
	if w.measured.due(now) {
		w.measured.add(now, w.cfg.Sample()) // also while no admin looks
	}
	wants, mine := w.wanted(now)
	mine = w.limitSessions(ctx, mine, now)
	limited, cancel := context.WithTimeout(ctx, w.cfg.Every)
	err := w.lookout.read(limited, w.docs, now)
	if err == nil {
		err = w.lookout.publish(limited, w.docs, w.cfg.Replica, wants, mine, now)
	}
	cancel()
	if err == nil {
		w.warned = false
	}
	w.warn(ctx, "publish interest", err)
	asked, theirs := w.lookout.interestsOfOthers(w.cfg.Replica, now)
	theirs = w.limitSessions(ctx, theirs, now)
	if !wants {
		w.publishView(nil)
		w.clearState()
	}
	if !wants && !asked {
		w.last = nil
		return
	}
	census := w.hub.Statuses(ctx)
	own := rowsOf(census, w.cfg.Replica)
	parts := w.ownParts(ctx, own, union(mine, theirs))
	w.measured.add(now, w.cfg.Sample())
	limited, cancel = context.WithTimeout(ctx, 2*w.cfg.Every)
	defer cancel()
	if asked && err == nil {
		told := make(map[wire.SessionID]part, len(theirs))
		for _, id := range theirs {
			if p, ok := parts[id]; ok {
				told[id] = p
			}
		}
		w.warn(ctx, "report sessions", w.reporter.publish(limited, w.docs, own, told, &w.measured, now))
	}
	if !wants {
		return
	}
	if err == nil {
		w.gather(limited, mine, now)
	}
	w.publishView(w.assembleView(ctx, own, parts, mine, now))
}

// limitSessions returns the first maxParts of the sessions that admins look at.
func (w *Watcher) limitSessions(ctx context.Context, ids []wire.SessionID, now time.Time) []wire.SessionID {
	if len(ids) <= maxParts {
		return ids
	}
	if now.Sub(w.warnedCrowded) >= time.Minute {
		w.warnedCrowded = now
		w.cfg.Logger.WarnContext(ctx, "too many sessions watched in detail", "looked", len(ids), "shown", maxParts)
	}
	return ids[:maxParts]
}

// union returns the sorted ids of two lists.
func union(a, b []wire.SessionID) []wire.SessionID {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// ownParts returns this replica's parts of the given sessions. A session that does not
// answer keeps its previous part.
func (w *Watcher) ownParts(ctx context.Context, own []Row, ids []wire.SessionID) map[wire.SessionID]part {
	all := make([]part, len(ids))
	var wg sync.WaitGroup
	for n, id := range ids {
		wg.Go(func() { all[n] = w.ownPart(ctx, own, id) }) // so that unresponsive sessions time out in parallel
	}
	wg.Wait()
	parts := make(map[wire.SessionID]part, len(ids))
	for n, id := range ids {
		if p := all[n]; p.Owner || len(p.Detail.Tabs) > 0 {
			parts[id] = p
		}
	}
	w.last = parts
	return parts
}

// ownPart returns this replica's part of one session.
func (w *Watcher) ownPart(ctx context.Context, own []Row, id wire.SessionID) part {
	p := part{Detail: detailOf(&session.Inspection{})}
	_, owned := slices.BinarySearchFunc(own, id, func(r Row, id wire.SessionID) int { return cmp.Compare(r.SessionID, id) })
	if owned {
		if i, err := w.hub.Inspect(ctx, id); err == nil {
			p.Owner, p.Epoch, p.Detail = true, i.Status.Epoch, detailOf(&i)
		} else if was, ok := w.last[id]; ok && was.Owner {
			p = was
		}
	}
	p.Detail.Tabs = tabsOf(w.hub.Viewers(id), w.cfg.Replica)
	return p
}

// assembleView builds the view.
func (w *Watcher) assembleView(ctx context.Context, own []Row, parts map[wire.SessionID]part, mine []wire.SessionID, now time.Time) *view {
	lists := [][]Row{own}
	alive := map[wire.ReplicaID]bool{w.cfg.Replica: true}
	v := &view{
		details: map[wire.SessionID]Detail{}, logRead: map[wire.SessionID]bool{}, complete: !w.directory.scanned.IsZero(),
		scanned: w.directory.scanned, total: w.directory.total,
		histories: [][]Point{w.measured.points(now)},
	}
	for id, p := range w.peers {
		alive[id] = true
		for _, c := range p.chunks {
			lists = append(lists, c.rows)
		}
		v.histories = append(v.histories, p.history.Points)
		v.complete = v.complete && (p.complete() || p.silent(now))
	}
	w.before, w.reported = w.reported, w.before
	collect(w.reported, lists...)
	w.refreshDirectory(ctx, w.reported, w.before, now)
	v.rows = merge(w.directory.by, w.reported, alive)
	v.overview = overviewOf(v.rows, v.total, w.measure(now), now)
	for _, id := range slices.Sorted(maps.Keys(w.gone)) {
		v.overview.Alerts = append(v.overview.Alerts, Alert{Kind: "goneReplica", Count: 1, Where: id})
	}
	for _, id := range mine {
		at, ok := slices.BinarySearchFunc(v.rows, id, func(r Row, id wire.SessionID) int { return cmp.Compare(r.SessionID, id) })
		if ok {
			v.details[id], v.logRead[id] = w.detail(ctx, v.rows[at], parts, now)
		}
	}
	for id := range w.stored {
		if !slices.Contains(mine, id) {
			delete(w.stored, id)
		}
	}
	return v
}

// measure returns the measurements of all replicas, sorted by id.
func (w *Watcher) measure(now time.Time) []measured {
	self := measured{
		card: membership.Card{ID: w.cfg.Replica, State: membership.Serving}, self: true, sample: w.measured.latest(), at: now, recent: w.measured.recent(now),
	}
	var all []measured
	for _, c := range w.cards {
		if c.ID == w.cfg.Replica {
			self.card = c
		} else if p := w.peers[c.ID]; p != nil {
			all = append(all, measured{card: c, sample: p.head.Sample, at: p.at, silent: p.silent(now), recent: p.head.Recent})
		}
	}
	all = append(all, self)
	slices.SortFunc(all, func(a, b measured) int { return cmp.Compare(a.card.ID, b.card.ID) })
	return all
}
