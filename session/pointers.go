package session

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// Signals sends short-lived texts from replica to replica. They are not stored, and some are lost. All methods may be
// called from any goroutine.
type Signals interface {
	// Signal sends a text to all replicas that listen for a session, this one included.
	Signal(ctx context.Context, session wire.SessionID, text string) error
	// Listen calls receive, which must not block, with each signal for a session until stop is called.
	Listen(session wire.SessionID, receive func(text string)) (stop func())
}

// signalTimeout bounds the sending of a signal.
const signalTimeout = time.Second

// pointerRelay carries the pointers of users between the replicas that their tabs are connected to. It does so only
// while several users are present and some of their tabs are at other replicas, so that other sessions cost nothing.
// Any goroutine may use it.
type pointerRelay struct {
	signals Signals // nil if no other replica uses the store
	session wire.SessionID
	replica wire.ReplicaID

	mu       sync.Mutex       // guards the following
	exchange *pointerExchange // nil while the relay has nothing to do
	closed   bool
}

// applyPresence starts or ends the exchange of pointers, depending on the newest list of connections in committed
// events.
func (r *pointerRelay) applyPresence(events []broadcast.Event, center *broadcast.Center) {
	if r.signals == nil {
		return
	}
	for _, e := range slices.Backward(events) {
		if p, ok := e.Data.(wire.Presence); ok {
			r.exchangeIf(needsRelay(p, center.Connections(maxListed)), center)
			return
		}
	}
}

// needsRelay reports whether several users are present at several replicas, one of which has the given oldest tabs. The
// list of connections is bounded, so the rest may be any user at any replica.
func needsRelay(p wire.Presence, local []wire.Connection) bool {
	if len(local) == 0 || len(p.Connections) == 0 {
		return false
	}
	isOther := func(c wire.Connection) bool { return c.User != p.Connections[0].User }
	isRemote := func(c wire.Connection) bool {
		return !slices.ContainsFunc(local, func(l wire.Connection) bool { return l.ConnectionID == c.ConnectionID })
	}
	return p.Total > len(p.Connections) || slices.ContainsFunc(p.Connections, isOther) && slices.ContainsFunc(p.Connections, isRemote)
}

func (r *pointerRelay) exchangeIf(needed bool, center *broadcast.Center) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case needed && r.exchange == nil && !r.closed:
		r.exchange = newPointerExchange(r.signals, r.session, r.replica, center)
	case !needed && r.exchange != nil:
		r.exchange.close()
		r.exchange = nil
	}
}

// send sends the position of a pointer to the other replicas, if any needs it. It does not wait for the store.
func (r *pointerRelay) send(p wire.PointerMoved) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.exchange != nil {
		r.exchange.outgoing.add(p)
	}
}

// close ends the exchange for good.
func (r *pointerRelay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.exchange != nil {
		r.exchange.close()
		r.exchange = nil
	}
}

// pointerExchange sends the positions of this replica to the others, and shows theirs to the tabs of this one.
type pointerExchange struct {
	signals Signals
	session wire.SessionID
	replica wire.ReplicaID

	ctx                context.Context //nolint:containedctx // canceled by close; bounds the sends
	cancel             context.CancelFunc
	stopListening      func()
	outgoing, incoming latestPointers
}

func newPointerExchange(signals Signals, session wire.SessionID, replica wire.ReplicaID, center *broadcast.Center) *pointerExchange {
	x := &pointerExchange{signals: signals, session: session, replica: replica}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.outgoing.handle = x.signal
	x.incoming.handle = func(pointers []wire.PointerMoved) {
		for _, p := range pointers {
			center.ShowPointer(p)
		}
	}
	x.stopListening = signals.Listen(session, x.receive)
	return x
}

func (x *pointerExchange) close() {
	x.stopListening()
	x.cancel()
	x.outgoing.close()
	x.incoming.close()
}

// pointerSignal is the text of a signal, as JSON.
type pointerSignal struct {
	Replica  wire.ReplicaID      `json:"replica"` // the sender
	Pointers []wire.PointerMoved `json:"pointers"`
}

// signal sends positions. It does not repeat a failed signal, since the next position replaces it.
func (x *pointerExchange) signal(pointers []wire.PointerMoved) {
	text, err := json.Marshal(pointerSignal{x.replica, pointers})
	if err != nil {
		panic(err) // never happens: it has strings, numbers and booleans only
	}
	ctx, cancel := context.WithTimeout(x.ctx, signalTimeout)
	defer cancel()
	_ = x.signals.Signal(ctx, x.session, string(text)) // the store observes its failures
}

// receive accepts the positions of another replica, and ignores a signal that it cannot read: a newer version sent it.
func (x *pointerExchange) receive(text string) {
	var s pointerSignal
	if json.Unmarshal([]byte(text), &s) == nil && s.Replica != x.replica {
		x.incoming.add(s.Pointers...)
	}
}

// latestPointers passes positions to handle in a goroutine that exists only while there are some. While handle runs, a
// newer position of a tab replaces the one that waits, so their number is bounded. Only handle must be set.
type latestPointers struct {
	handle func([]wire.PointerMoved)

	running sync.WaitGroup
	mu      sync.Mutex // guards the following; not held while handle runs
	waiting map[wire.ConnectionID]wire.PointerMoved
	active  bool
	closed  bool
}

// add never blocks on handle. After close it does nothing.
func (l *latestPointers) add(pointers ...wire.PointerMoved) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(pointers) == 0 {
		return
	}
	if l.waiting == nil {
		l.waiting = map[wire.ConnectionID]wire.PointerMoved{}
	}
	for _, p := range pointers {
		l.waiting[p.ConnectionID] = p
	}
	if !l.active {
		l.active = true
		l.running.Go(l.run)
	}
}

func (l *latestPointers) run() {
	for {
		l.mu.Lock()
		pointers := slices.Collect(maps.Values(l.waiting))
		clear(l.waiting)
		l.active = len(pointers) > 0 && !l.closed
		active := l.active
		l.mu.Unlock()
		if !active {
			return
		}
		l.handle(pointers)
	}
}

// close drops what waits and returns when handle has returned.
func (l *latestPointers) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.running.Wait()
}
