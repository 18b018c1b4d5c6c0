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

// deliver brings an item to the owner, wherever it is. What one connection says
// stays in its order: nothing goes to the store while something waits that was
// said before.
func (k *liveSession) deliver(ctx context.Context, it item) error {
	if it.order == nil && k.storeFull.Load() {
		return errFull
	}
	if !k.mailbox.beginDirectSend() {
		// Between two owners the mailbox collects, too.
		return k.mailbox.put(ctx, it)
	}
	defer k.mailbox.endDirectSend()
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := k.hub.send(limited, k.id, &it)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("%w: %v", store.ErrUnavailable, err) //nolint:errorlint // the time limit is not the caller's
	}
	return err
}

// deliverAll is deliver for several commands. It returns how many were delivered.
func (k *liveSession) deliverAll(ctx context.Context, commands []Command) (int, error) {
	n := k.tryDeliver(commands)
	for ; n < len(commands); n++ {
		if err := k.deliver(ctx, item{cmd: commands[n]}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// tryDeliver is deliverAll as far as it need not wait for anything.
func (k *liveSession) tryDeliver(commands []Command) int {
	if k.storeFull.Load() {
		return 0
	}
	return k.mailbox.tryPutCommands(commands)
}

// newDeliveryID names something that is sent to an owner. No other replica, and
// no other process of this one, uses it.
func (h *Hub) newDeliveryID() string {
	return string(h.cfg.Replica) + "." + h.process + "." + strconv.FormatUint(h.deliveryCount.Add(1), 10)
}

// send puts an item into the inbox of a session. The delivery has one name
// however often it is tried, so it arrives once.
func (h *Hub) send(ctx context.Context, id wire.SessionID, it *item) error {
	data, err := it.encode()
	if err != nil {
		return err
	}
	again := it.sentAs != ""
	if !again {
		it.sentAs = h.newDeliveryID()
	}
	known, err := h.store.Send(ctx, id, store.Command{ID: it.sentAs, Data: data})
	if err != nil {
		return fmt.Errorf("send a command to the owner: %w", err)
	}
	if known && !again {
		h.log.WarnContext(ctx, "a command was taken for one that was sent before", "session", string(id), "delivery", it.sentAs)
	}
	return nil
}

// sendOrder puts an order into the inbox of a session.
func (h *Hub) sendOrder(ctx context.Context, id wire.SessionID, o *order) error {
	return h.send(ctx, id, &item{order: o})
}

// sendItems sends on what is in the mailbox of a session that somebody else owns
// now, and returns what the store does not take yet; what it does not take for
// ever is given up.
func (k *liveSession) sendItems(ctx context.Context, items []item) []item {
	for i := range items {
		it := &items[i]
		switch {
		case it.deliveryID != "":
			continue // the inbox has it still
		case it.poison != nil && it.order != nil:
			it.finish(it.poison)
			continue
		}
		err := k.sendItem(ctx, it)
		switch {
		case err == nil: // who waits for an order looks in the directory
			k.setStoreIssue(ctx, issueSend, false)
		case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid), errors.Is(err, store.ErrConflict):
			level := slog.LevelWarn
			if it.order != nil && it.order.Kind == orderRestore {
				level = slog.LevelError // clients were told that it is kept
			}
			k.log.Log(ctx, level, "a command cannot be sent to the owner", "err", err)
			it.finish(asError(err))
		default:
			if ctx.Err() == nil {
				k.setStoreIssue(ctx, issueSend, isStoreUnavailable(err))
				k.log.WarnContext(ctx, "the owner does not get its commands yet", "err", err)
			}
			return items[i:]
		}
	}
	return nil
}

// sendItem sends one item. What cannot even be written down is invalid.
func (k *liveSession) sendItem(ctx context.Context, it *item) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: panic: %v", store.ErrInvalid, v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return k.hub.send(ctx, k.id, it)
}

// sendBarrier brings those items to the store again that may be there already, under
// their names, and then the mark: what comes before it was said before what waits
// in the mailbox now. It returns the items that it could not bring.
func (l *owner) sendBarrier(sent []item) []item {
	l.live.mailbox.waitDirectSends(l.ctx)
	rest := append(sent, item{order: &order{Kind: orderBarrier}, sentAs: l.barrier})
	for wait := retryFirst; l.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		if rest = l.live.sendItems(l.ctx, rest); len(rest) == 0 {
			return nil
		}
		sleep(l.ctx, wait)
	}
	return rest[:len(rest)-1]
}

// receiveInbox brings what is in the inbox into the mailbox, until the lease is lost.
func (l *owner) receiveInbox() {
	seen := newRecentIDs(recentIDLimit)
	for wait := retryFirst; l.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		for commands, err := range l.live.hub.store.Receive(l.ctx, l.lease) {
			if errors.Is(err, store.ErrFenced) || isPermanent(err) {
				l.cancel(errLost)
				return
			}
			if err != nil {
				break // and ask again, which shows what is not consumed again
			}
			wait = retryFirst
			for _, c := range commands {
				if l.inheritedDeliveries[c.ID] || !seen.add(c.ID) {
					continue
				}
				if l.live.mailbox.put(l.ctx, l.decodeDelivery(c)) != nil {
					return
				}
				if c.ID == l.barrier {
					l.live.inboxHasOlder.Store(false)
					l.live.mailbox.releaseLocalItems()
				}
			}
		}
		sleep(l.ctx, wait)
	}
}

// decodeDelivery reads a delivery. What cannot be read is consumed like everything else.
func (l *owner) decodeDelivery(c store.Command) item {
	it, err := decodeItem(c.Data)
	if err != nil {
		l.live.log.Warn("a command in the inbox cannot be read", "id", c.ID, "err", err)
		it = item{order: &order{}}
	}
	known := l.retryMarks[c.ID]
	it.deliveryID, it.alone, it.poison = c.ID, known.alone, cmp.Or(known.poison, it.poison)
	return it
}

// recentIDLimit is more than an inbox holds.
const recentIDLimit = 1024

// recentIDs remembers the newest names it was told.
type recentIDs struct {
	known map[string]struct{}
	order []string
	next  int
}

func newRecentIDs(n int) *recentIDs {
	return &recentIDs{known: map[string]struct{}{}, order: make([]string, n)}
}

// add reports whether a name is new.
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

// earliest of several times, of which zero ones are never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		first = earlier(first, t)
	}
	return first
}
