package filestore

import (
	"bytes"
	"context"
	"errors"
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
func (s *Store) Send(ctx context.Context, id wire.SessionID, c store.Command) (duplicate bool, err error) {
	if err := s.checkOpen(ctx); err != nil {
		return false, err
	}
	if err := s.cfg.Limits.CheckCommand(c); err != nil {
		return false, err
	}
	e, err := s.findSession(ctx, id)
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
		duplicate, err = s.checkDuplicate(e, c)
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

// checkDuplicate reports whether a command is in the inbox or was consumed recently. It
// fails with [store.ErrConflict] or [store.ErrFull].
func (s *Store) checkDuplicate(e *session, c store.Command) (bool, error) {
	inbox, consumed := 0, false
	var found []store.Command
	err := s.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		for entry := range x.Ascend(inboxPrefix, prefixEnd(inboxPrefix)) {
			inbox++
			if _, id := parseNumbered(inboxPrefix, entry.Key); id == c.ID {
				keep(entry)
			}
		}
		for entry := range x.Ascend(consumedPrefix, prefixEnd(consumedPrefix)) {
			_, id := parseNumbered(consumedPrefix, entry.Key)
			consumed = consumed || id == c.ID
		}
		return nil
	}, s.openCommands(&found))
	switch {
	case err != nil:
		return false, fmt.Errorf("send command: %w", err)
	case len(found) > 0 && !bytes.Equal(found[0].Data, c.Data):
		return false, fmt.Errorf("%w: command %q was sent with different data", store.ErrConflict, c.ID)
	case len(found) > 0 || consumed:
		return true, nil
	case inbox >= s.cfg.Limits.InboxCommands:
		return false, fmt.Errorf("%w: inbox has %d commands", store.ErrFull, inbox)
	}
	return false, nil
}

// openCommands returns a function that unseals a stored command and appends it to to.
func (s *Store) openCommands(to *[]store.Command) func(key string, sealed []byte) error {
	return func(key string, sealed []byte) error {
		_, id := parseNumbered(inboxPrefix, key)
		data, err := s.cfg.Schema.Open(store.KindCommand, id, sealed)
		*to = append(*to, store.Command{ID: id, Data: data})
		return err
	}
}

// consumeCommands removes commands from the inbox in a batch, and records their ids, at
// most as many as the inbox may hold commands.
func (s *Store) consumeCommands(out *kvlog.Batch, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.withIndex(out.Bucket(), func(x *kvlog.Index) {
		next := uint64(0)
		for entry := range x.Descend(consumedPrefix, prefixEnd(consumedPrefix)) {
			next, _ = parseNumbered(consumedPrefix, entry.Key)
			break
		}
		found := map[string]string{}
		for entry := range x.Ascend(inboxPrefix, prefixEnd(inboxPrefix)) {
			_, id := parseNumbered(inboxPrefix, entry.Key)
			found[id] = entry.Key
		}
		for _, id := range ids {
			key, ok := found[id]
			if !ok {
				continue
			}
			delete(found, id)
			next++
			out.Delete(key)
			out.Put(numbered(consumedPrefix, next, id), nil)
		}
		if keep := uint64(s.cfg.Limits.InboxCommands); next > keep { //nolint:gosec // positive
			out.DeleteRange(consumedPrefix, numbered(consumedPrefix, next-keep+1, ""))
		}
	})
}

// The bounds of one item that Receive yields.
const (
	maxReceiveCommands = 64
	maxReceiveBytes    = 1 << 20
)

// Receive yields the commands in a session's inbox in the order in which they were sent,
// and then new ones, until the first error. Commands that no batch consumes are yielded
// again by the next Receive.
func (s *Store) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		e, err := s.leasedSession(ctx, l)
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
				commands, last, err = s.receive(e, last)
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

// receive returns the commands with numbers above last, and the number of the last one.
func (s *Store) receive(e *session, last uint64) ([]store.Command, uint64, error) {
	size, next := maxReceiveBytes, last
	var commands []store.Command
	err := s.readValues(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		n := 0
		for entry := range x.Ascend(numbered(inboxPrefix, last+1, ""), prefixEnd(inboxPrefix)) {
			keep(entry)
			next, _ = parseNumbered(inboxPrefix, entry.Key)
			n++
			if size -= entry.Size(); n == maxReceiveCommands || size <= 0 {
				break
			}
		}
		return nil
	}, s.openCommands(&commands))
	if errors.Is(err, store.ErrNotFound) {
		return nil, last, store.ErrFenced
	}
	if err != nil {
		return nil, last, fmt.Errorf("receive: %w", err)
	}
	return commands, next, nil
}
