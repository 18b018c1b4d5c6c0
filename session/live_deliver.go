package session

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
)

// A follower sends what has gathered in the mailbox in groups within these bounds.
const (
	groupCommands = 64
	groupBytes    = 256 << 10
)

// deliver brings an item to the owner, here or elsewhere, in the order of its connection. It blocks
// while the mailbox is full. A follower and a session without an owner keep the item until the store
// has it.
func (k *liveSession) deliver(ctx context.Context, it item) error {
	if it.order == nil && k.storeFull.Load() {
		return errFull
	}
	return k.mailbox.put(ctx, it)
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

// sendItems sends items to the inbox of a session that another replica owns, and returns those that
// the store does not accept yet. An item that it refuses permanently is finished with the error.
func (k *liveSession) sendItems(ctx context.Context, items []item) []item {
	for len(items) > 0 {
		n, err := k.sendGroup(ctx, items)
		items = items[n:]
		if err != nil {
			if ctx.Err() == nil {
				k.setStoreIssue(ctx, issueSend, isStoreUnavailable(err))
				k.log.WarnContext(ctx, "sending commands to the owner failed, retrying", "err", err)
			}
			return items
		}
		k.setStoreIssue(ctx, issueSend, false)
	}
	return nil
}

// sendGroup sends the first items in one call and remembers the commands among them until they are
// answered. It returns the number of items that need not be sent again.
func (k *liveSession) sendGroup(ctx context.Context, items []item) (int, error) {
	var group []store.Command
	var of []*item // of each command
	n, size := 0, 0
	for ; n < len(items) && len(group) < groupCommands && size < groupBytes; n++ {
		it := &items[n]
		switch {
		case it.deliveryID != "":
			continue // it is still in the inbox
		case it.poison != nil && it.order != nil:
			it.finish(it.poison)
			continue
		}
		c, err := k.env.deliveryOf(it)
		if err != nil {
			k.refuseDelivery(ctx, it, err)
			continue
		}
		k.forwarded.add(it, c, k.mailbox.signal)
		group, of = append(group, c), append(of, it)
		size += len(c.Data)
	}
	sent, err := k.env.send(ctx, k.id, group)
	k.storeFull.Store(errors.Is(err, store.ErrNoSpace))
	if err == nil {
		return n, nil
	}
	for _, it := range of[sent:] {
		k.forwarded.remove(it)
	}
	next := slices.IndexFunc(items, func(it item) bool { return it.sentAs == group[sent].ID })
	if isRefusedDelivery(err) {
		k.refuseDelivery(ctx, &items[next], err)
		return next + 1, nil
	}
	return next, err
}

// isRefusedDelivery reports whether the store will never accept a command.
func isRefusedDelivery(err error) bool {
	return errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrConflict)
}

// refuseDelivery finishes an item that cannot be sent.
func (k *liveSession) refuseDelivery(ctx context.Context, it *item, err error) {
	level := slog.LevelWarn
	if it.order != nil && it.order.Kind == orderRestore {
		level = slog.LevelError // clients have an acknowledgement of it
	}
	k.log.Log(ctx, level, "command refused by the inbox", "err", err)
	it.finish(asError(err))
}

// earliest returns the earliest of several times; zero times mean never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		first = earlier(first, t)
	}
	return first
}
