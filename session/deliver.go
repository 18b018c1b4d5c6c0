package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// deliver brings an item to the owner, here or elsewhere. It keeps the order of each connection:
// nothing goes to the store directly while an older item waits in the mailbox.
func (k *liveSession) deliver(ctx context.Context, it item) error {
	if it.order == nil && k.storeFull.Load() {
		return errFull
	}
	if !k.mailbox.beginDirectSend() {
		// The mailbox also collects while the session has no owner.
		return k.mailbox.put(ctx, it)
	}
	defer k.mailbox.endDirectSend()
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := k.env.send(limited, k.id, &it)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: %v", store.ErrUnavailable, err) //nolint:errorlint // the time limit is not the caller's
	}
	return err
}

// deliverAll delivers commands in order and returns the number delivered.
func (k *liveSession) deliverAll(ctx context.Context, commands []Command) (int, error) {
	n := k.tryDeliver(commands)
	for ; n < len(commands); n++ {
		if err := k.deliver(ctx, item{cmd: commands[n]}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// tryDeliver delivers commands as long as that does not block, and returns the number delivered.
func (k *liveSession) tryDeliver(commands []Command) int {
	if k.storeFull.Load() {
		return 0
	}
	return k.mailbox.tryPutCommands(commands)
}

// newDeliveryID returns an id that no other replica and no other process of this replica uses.
func (e *environment) newDeliveryID() string {
	return string(e.cfg.Replica) + "." + e.process + "." + strconv.FormatUint(e.deliveryCount.Add(1), 10)
}

// send puts an item into the inbox of a session. All attempts use the same delivery id, so the item
// arrives once.
func (e *environment) send(ctx context.Context, id wire.SessionID, it *item) error {
	data, err := it.encode()
	if err != nil {
		return err
	}
	again := it.sentAs != ""
	if !again {
		it.sentAs = e.newDeliveryID()
	}
	known, err := e.store.Send(ctx, id, store.Command{ID: it.sentAs, Data: data})
	if err != nil {
		return fmt.Errorf("send a command to the owner: %w", err)
	}
	if known && !again {
		e.log.WarnContext(ctx, "delivery id was used before, command dropped", "session", string(id), "delivery", it.sentAs)
	}
	return nil
}

// sendOrder puts an order into the inbox of a session.
func (e *environment) sendOrder(ctx context.Context, id wire.SessionID, o *order) error {
	return e.send(ctx, id, &item{order: o})
}

// sendItems sends items to the inbox of a session that another replica owns, and returns those that
// the store does not accept yet. An item that it refuses permanently is finished with the error.
func (k *liveSession) sendItems(ctx context.Context, items []item) []item {
	for i := range items {
		it := &items[i]
		switch {
		case it.deliveryID != "":
			continue // it is still in the inbox
		case it.poison != nil && it.order != nil:
			it.finish(it.poison)
			continue
		}
		err := k.sendItem(ctx, it)
		switch {
		case err == nil: // the caller that waits for an order reads the card
			k.setStoreIssue(ctx, issueSend, false)
		case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrConflict):
			level := slog.LevelWarn
			if it.order != nil && it.order.Kind == orderRestore {
				level = slog.LevelError // clients have an acknowledgement of it
			}
			k.log.Log(ctx, level, "command refused by the inbox", "err", err)
			it.finish(asError(err))
		default:
			if ctx.Err() == nil {
				k.setStoreIssue(ctx, issueSend, isStoreUnavailable(err))
				k.log.WarnContext(ctx, "sending commands to the owner failed, retrying", "err", err)
			}
			return items[i:]
		}
	}
	return nil
}

// sendItem sends one item. A panic while encoding it makes it invalid.
func (k *liveSession) sendItem(ctx context.Context, it *item) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: panic: %v", store.ErrInvalid, v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return k.env.send(ctx, k.id, it)
}

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
// It returns the items that it could not send.
func (in *inboxReceiver) sendBarrier(sent []item) []item {
	in.live.mailbox.waitDirectSends(in.held.ctx)
	rest := append(sent, item{order: &order{Kind: orderBarrier}, sentAs: in.barrier})
	for wait := retryFirst; in.held.ctx.Err() == nil; wait = min(2*wait, retryLast) {
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

// earliest returns the earliest of several times; zero times mean never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		first = earlier(first, t)
	}
	return first
}
