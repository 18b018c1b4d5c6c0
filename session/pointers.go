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

// Signals sends what is of interest at this moment only from replica to replica. Nothing stores a signal, and some are
// lost. All methods may be called from any goroutine.
type Signals interface {
	// Signal sends a text to all replicas that listen for a session, this one included.
	Signal(ctx context.Context, session wire.SessionID, text string) error
	// Listen calls receive, which must not block, with each signal for a session until stop is called.
	Listen(session wire.SessionID, receive func(text string)) (stop func())
}

// pointerRelay carries the pointers of users between the replicas that their tabs are connected to. It listens and
// sends only while the tabs of two users or more are present and some of them are at other replicas, so that other
// sessions cost nothing. Any goroutine may use it.
type pointerRelay struct {
	signals Signals // nil if no other replica uses the store
	session wire.SessionID
	replica wire.ReplicaID

	sends sync.WaitGroup

	mu      sync.Mutex // guards the following; not held while a signal is sent or received
	stop    func()     // ends listening; nil while the relay does not
	closed  bool
	sending bool                                    // sendUnsent runs
	unsent  map[wire.ConnectionID]wire.PointerMoved // the newest position of each tab
}

// signalTimeout bounds the sending of a signal, and with it the wait for one when a session is closed.
const signalTimeout = time.Second

// pointerSignal is the text of a signal, as JSON.
type pointerSignal struct {
	Replica  wire.ReplicaID      `json:"replica"` // the sender
	Pointers []wire.PointerMoved `json:"pointers"`
}

// applyPresence begins or ends to listen for the pointers of users at other replicas, depending on the newest list of
// connections in committed events.
func (r *pointerRelay) applyPresence(events []broadcast.Event, center *broadcast.Center) {
	if r.signals == nil {
		return
	}
	for _, e := range slices.Backward(events) {
		if p, ok := e.Data.(wire.Presence); ok {
			r.listen(needsRelay(p, center.Tabs()), center)
			return
		}
	}
}

// needsRelay reports whether users with tabs at other replicas are present, given the number of tabs at this one.
func needsRelay(p wire.Presence, here int) bool {
	return here > 0 && p.Total > here && slices.ContainsFunc(p.Connections, func(c wire.Connection) bool {
		return c.User != p.Connections[0].User
	})
}

func (r *pointerRelay) listen(wanted bool, center *broadcast.Center) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case wanted && r.stop == nil && !r.closed:
		r.stop = r.signals.Listen(r.session, func(text string) { r.receive(text, center) })
	case !wanted && r.stop != nil:
		r.stop()
		r.stop = nil
	}
}

// receive shows the pointers of another replica to the tabs of this one. It ignores what a newer version sends and
// this one cannot read.
func (r *pointerRelay) receive(text string, center *broadcast.Center) {
	var s pointerSignal
	if json.Unmarshal([]byte(text), &s) != nil || s.Replica == r.replica {
		return
	}
	for _, p := range s.Pointers {
		center.MovePointer(p)
	}
}

// send sends the position of a pointer to the other replicas, if any needs it. It does not block: while a send is in
// progress, a newer position of the same tab replaces the one that waits.
func (r *pointerRelay) send(p wire.PointerMoved) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop == nil {
		return
	}
	if r.unsent == nil {
		r.unsent = map[wire.ConnectionID]wire.PointerMoved{}
	}
	r.unsent[p.ConnectionID] = p
	if !r.sending {
		r.sending = true
		r.sends.Go(r.sendUnsent)
	}
}

// sendUnsent sends positions until none is left. A failed signal is not repeated, since the next position replaces it.
func (r *pointerRelay) sendUnsent() {
	for {
		r.mu.Lock()
		s := pointerSignal{Replica: r.replica, Pointers: slices.Collect(maps.Values(r.unsent))}
		clear(r.unsent)
		r.sending = len(s.Pointers) > 0
		r.mu.Unlock()
		if len(s.Pointers) == 0 {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			panic(err) // it has strings and numbers only
		}
		ctx, cancel := context.WithTimeout(context.Background(), signalTimeout)
		_ = r.signals.Signal(ctx, r.session, string(text)) // the store observes its failures
		cancel()
	}
}

// close ends listening and sending.
func (r *pointerRelay) close() {
	r.mu.Lock()
	r.closed = true
	if r.stop != nil {
		r.stop()
		r.stop = nil
	}
	r.mu.Unlock()
	r.sends.Wait()
}
