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
	if it.order == nil && k.full.Load() {
		return errFull
	}
	if !k.box.enter() {
		// Between two owners the mailbox collects, too.
		return k.box.put(ctx, it)
	}
	defer k.box.leave()
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
	n := k.deliverNow(commands)
	for ; n < len(commands); n++ {
		if err := k.deliver(ctx, item{cmd: commands[n]}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// deliverNow is deliverAll as far as it need not wait for anything.
func (k *liveSession) deliverNow(commands []Command) int {
	if k.full.Load() {
		return 0
	}
	return k.box.fillNow(commands)
}

// deliveryName names something that is sent to an owner. No other replica, and
// no other process of this one, uses it.
func (h *Hub) deliveryName() string {
	return string(h.cfg.Replica) + "." + h.process + "." + strconv.FormatUint(h.deliveries.Add(1), 10)
}

// send puts an item into the inbox of a session. The delivery has one name
// however often it is tried, so it arrives once.
func (h *Hub) send(ctx context.Context, id wire.SessionID, it *item) error {
	data, err := it.pack()
	if err != nil {
		return err
	}
	again := it.sent != ""
	if !again {
		it.sent = h.deliveryName()
	}
	known, err := h.store.Send(ctx, id, store.Command{ID: it.sent, Data: data})
	if err != nil {
		return fmt.Errorf("send a command to the owner: %w", err)
	}
	if known && !again {
		h.log.WarnContext(ctx, "a command was taken for one that was sent before", "session", string(id), "delivery", it.sent)
	}
	return nil
}

// sendOrder puts an order into the inbox of a session.
func (h *Hub) sendOrder(ctx context.Context, id wire.SessionID, o *order) error {
	return h.send(ctx, id, &item{order: o})
}

// forward sends on what is in the mailbox of a session that somebody else owns
// now, and returns what the store does not take yet; what it does not take for
// ever is given up.
func (k *liveSession) forward(ctx context.Context, items []item) []item {
	for i := range items {
		it := &items[i]
		switch {
		case it.inbox != "":
			continue // the inbox has it still
		case it.poison != nil && it.order != nil:
			it.finish(it.poison)
			continue
		}
		err := k.forwardCommand(ctx, it)
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
				k.setStoreIssue(ctx, issueSend, away(err))
				k.log.WarnContext(ctx, "the owner does not get its commands yet", "err", err)
			}
			return items[i:]
		}
	}
	return nil
}

// forwardCommand sends one item. What cannot even be written down is invalid.
func (k *liveSession) forwardCommand(ctx context.Context, it *item) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: panic: %v", store.ErrInvalid, v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return k.hub.send(ctx, k.id, it)
}

// line brings those items to the store again that may be there already, under
// their names, and then the mark: what comes before it was said before what waits
// in the mailbox now. It returns the items that it could not bring.
func (l *owner) line(sent []item) []item {
	l.k.box.arrived(l.ctx)
	rest := append(sent, item{order: &order{Kind: orderMark}, sent: l.mark})
	for wait := retryFirst; l.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		if rest = l.k.forward(l.ctx, rest); len(rest) == 0 {
			return nil
		}
		sleep(l.ctx, wait)
	}
	return rest[:len(rest)-1]
}

// receive brings what is in the inbox into the mailbox, until the lease is lost.
func (l *owner) receive() {
	seen := newRecent(recentDeliveries)
	for wait := retryFirst; l.ctx.Err() == nil; wait = min(2*wait, retryLast) {
		for commands, err := range l.k.hub.store.Receive(l.ctx, l.lease) {
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
				if l.k.box.put(l.ctx, l.open(c)) != nil {
					return
				}
				if c.ID == l.mark {
					l.k.mixed.Store(false)
					l.k.box.open()
				}
			}
		}
		sleep(l.ctx, wait)
	}
}

// open reads a delivery. What cannot be read is consumed like everything else.
func (l *owner) open(c store.Command) item {
	it, err := unpack(c.Data)
	if err != nil {
		l.k.log.Warn("a command in the inbox cannot be read", "id", c.ID, "err", err)
		it = item{order: &order{}}
	}
	known := l.marks[c.ID]
	it.inbox, it.alone, it.poison = c.ID, known.alone, cmp.Or(known.poison, it.poison)
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
