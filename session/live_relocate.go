package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// A follower requests the ownership of a session after it has forwarded relocateAfter commands within
// relocateWithin. Handing a session over costs about as much as forwarding 64 commands, and saves
// every later command a way through the store. The next request follows after relocatePause at the
// earliest.
const (
	relocateAfter  = 16
	relocateWithin = 10 * time.Second
	relocatePause  = 30 * time.Second
	relocatePoll   = 10 * time.Millisecond // first interval at which a follower polls the owner; doubled up to a second
)

// quietAfter is the time without commands of its own clients after which an owner grants a request
// for the ownership.
const quietAfter = time.Second

// relocation decides when a follower requests the ownership.
type relocation struct {
	commands  int       // number of commands forwarded since
	since     time.Time // begin of the current count
	notBefore time.Time // time of the next request at the earliest
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
// polls the store until the session is released, and then makes the follower claim it. An owner that
// refuses does not answer. The order is void when the owner's present lease expires. requestOwnership
// polls a second longer: a session that is released to this replica must be claimed here.
func (f *follower) requestOwnership(ctx context.Context) {
	ls := f.live
	ctx, cancel := context.WithTimeout(ctx, ls.env.cfg.Lease+time.Second)
	defer cancel()
	ordered := false
	for wait := relocatePoll; ctx.Err() == nil; wait = min(2*wait, time.Second) {
		i, err := ls.env.store.Session(ctx, ls.id)
		switch {
		case err != nil:
			return
		case i.Owner == ls.env.cfg.Replica || i.Owner == "":
			ls.claimRequested.Store(true)
			ls.mailbox.signal()
			return
		case !ordered:
			o := &order{Kind: orderRelocate, Replica: ls.env.cfg.Replica, Epoch: i.Epoch, Until: wire.Millis(i.Until.UnixMilli())}
			if ls.env.sendOrder(ctx, ls.id, o) != nil {
				return
			}
			ordered = true
		}
		sleep(ctx, wait)
	}
}

// relocate hands the session over to a replica that forwards many commands, unless agents or clients
// of this replica use it.
func (ow *owner) relocate(o *order) {
	if ow.w.working || ow.w.now.Sub(ow.lastLocal) < quietAfter {
		return
	}
	ow.yield(o)
}
