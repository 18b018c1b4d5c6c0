package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// takeoverPoll is how often TakeOwnership checks whether the session is owned here, and
// takeoverResend after which time it sends its order to the same owner again.
const (
	takeoverPoll   = 50 * time.Millisecond
	takeoverResend = 2 * parkTime
)

// Takeover is the result of [Hub.TakeOwnership].
type Takeover struct {
	// From is the previous owner, also if its lease had expired.
	From  wire.ReplicaID
	Epoch uint64
}

// TakeOwnership makes this replica the owner of a session, wherever it is owned, and returns when
// it is. A running owner parks its agents, as on [Hub.Drain] without waiting for turns, and
// releases the session to this replica; a dead owner loses it when its lease expires.
func (h *Hub) TakeOwnership(ctx context.Context, id wire.SessionID) (Takeover, error) {
	hd, err := h.Open(ctx, id)
	if err != nil {
		return Takeover{}, err
	}
	defer hd.Close()
	var got Takeover
	before := hd.live.ownedEpoch.Load()
	var asked uint64 // the epoch of the owner that got the last order
	var askedAt time.Time
	look := time.NewTicker(takeoverPoll)
	defer look.Stop()
	for first := true; ; first = false {
		i, err := h.env.store.Session(ctx, id)
		if err != nil {
			return got, asError(err)
		}
		if first {
			got.From = i.Owner
		}
		now := hd.live.ownedEpoch.Load()
		switch {
		case hd.live.activeOwner.Load() != nil && hd.live.ownership.may(outputCommit),
			now != before: // or it was owned here meanwhile and taken over again
			got.Epoch = now
			return got, nil
		case i.Owner == h.env.cfg.Replica || i.Owner == "":
			hd.live.claimRequested.Store(true) // the session is released to this replica or to any
			hd.live.mailbox.signal()
		case i.Epoch != asked || time.Since(askedAt) > takeoverResend:
			// Later than this the order is void: it was sent again, or this call has ended.
			until := i.Until.Add(takeoverResend).UnixMilli()
			o := &order{Kind: orderYield, Replica: h.env.cfg.Replica, Epoch: i.Epoch, Until: wire.Millis(until)}
			if err := h.env.sendOrder(ctx, id, o); err != nil {
				return got, asError(err)
			}
			asked, askedAt = i.Epoch, time.Now()
		}
		select {
		case <-look.C:
		case <-hd.live.done:
			return got, asError(errUnloaded)
		case <-ctx.Done():
			return got, ctx.Err()
		}
	}
}

// CloseTab closes a connection to a session on behalf of an admin, and reports whether it is
// attached here.
func (h *Hub) CloseTab(id wire.SessionID, connection wire.ConnectionID) bool {
	ls := h.registry.lookup(id)
	return ls != nil && ls.isReady() && ls.center != nil &&
		ls.center.CloseConnection(connection, wire.CloseExpelled, "an administrator closed the connection")
}
