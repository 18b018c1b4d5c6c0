package filestore

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Send adds commands to a session's inbox, up to the first that it refuses, and returns
// for each one before that whether it was a duplicate: whether it has the id of one in the
// inbox, or of one of the last [store.Limits.InboxCommands] consumed ones.
// [store.ErrConflict] for an id in the inbox with other data, [store.ErrFull] if the inbox
// is full.
func (s *Sessions) Send(ctx context.Context, id wire.SessionID, commands ...store.Command) (duplicates []bool, err error) {
	if err := s.checkOpen(ctx); err != nil {
		return nil, err
	}
	valid, refused := s.cfg.Limits.CheckCommands(commands)
	if len(valid) == 0 {
		return nil, refused
	}
	e, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := e.writeLock.lock(ctx); err != nil {
		return nil, err
	}
	e.mu.Lock()
	m, err := e.meta, e.checkWritableLocked()
	if e.absent {
		err = fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	e.mu.Unlock()
	if err == nil {
		duplicates, err = s.reader.checkDuplicates(e, valid)
	}
	b, added := kvlog.NewBatch(bucketOf(id)), m.sent
	for i, duplicate := range duplicates {
		if !duplicate {
			m.sent++
			b.Put(numbered(inboxPrefix, m.sent, valid[i].ID), s.cfg.Schema.Seal(nil, valid[i].Data))
		}
	}
	err = cmp.Or(err, refused)
	if m.sent == added {
		e.writeLock.unlock()
		return duplicates, err
	}
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finishWrite(err, &m) }, b); err != nil {
		return nil, fmt.Errorf("send commands: %w", err)
	}
	return duplicates, err
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
				err = e.checkReceive(l)
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
