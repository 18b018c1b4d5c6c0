package ws

import (
	"time"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/wire"
)

const (
	// maxPointers is how many positions of a pointer a connection may send per second. Those above are dropped. Clients
	// send ten, and more at once after a delay of the network.
	maxPointers = 30
	// pointerFlood is how many of them close the connection: no delay explains that many.
	pointerFlood = 2000
)

// pointer is the pointer of a connection's user.
type pointer struct {
	since    time.Time // the start of the second in which messages are counted
	received int       // the messages in that second
	shown    bool      // a position was sent, and since then no message that the pointer is gone
}

// count counts a message about the pointer and returns the number of those in the current second.
func (p *pointer) count(now time.Time) int {
	if now.Sub(p.since) >= time.Second {
		p.since, p.received = now, 0
	}
	p.received++
	return p.received
}

// movePointer sends the position of the pointer to the tabs of other users, unless the client sends too many. It
// needs no answer: the next position replaces a dropped one.
func (in *inbox) movePointer(p wire.Pointer, now time.Time) {
	n := in.pointer.count(now)
	if n > pointerFlood {
		in.peer.closeWith(wire.CloseRateLimited, retryReason(time.Second))
	}
	who := in.peer.identity.Load()
	switch {
	case in.handle == nil, who.Link != "", in.peer.granted() < access.Viewer:
		return
	case p.Gone && !in.pointer.shown, !p.Gone && n > maxPointers:
		return
	}
	if in.handle.MovePointer(wire.PointerMoved{
		ConnectionID: in.from.Connection, User: who.User, MonitorID: p.MonitorID, X: p.X, Y: p.Y, Gone: p.Gone,
	}) {
		in.pointer.shown = !p.Gone
	}
}
