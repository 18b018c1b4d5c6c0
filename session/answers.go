package session

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// answers are those who wait for what the log says about a message.
type answers struct {
	waiting atomic.Int32 // spares the publisher the lock when nobody waits

	mu sync.Mutex // guards the following
	by map[wire.MessageID][]chan<- Answer
}

// expect has an answer sent to a channel, which must have room for it.
func (a *answers) expect(id wire.MessageID, to chan<- Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.by == nil {
		a.by = map[wire.MessageID][]chan<- Answer{}
	}
	a.by[id] = append(a.by[id], to)
	a.waiting.Add(1)
}

// forget ends expect.
func (a *answers) forget(id wire.MessageID, to chan<- Answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	rest := slices.DeleteFunc(a.by[id], func(c chan<- Answer) bool { return c == to })
	if len(rest) == len(a.by[id]) {
		return // answered
	}
	a.waiting.Add(-1)
	if a.by[id] = rest; len(rest) == 0 {
		delete(a.by, id)
	}
}

// see looks for answers among events that are in the log.
func (a *answers) see(events []broadcast.Event) {
	if a.waiting.Load() == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range events {
		switch e.Data.(type) {
		case wire.Actions, wire.MessageAccepted, wire.MessageQueued, wire.MessageRejected:
		default:
			continue
		}
		id := wire.MessageOf(e.Data)
		for _, to := range a.by[id] {
			to <- Answer{At: e.At, Data: e.Data}
			a.waiting.Add(-1)
		}
		delete(a.by, id)
	}
}
