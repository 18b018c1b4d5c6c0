package session

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A follower sends what has gathered in the mailbox in groups within these bounds.
const (
	groupCommands = 64
	groupBytes    = 256 << 10
)

// deliver brings an item to the owner, here or elsewhere, in the order of its connection. It blocks
// while the mailbox is full. A follower and a session without an owner keep the item until the store
// has it.
func (ls *liveSession) deliver(ctx context.Context, it item) error {
	if it.order == nil && ls.storeFull.Load() {
		return errFull
	}
	return ls.mailbox.put(ctx, it)
}

// deliverAll delivers commands in order and returns the number delivered.
func (ls *liveSession) deliverAll(ctx context.Context, commands []Command) (int, error) {
	n := ls.tryDeliver(commands)
	for ; n < len(commands); n++ {
		if err := ls.deliver(ctx, item{cmd: commands[n]}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// tryDeliver delivers commands as long as that does not block, and returns the number delivered.
func (ls *liveSession) tryDeliver(commands []Command) int {
	if ls.storeFull.Load() {
		return 0
	}
	return ls.mailbox.tryPutCommands(commands)
}

// sendItems sends items to the inbox of the session, and returns those that the store does not accept
// yet, with the reason. A message that it refuses permanently becomes a refusal for its sender, which
// is sent instead.
func (ls *liveSession) sendItems(ctx context.Context, items []item) ([]item, error) {
	for len(items) > 0 {
		n, err := ls.sendGroup(ctx, items)
		items = items[n:]
		if err != nil {
			if ctx.Err() == nil {
				ls.setStoreIssue(ctx, issueSend, isStoreUnavailable(err))
				ls.log.WarnContext(ctx, "sending commands to the owner failed, retrying", "err", err)
			}
			return items, err
		}
		ls.setStoreIssue(ctx, issueSend, false)
	}
	return nil, nil
}

// sendGroup sends the first items in one call and remembers the commands among them until they are
// answered. It returns the number of items that need not be sent again.
func (ls *liveSession) sendGroup(ctx context.Context, items []item) (int, error) {
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
		c, err := ls.env.deliveryOf(it)
		if err != nil && ls.refuseDelivery(ctx, it, err) {
			c, err = ls.env.deliveryOf(it)
		}
		if err != nil {
			continue
		}
		ls.forwarded.add(it, c)
		group, of = append(group, c), append(of, it)
		size += len(c.Data)
	}
	sent, err := ls.env.send(ctx, ls.id, group)
	ls.forwarded.sent(of[:sent], ls.mailbox.signal)
	if err == nil {
		return n, nil
	}
	for _, it := range of[sent:] {
		ls.forwarded.remove(it)
	}
	next := slices.IndexFunc(items, func(it item) bool { return it.sentAs == group[sent].ID })
	if !isRefusedDelivery(err) {
		return next, err
	}
	if ls.refuseDelivery(ctx, &items[next], err) {
		return next, nil
	}
	return next + 1, nil
}

// isRefusedDelivery reports whether the store will never accept a command.
func isRefusedDelivery(err error) bool {
	return errors.Is(err, store.ErrTooLarge) || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrConflict)
}

// refuseDelivery finishes an item that cannot be sent. It makes a client's message a refusal and
// returns true: that can be sent, and the owner answers the sender.
func (ls *liveSession) refuseDelivery(ctx context.Context, it *item, err error) bool {
	level := slog.LevelWarn
	if it.order != nil && it.order.Kind == orderRestore {
		level = slog.LevelError // clients have an acknowledgement of it
	}
	ls.log.Log(ctx, level, "command refused by the inbox", "err", err)
	if it.order != nil || it.poison != nil {
		it.finish(asError(err))
		return false
	}
	it.poison, it.sentAs = &Error{Code: wire.CodeMessageTooLarge, Reason: "the message cannot be sent to the owner of the session", Err: err}, ""
	if !errors.Is(err, store.ErrTooLarge) {
		it.poison.Code = wire.CodeInvalidMessage
	}
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
