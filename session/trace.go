package session

import (
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/wire"
)

// Tracer traces messages through sessions. It must not block, nor keep the events it gets.
type Tracer interface {
	// Committed is called after the owner has committed events that include acknowledgements of
	// messages or ends of turns.
	Committed(session wire.SessionID, epoch uint64, events []broadcast.Event, began time.Time)
	// Published is called after events were written to the tabs of this replica, as far as their
	// sockets accepted them.
	Published(session wire.SessionID, events []broadcast.Event, tabs int, began time.Time)
}

// publish publishes events to the tabs of this replica.
func (ls *liveSession) publish(events []broadcast.Event) {
	t := ls.env.cfg.Tracer
	if t == nil {
		ls.center.Publish(events)
		return
	}
	began := time.Now()
	ls.center.Publish(events)
	t.Published(ls.id, events, ls.center.Tabs(), began)
}
