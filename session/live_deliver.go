package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/store"
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
	err := k.forward(limited, &it)
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
	return k.forward(ctx, it)
}

// forward puts an item into the inbox of the session and remembers it until it is answered.
func (k *liveSession) forward(ctx context.Context, it *item) error {
	isNew := it.sentAs == ""
	c, err := k.env.deliveryOf(it)
	if err != nil {
		return err
	}
	k.forwarded.add(it, c, k.mailbox.signal)
	if err := k.env.send(ctx, k.id, c, isNew); err != nil {
		k.forwarded.remove(it)
		return err
	}
	return nil
}

// earliest returns the earliest of several times; zero times mean never.
func earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		first = earlier(first, t)
	}
	return first
}
