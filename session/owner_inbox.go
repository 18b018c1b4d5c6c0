package session

import (
	"cmp"
	"errors"

	"github.com/everdesk/everdesk/store"
)

// inboxReceiver puts the deliveries in the store's inbox of an owned session into its mailbox, after
// everything that this replica sent there before it owned the session.
type inboxReceiver struct {
	live *liveSession
	held *heldLease
	// inheritedDeliveries are the ids of the deliveries that were in the mailbox when the owner
	// started.
	inheritedDeliveries map[string]bool
	retryMarks          map[string]item // see liveSession
	// barrier is the id of a delivery that the owner sends to its own inbox. All older items that
	// this replica sent there come before it.
	barrier string
}

// sendBarrier sends the items that may be in the inbox already once more, under their old ids, and
// then the barrier: everything before it is older than the local items that the mailbox holds back.
// Forwarded commands come first, because they are older than all items. It returns the items that it
// could not send.
func (in *inboxReceiver) sendBarrier(sent []item) []item {
	in.live.mailbox.waitDirectSends(in.held.ctx)
	rest := append(sent, item{order: &order{Kind: orderBarrier}, sentAs: in.barrier})
	older := in.live.forwarded.all()
	for wait := retryFirst; in.held.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		var err error
		if older, err = in.live.resend(in.held.ctx, older); err != nil {
			sleep(in.held.ctx, wait)
			continue
		}
		if rest = in.live.sendItems(in.held.ctx, rest); len(rest) == 0 {
			return nil
		}
		sleep(in.held.ctx, wait)
	}
	return rest[:len(rest)-1]
}

// receiveInbox puts the commands of the inbox into the mailbox, until the lease is lost.
func (in *inboxReceiver) receiveInbox() {
	seen := newRecentIDs(recentIDLimit)
	for wait := retryFirst; in.held.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		for commands, err := range in.live.env.store.Receive(in.held.ctx, in.held.lease) {
			if errors.Is(err, store.ErrFenced) || isPermanent(err) {
				in.held.end(leaseFenced)
				return
			}
			if err != nil {
				break // Receive starts over with everything that is not consumed
			}
			wait = retryFirst
			for _, c := range commands {
				if in.inheritedDeliveries[c.ID] || !seen.add(c.ID) {
					continue
				}
				if in.live.mailbox.put(in.held.ctx, in.decodeDelivery(c)) != nil {
					return
				}
				if c.ID == in.barrier {
					in.live.inboxHasOlder.Store(false)
					in.live.mailbox.releaseLocalItems()
				}
			}
		}
		sleep(in.held.ctx, wait)
	}
}

// decodeDelivery decodes a delivery. One that cannot be decoded becomes an order without effect, so
// that it is consumed.
func (in *inboxReceiver) decodeDelivery(c store.Command) item {
	it, err := decodeItem(c.Data)
	if err != nil {
		in.live.log.Warn("command in the inbox cannot be decoded", "id", c.ID, "err", err)
		it = item{order: &order{}}
	}
	known := in.retryMarks[c.ID]
	it.deliveryID, it.alone, it.poison = c.ID, known.alone, cmp.Or(known.poison, it.poison)
	return it
}

// recentIDLimit is more than an inbox holds.
const recentIDLimit = 1024

// recentIDs remembers the newest ids, up to a limit.
type recentIDs struct {
	known map[string]struct{}
	order []string
	next  int
}

func newRecentIDs(n int) *recentIDs {
	return &recentIDs{known: map[string]struct{}{}, order: make([]string, n)}
}

// add remembers an id and reports whether it was unknown.
func (r *recentIDs) add(name string) bool {
	if _, ok := r.known[name]; ok {
		return false
	}
	delete(r.known, r.order[r.next])
	r.known[name] = struct{}{}
	r.order[r.next] = name
	r.next = (r.next + 1) % len(r.order)
	return true
}
