package session

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A follower sends what has gathered in the mailbox in groups within these bounds.
const (
	groupCommands = 64
	groupBytes    = 256 << 10
)

// deliverySender sends items of this replica to the inbox of a session, from which the owner receives them,
// and keeps the commands among them until they are answered.
type deliverySender struct {
	env         *environment
	id          wire.SessionID
	log         *slog.Logger
	mailbox     *mailbox // is woken when commands have to be sent again
	storeHealth *storeHealth
	forwarded   forwarded
}

// sendItems sends items to the inbox of the session, and returns those that the store does not accept
// yet, with the reason. A message that it refuses permanently becomes a refusal for its sender, which
// is sent instead.
func (s *deliverySender) sendItems(ctx context.Context, items []item) ([]item, error) {
	for len(items) > 0 {
		n, err := s.sendGroup(ctx, items)
		items = items[n:]
		if err != nil {
			if ctx.Err() == nil {
				s.storeHealth.set(ctx, issueSend, err)
				s.log.WarnContext(ctx, "sending commands to the owner failed, retrying", "err", err)
			}
			return items, err
		}
		s.storeHealth.set(ctx, issueSend, nil)
	}
	return nil, nil
}

// sendGroup sends the first items in one call and keeps the commands among them until they are
// answered. It returns the number of items that need not be sent again.
func (s *deliverySender) sendGroup(ctx context.Context, items []item) (int, error) {
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
		c, err := s.env.deliveryOf(it)
		if err != nil && s.refuseDelivery(ctx, it, err) {
			c, err = s.env.deliveryOf(it)
		}
		if err != nil {
			continue
		}
		s.forwarded.add(it, c)
		group, of = append(group, c), append(of, it)
		size += len(c.Data)
	}
	sent, err := s.env.send(ctx, s.id, group)
	s.forwarded.sent(of[:sent], s.mailbox.signal)
	if err == nil {
		return n, nil
	}
	for _, it := range of[sent:] {
		s.forwarded.remove(it)
	}
	next := slices.IndexFunc(items, func(it item) bool { return it.sentAs == group[sent].ID })
	if !isRefusedDelivery(err) {
		return next, err
	}
	if s.refuseDelivery(ctx, &items[next], err) {
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
func (s *deliverySender) refuseDelivery(ctx context.Context, it *item, err error) bool {
	level := slog.LevelWarn
	if it.order != nil && it.order.Kind == orderRestore {
		level = slog.LevelError // clients have an acknowledgement of it
	}
	s.log.Log(ctx, level, "command refused by the inbox", "err", err)
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

// resend sends forwarded commands again. After an error other than a final refusal it returns the
// error and the commands that are not sent.
func (s *deliverySender) resend(ctx context.Context, commands []forwardedCommand) ([]forwardedCommand, error) {
	for len(commands) > 0 {
		var group []store.Command
		for n, size := 0, 0; n < min(len(commands), groupCommands) && size < groupBytes; n++ {
			group = append(group, commands[n].command)
			size += len(commands[n].command.Data)
		}
		sent, err := s.env.send(ctx, s.id, group)
		if isRefusedDelivery(err) {
			sent, err = sent+1, nil
		}
		for _, c := range commands[:sent] {
			s.forwarded.sentAgain(c)
		}
		if commands = commands[sent:]; err != nil {
			return commands, err
		}
	}
	return nil, nil
}
