package filestore

import (
	"context"
	"fmt"
	"iter"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Send adds a command to a session's inbox. A command with the id of one in the inbox, or
// of one of the last [store.Limits.InboxCommands] consumed ones, is a duplicate.
// [store.ErrConflict] for an id in the inbox with other data, [store.ErrFull] if the inbox
// is full.
func (s *Sessions) Send(ctx context.Context, id wire.SessionID, c store.Command) (duplicate bool, err error) {
	if err := s.checkOpen(ctx); err != nil {
		return false, err
	}
	if err := s.cfg.Limits.CheckCommand(c); err != nil {
		return false, err
	}
	e, err := s.find(ctx, id)
	if err != nil {
		return false, err
	}
	if err := e.writeLock.lock(ctx); err != nil {
		return false, err
	}
	e.mu.Lock()
	m, err := e.meta, e.checkWritableLocked()
	if e.absent {
		err = fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	e.mu.Unlock()
	if err == nil {
		duplicate, err = s.reader.checkDuplicate(e, c)
	}
	if err != nil || duplicate {
		e.writeLock.unlock()
		return duplicate, err
	}
	m.sent++
	b := kvlog.NewBatch(bucketOf(id))
	b.Put(numbered(inboxPrefix, m.sent, c.ID), s.cfg.Schema.Seal(nil, c.Data))
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finishWrite(err, &m) }, b); err != nil {
		return false, fmt.Errorf("send command: %w", err)
	}
	return false, nil
}

// Receive yields the commands in a session's inbox in the order in which they were sent,
// and then new ones, until the first error. Commands that no batch consumes are yielded
// again by the next Receive.
func (s *Sessions) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		e, err := s.findLeased(ctx, l)
		if err != nil {
			yield(nil, err)
			return
		}
		for last := uint64(0); ; {
			changed := e.waitFor(&e.inboxChanged) // before reading, so that no command is missed
			err := s.checkOpen(ctx)
			if err == nil {
				err = e.checkLease(l)
			}
			var commands []store.Command
			if err == nil {
				commands, last, err = s.reader.readInbox(e, last)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if len(commands) > 0 {
				if !yield(commands, nil) {
					return
				}
				continue
			}
			select {
			case <-changed:
			case <-s.runCtx.Done():
			case <-ctx.Done():
			}
		}
	}
}
