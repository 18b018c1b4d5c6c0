package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// receiveBytes is the approximate bound of the commands fetched at once.
const receiveBytes = 1 << 20

// Send adds commands to a session's inbox, up to the first that it refuses, and returns
// for each one before that whether it was a duplicate: whether it has the id of one in the
// inbox, or of one of the last [store.Limits.InboxCommands] consumed ones. It is safe to
// retry. [store.ErrConflict] for an id in the inbox with other data, [store.ErrFull] if
// the inbox is full.
func (s *Sessions) Send(ctx context.Context, session wire.SessionID, commands ...store.Command) (duplicates []bool, err error) {
	const what = "send to session"
	if err := session.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	valid, refused := s.limits.CheckCommands(commands)
	if refused != nil {
		refused = fmt.Errorf("%s %s: %w", what, session, refused)
	}
	if len(valid) == 0 {
		return nil, refused
	}
	k := s.keys.session(session)
	args := make([]any, 0, 2+3*len(valid))
	args = append(args, string(session), s.limits.InboxCommands)
	for _, c := range valid {
		sum := sha256.Sum256(c.Data)
		args = append(args, c.ID, hex.EncodeToString(sum[:8]), s.schema.Seal(nil, c.Data))
	}
	r, err := s.calls.callSession(ctx, what, retryable, session, s.scripts.send,
		[]string{k.meta(), k.inbox(), k.ids(), k.quarantine()}, args...)
	if err != nil {
		return nil, err
	}
	for _, v := range r.args {
		duplicates = append(duplicates, v == int64(1))
	}
	switch r.word {
	case "CONFLICT":
		refused = fmt.Errorf("%s %s: command %s: %w", what, session, valid[len(duplicates)].ID, store.ErrConflict)
	case "FULL":
		refused = fmt.Errorf("%s %s: inbox: %w", what, session, store.ErrFull)
	}
	return duplicates, refused
}

// Receive yields the commands in the inbox in the order in which they were sent, and then
// new ones, until the first error. Commands that no batch consumes are yielded again by the
// next Receive. Once begun it continues through outages of Redis.
func (s *Sessions) Receive(ctx context.Context, l store.Lease) iter.Seq2[[]store.Command, error] {
	return func(yield func([]store.Command, error) bool) {
		if err := checkLease(l); err != nil {
			yield(nil, fmt.Errorf("receive: %w", err))
			return
		}
		k := s.keys.session(l.Session)
		woken := make(wakeup, 1)
		defer s.bus.listen(k.partition, k.inbox(), woken)()
		poll := time.NewTicker(s.cfg.InboxEvery)
		defer poll.Stop()
		after, begun := "-", false
		for {
			commands, last, err := s.receive(ctx, l, after)
			if errors.Is(err, store.ErrUnavailable) && begun {
				// The lease, not an outage, ends the ownership.
				s.pause(ctx, maxBackoff)
				continue
			}
			begun = true
			if err != nil {
				yield(nil, err)
				return
			}
			if len(commands) > 0 {
				after = "(" + last
				if !yield(commands, nil) {
					return
				}
				continue
			}
			select {
			case <-woken:
			case <-poll.C:
			case <-ctx.Done():
			case <-s.runCtx.Done():
			}
		}
	}
}

// receive returns the commands after an entry id of the inbox, and the last entry id.
func (s *Sessions) receive(ctx context.Context, l store.Lease, after string) (commands []store.Command, last string, err error) {
	const what = "receive for session"
	k := s.keys.session(l.Session)
	r, err := s.calls.callSession(ctx, what, retryable, l.Session, s.scripts.receive, []string{k.meta(), k.inbox()},
		string(l.Replica), epochText(l), after, receiveBytes)
	if err != nil {
		return nil, "", err
	}
	for _, v := range r.args {
		entry, _ := v.([]any)
		var fields []any
		if len(entry) == 2 {
			last, _ = entry[0].(string)
			fields, _ = entry[1].([]any)
		}
		if len(fields) != 4 {
			err := &store.CorruptError{Where: "inbox", Reason: "entry has an unknown format"}
			return nil, "", fmt.Errorf("%s %s: %w", what, l.Session, s.calls.handleCorrupt(ctx, l.Session, err))
		}
		id, _ := fields[1].(string)
		sealed, _ := fields[3].(string)
		data, err := s.schema.Open(store.KindCommand, id, []byte(sealed))
		if err != nil {
			return nil, "", fmt.Errorf("%s %s: %w", what, l.Session, s.calls.handleCorrupt(ctx, l.Session, err))
		}
		commands = append(commands, store.Command{ID: id, Data: data})
	}
	return commands, last, nil
}

// wakeup is a channel with a buffer of one that wakes a goroutine. As a listener it wakes it
// for every message.
type wakeup chan struct{}

func (k wakeup) signal() {
	select {
	case k <- struct{}{}:
	default:
	}
}

func (k wakeup) onMessage(string) { k.signal() }

func (k wakeup) onConnect() { k.signal() }
