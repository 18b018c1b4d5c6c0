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

// Send puts a command into a session's inbox.
func (s *Store) Send(ctx context.Context, id wire.SessionID, c store.Command) (duplicate bool, err error) {
	if err := s.enter(ctx); err != nil {
		return false, err
	}
	if err := s.cfg.Limits.CheckCommand(c); err != nil {
		return false, err
	}
	e, err := s.find(ctx, id)
	if err != nil {
		return false, err
	}
	if err := e.turn.take(ctx); err != nil {
		return false, err
	}
	e.mu.Lock()
	m, err := e.meta, e.writableLocked()
	if e.absent {
		err = fmt.Errorf("session %s: %w", id, store.ErrNotFound)
	}
	e.mu.Unlock()
	if err == nil {
		duplicate, err = s.known(e, c)
	}
	if err != nil || duplicate {
		e.turn.give()
		return duplicate, err
	}
	m.sent++
	b := kvlog.NewBatch(bucketOf(id))
	b.Put(numbered(inboxPrefix, m.sent, c.ID), s.cfg.Schema.Seal(nil, c.Data))
	m.put(b)
	if err := s.submit(ctx, func(err error) { e.finish(err, &m) }, b); err != nil {
		return false, fmt.Errorf("send command: %w", err)
	}
	return false, nil
}

// known reports whether a command is in the inbox or was consumed not long ago,
// or why it cannot be taken.
func (s *Store) known(e *session, c store.Command) (bool, error) {
	inbox, consumed := 0, false
	var found []store.Command
	err := s.fetch(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		for entry := range x.Ascend(inboxPrefix, after(inboxPrefix)) {
			inbox++
			if _, id := number(inboxPrefix, entry.Key); id == c.ID {
				keep(entry)
			}
		}
		for entry := range x.Ascend(consumedPrefix, after(consumedPrefix)) {
			_, id := number(consumedPrefix, entry.Key)
			consumed = consumed || id == c.ID
		}
		return nil
	}, s.openCommands(&found))
	switch {
	case err != nil:
		return false, fmt.Errorf("send command: %w", err)
	case len(found) > 0 && !bytes.Equal(found[0].Data, c.Data):
		return false, fmt.Errorf("%w: command %q has other data", store.ErrConflict, c.ID)
	case len(found) > 0 || consumed:
		return true, nil
	case inbox >= s.cfg.Limits.InboxCommands:
		return false, fmt.Errorf("%w: inbox has %d commands", store.ErrFull, inbox)
	}
	return false, nil
}

// openCommands returns a function that adds a stored command to others.
func (s *Store) openCommands(to *[]store.Command) func(key string, sealed []byte) error {
	return func(key string, sealed []byte) error {
		_, id := number(inboxPrefix, key)
		data, err := s.cfg.Schema.Open(store.KindCommand, id, sealed)
		*to = append(*to, store.Command{ID: id, Data: data})
		return err
	}
}

// consume adds to a batch that commands leave the inbox, and remembers as many
// ids as the inbox may hold commands.
func (s *Store) consume(out *kvlog.Batch, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.look(out.Bucket(), func(x *kvlog.Index) {
		next := uint64(0)
		for entry := range x.Descend(consumedPrefix, after(consumedPrefix)) {
			next, _ = number(consumedPrefix, entry.Key)
			break
		}
		found := map[string]string{}
		for entry := range x.Ascend(inboxPrefix, after(inboxPrefix)) {
			_, id := number(inboxPrefix, entry.Key)
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

// A receiver is shown at most so much at once.
const (
	receiveCommands = 64
	receiveBytes    = 1 << 20
)

// Receive shows the commands in a session's inbox to its owner, and then those
// that come.
func (s *Store) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		e, err := s.owned(ctx, l)
		if err != nil {
			yield(nil, err)
			return
		}
		for last := uint64(0); ; {
			mail := e.wait(&e.mail) // before looking, so that nothing is missed
			err := s.enter(ctx)
			if err == nil {
				err = e.holds(l)
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
			case <-mail:
			case <-s.life.Done():
			case <-ctx.Done():
			}
		}
	}
}

// receive reads commands after a number.
func (s *Store) receive(e *session, last uint64) ([]store.Command, uint64, error) {
	size, next := receiveBytes, last
	var commands []store.Command
	err := s.fetch(e, func(x *kvlog.Index, keep func(kvlog.Entry)) error {
		n := 0
		for entry := range x.Ascend(numbered(inboxPrefix, last+1, ""), after(inboxPrefix)) {
			keep(entry)
			next, _ = number(inboxPrefix, entry.Key)
			n++
			if size -= entry.Size(); n == receiveCommands || size <= 0 {
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
