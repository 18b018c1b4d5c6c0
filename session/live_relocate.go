package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// A follower requests the ownership of a session after it has forwarded relocateAfter commands within
// relocateWithin: owning it is cheaper than forwarding, and handing it over costs about as much as
// forwarding so many commands. The next request follows after relocatePause at the earliest.
const (
	relocateAfter  = 64
	relocateWithin = 10 * time.Second
	relocatePause  = 30 * time.Second
	relocatePoll   = 10 * time.Millisecond // doubled after every look, up to a second
)

// quietAfter is the time without commands of its own clients after which an owner grants such a
// request.
const quietAfter = time.Second

// relocation decides when a follower requests the ownership.
type relocation struct {
	commands  int       // forwarded since
	since     time.Time // begin of the current count
	notBefore time.Time // after a request
}

// add counts forwarded commands and reports whether the ownership is to be requested.
func (r *relocation) add(commands int, now time.Time) bool {
	if now.Sub(r.since) > relocateWithin {
		r.commands, r.since = 0, now
	}
	r.commands += commands
	if r.commands < relocateAfter || now.Before(r.notBefore) {
		return false
	}
	r.commands, r.notBefore = 0, now.Add(relocatePause)
	return true
}

// requestOwnership orders the owner to hand the session over to this replica if it is quiet there,
// and lets the follower claim it when it is released. An owner that refuses does not answer. The
// order is void when the owner's present lease expires; until then it may be released to this
// replica, which must claim it.
func (k *liveSession) requestOwnership(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, k.env.cfg.Lease+time.Second)
	defer cancel()
	asked := false
	for wait := relocatePoll; ctx.Err() == nil; wait = min(2*wait, time.Second) {
		i, err := k.env.store.Session(ctx, k.id)
		switch {
		case err != nil:
			return
		case i.Owner == k.env.cfg.Replica || i.Owner == "":
			k.claimRequested.Store(true)
			k.mailbox.signal()
			return
		case !asked:
			o := &order{Kind: orderRelocate, Replica: k.env.cfg.Replica, Epoch: i.Epoch, Until: wire.Millis(i.Until.UnixMilli())}
			if k.env.sendOrder(ctx, k.id, o) != nil {
				return
			}
			asked = true
		}
		sleep(ctx, wait)
	}
}

// relocate hands the session over to a replica that forwards many commands, unless agents or clients
// of this replica use it.
func (l *owner) relocate(o *order) {
	if l.w.working || l.w.now.Sub(l.lastLocal) < quietAfter {
		return
	}
	l.yield(o)
}
