package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// deliver brings an item to the owner, wherever it is.
func (k *keeper) deliver(ctx context.Context, it item) error {
	if !k.following.Load() {
		// Between two owners the mailbox collects, too.
		return k.box.put(ctx, it)
	}
	return k.hub.send(ctx, k.id, &it)
}

// send puts an item into the inbox of a session. The delivery has one name
// however often it is tried, so it arrives once.
func (h *Hub) send(ctx context.Context, id wire.SessionID, it *item) error {
	data, err := it.pack()
	if err != nil {
		return err
	}
	if it.sent == "" {
		it.sent = string(h.cfg.Replica) + "." + strconv.FormatUint(h.deliveries.Add(1), 10)
	}
	if _, err := h.store.Send(ctx, id, store.Command{ID: it.sent, Data: data}); err != nil {
		return fmt.Errorf("send a command to the owner: %w", err)
	}
	return nil
}

// sendOrder puts an order into the inbox of a session.
func (h *Hub) sendOrder(ctx context.Context, id wire.SessionID, o *order) error {
	return h.send(ctx, id, &item{order: o})
}

// forward sends on what is in the mailbox of a session that somebody else owns
// now. It is tried until the store takes it; what it does not take for ever is
// given up.
func (k *keeper) forward(ctx context.Context, items []item) []item {
	for i := range items {
		it := &items[i]
		if it.inbox != "" || it.poison != nil {
			continue // the inbox has it still; or it was refused here
		}
		limited, cancel := context.WithTimeout(ctx, storeTimeout)
		err := k.hub.send(limited, k.id, it)
		cancel()
		switch {
		case err == nil, errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrInvalid):
			// Who waits for an order looks in the directory.
			if err != nil {
				k.log.WarnContext(ctx, "a command cannot be sent to the new owner", "error", err)
				it.finish(asError(err))
			}
		default:
			k.log.WarnContext(ctx, "the new owner does not get its commands yet", "error", err)
			return items[i:]
		}
	}
	return nil
}

// receive brings what is in the inbox into the mailbox, until ctx ends.
func (l *live) receive(ctx context.Context) {
	seen := newRecent(recentDeliveries)
	for wait := retryFirst; ctx.Err() == nil; wait = min(2*wait, retryLast) {
		for commands, err := range l.k.hub.store.Receive(ctx, l.lease) {
			if errors.Is(err, store.ErrFenced) || lasting(err) {
				l.cancel(errLost)
				return
			}
			if err != nil {
				break // and ask again, which shows what is not consumed again
			}
			wait = retryFirst
			for _, c := range commands {
				if l.inherited[c.ID] || !seen.add(c.ID) {
					continue
				}
				if l.k.box.put(ctx, l.open(c)) != nil {
					return
				}
			}
		}
		sleep(ctx, wait)
	}
}

// open reads a delivery. What cannot be read is consumed like everything else.
func (l *live) open(c store.Command) item {
	it, err := unpack(c.Data)
	if err != nil {
		l.k.log.Warn("a command in the inbox cannot be read", "id", c.ID, "error", err)
		it = item{order: &order{}}
	}
	known := l.marks[c.ID]
	it.inbox, it.alone, it.poison = c.ID, known.alone, known.poison
	return it
}

// recentDeliveries is more than an inbox holds.
const recentDeliveries = 1024

// recent remembers the newest names it was told.
type recent struct {
	known map[string]struct{}
	order []string
	next  int
}

func newRecent(n int) *recent { return &recent{known: map[string]struct{}{}, order: make([]string, n)} }

// add reports whether a name is new.
func (r *recent) add(name string) bool {
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
		first = sooner(first, t)
	}
	return first
}
