package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// How often a replica that wants a session looks whether it is its own now, and after
// which time it asks the same owner again.
const (
	takeoverPoll   = 50 * time.Millisecond
	takeoverResend = 2 * parkTime
)

// Takeover is how a session came to a replica.
type Takeover struct {
	// From is the owner that was found, or the last one when its lease had run out.
	From  wire.ReplicaID
	Epoch uint64
}

// TakeOwnership has this replica own a session, wherever it is owned now, and returns when it
// does. Its owner parks what runs, as on [Hub.Drain] but at once, and leaves the session
// to this replica; one that is dead loses it with its lease.
func (h *Hub) TakeOwnership(ctx context.Context, id wire.SessionID) (Takeover, error) {
	r, err := h.Open(ctx, id)
	if err != nil {
		return Takeover{}, err
	}
	defer r.Close()
	var got Takeover
	before := r.live.ownedEpoch.Load()
	var asked uint64 // the epoch of the owner that was asked last
	var askedAt time.Time
	look := time.NewTicker(takeoverPoll)
	defer look.Stop()
	for first := true; ; first = false {
		i, err := h.store.Session(ctx, id)
		if err != nil {
			return got, asError(err)
		}
		if first {
			got.From = i.Owner
		}
		now := r.live.ownedEpoch.Load()
		switch {
		case r.live.activeOwner.Load() != nil || now != before: // or somebody else has fetched it since
			got.Epoch = now
			return got, nil
		case i.Owner == h.cfg.Replica || i.Owner == "":
			r.live.claimRequested.Store(true) // it is left to us, or to anybody
			r.live.mailbox.signal()
		case i.Epoch != asked || time.Since(askedAt) > takeoverResend:
			// Until then the owner is asked again, or nobody wants the session any more.
			until := i.Until.Add(takeoverResend).UnixMilli()
			o := &order{Kind: orderYield, Replica: h.cfg.Replica, Epoch: i.Epoch, Until: wire.Millis(until)}
			if err := h.sendOrder(ctx, id, o); err != nil {
				return got, asError(err)
			}
			asked, askedAt = i.Epoch, time.Now()
		}
		select {
		case <-look.C:
		case <-r.live.done:
			return got, asError(errUnloaded)
		case <-ctx.Done():
			return got, ctx.Err()
		}
	}
}

// yield has the session left to another replica. An order that was meant for an owner
// before this one is void, and so is an old one, or a session would be left to who does
// not want it any more.
func (l *owner) yield(o *order) {
	alive := l.live.hub.cfg.Alive
	switch {
	case o.Epoch != l.lease.Epoch || o.Replica == l.live.hub.cfg.Replica || o.Replica.Validate() != nil:
	case l.now.UnixMilli() > int64(o.Until):
	case l.heir != "": // who was first gets it, and is asked then
	case alive != nil && !alive(o.Replica):
	default:
		l.heir = o.Replica
	}
}

// CloseTab ends a connection to a session because an admin wants it, and reports
// whether it is here.
func (h *Hub) CloseTab(id wire.SessionID, connection wire.ConnectionID) bool {
	k := h.lookup(id)
	return k != nil && k.isReady() && k.center != nil &&
		k.center.CloseConnection(connection, wire.CloseExpelled, "an administrator closed the connection")
}
