package session

import (
	"cmp"
	"errors"
	"sync"
	"time"

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
	// this replica sent there come before it. barrierReceived is closed when it has arrived.
	barrier         string
	barrierReceived chan struct{}

	running sync.WaitGroup
	unsent  []item // the result of sendBarrier
}

// start begins to receive. If the inbox may hold items of this replica that are older than the local
// ones, the mailbox holds these back until all of the inbox has arrived.
func (in *inboxReceiver) start() {
	box := in.live.mailbox
	in.inheritedDeliveries, in.retryMarks = box.deliveryIDs(), in.live.retryMarks
	if in.live.inboxHasOlder.Load() {
		in.barrier, in.barrierReceived = in.live.env.newDeliveryID(), make(chan struct{})
		sent := box.holdLocalItems()
		in.running.Go(func() { in.unsent = in.sendBarrier(sent) })
	}
	in.running.Go(in.receiveInbox)
}

// stop ends the owner, and returns the items that could not be sent to the mailbox.
func (in *inboxReceiver) stop() {
	in.held.cancel(nil)
	in.running.Wait()
	in.live.mailbox.releaseLocalItems()
	in.live.mailbox.requeue(in.unsent)
}

// sendBarrier sends the items that may be in the inbox already once more, under their old ids, and
// then the barrier: everything before it is older than the local items that the mailbox holds back.
// Forwarded commands come first, because they are older than all items. A failover of the store may
// lose what was sent, so all of it is sent again until the barrier has arrived. Without that
// sendBarrier returns the items when the lease ends, for the next owner.
func (in *inboxReceiver) sendBarrier(sent []item) []item {
	all := append(sent, item{order: &order{Kind: orderBarrier}, sentAs: in.barrier})
	for again := resendFirst; in.held.ctx.Err() == nil; again = min(2*again, resendLast) {
		in.sendAll(in.live.deliveries.forwarded.all(), all)
		select {
		case <-in.barrierReceived:
			return nil
		case <-time.After(again):
		case <-in.held.ctx.Done():
		}
	}
	return all[:len(all)-1]
}

// sendAll sends forwarded commands and then items, and tries again after errors until the lease ends.
func (in *inboxReceiver) sendAll(older []forwardedCommand, items []item) {
	for wait := retryFirst; in.held.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		var err error
		if older, err = in.live.deliveries.resend(in.held.ctx, older); err == nil {
			if items, err = in.live.deliveries.sendItems(in.held.ctx, items); err == nil {
				return
			}
		}
		sleep(in.held.ctx, wait)
	}
}

// receiveInbox puts the commands of the inbox into the mailbox, until the lease is lost.
func (in *inboxReceiver) receiveInbox() {
	seen, barrier := recentIDs{limit: recentIDLimit}, in.barrier
	for wait := retryFirst; in.held.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		received := recentIDs{limit: recentIDLimit} // by this call of Receive
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
				it := in.decodeDelivery(c)
				known, repeated := !seen.add(c.ID) || in.inheritedDeliveries[c.ID], !received.add(c.ID)
				if known && !repeated {
					continue
				}
				// One call of Receive yields a delivery twice if it was sent again after the store
				// had forgotten it. Only a step removes it from the inbox.
				if known && !it.isRepeatable() {
					it = item{order: &order{}, deliveryID: c.ID}
				}
				if in.live.mailbox.put(in.held.ctx, it) != nil {
					return
				}
				if c.ID == barrier {
					barrier = ""
					in.live.inboxHasOlder.Store(false)
					in.live.mailbox.releaseLocalItems()
					close(in.barrierReceived)
				}
			}
		}
		sleep(in.held.ctx, wait)
	}
}

// isRepeatable reports whether the ledger keeps a repetition of an item from having an effect.
func (it *item) isRepeatable() bool {
	if it.order != nil {
		return it.order.Kind == orderRestore
	}
	return it.cmd.Message.ID != ""
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

// recentIDs holds the newest ids, up to a limit.
type recentIDs struct {
	limit int
	known map[string]struct{}
	order []string // from next on, then from the beginning
	next  int
}

// add adds an id and reports whether it was unknown.
func (r *recentIDs) add(id string) bool {
	if _, ok := r.known[id]; ok {
		return false
	}
	if r.known == nil {
		r.known = map[string]struct{}{}
	}
	r.known[id] = struct{}{}
	if len(r.order) < r.limit {
		r.order = append(r.order, id)
		return true
	}
	delete(r.known, r.order[r.next])
	r.order[r.next] = id
	r.next = (r.next + 1) % r.limit
	return true
}
