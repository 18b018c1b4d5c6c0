package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Commit applies a batch. A lost connection is no reason to fail: the batch is
// sent again under its number, which Redis applies only once.
func (s *Store) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	receipt, err := s.commit(ctx, l, b)
	if err != nil {
		return store.Receipt{}, fmt.Errorf("commit to session %s: %w", l.Session, err)
	}
	return receipt, nil
}

func (s *Store) commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := checkLease(l); err != nil {
		return store.Receipt{}, err
	}
	if err := s.limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	v, durable, err := s.committer.commit(ctx, l, b)
	if err != nil {
		return store.Receipt{}, s.sessionError(ctx, l.Session, err)
	}
	if _, applied := v.(int64); applied {
		return store.Receipt{Top: topAfter(b), Durable: durable}, nil
	}
	r, err := parseReply(v)
	if err != nil {
		return store.Receipt{}, err
	}
	if r.word == "INDEX" {
		return store.Receipt{}, s.refusal(ctx, l.Session, r)
	}
	if r.word == "STATE" {
		return s.resolveMismatch(ctx, l, b, r.text(0), durable)
	}
	// A session whose very state is broken may have been set aside before.
	err = s.quarantineError(ctx, l.Session, "")
	if q, ok := errors.AsType[*store.QuarantinedError](err); ok && q.Reason == "" {
		err = s.refusal(ctx, l.Session, r)
	}
	return store.Receipt{}, cmp.Or(err, errReply)
}

// resolveMismatch says what it means that a session is in another state than a batch
// follows.
func (s *Store) resolveMismatch(
	ctx context.Context, l store.Lease, b store.Batch, text string, durable bool,
) (store.Receipt, error) {
	if strings.HasPrefix(text, "!") {
		return store.Receipt{}, s.quarantineError(ctx, l.Session, unknownReason)
	}
	if text == "" {
		return store.Receipt{}, store.ErrFenced // there is no such session
	}
	is, err := parseState(text)
	switch {
	case err != nil:
		return store.Receipt{}, s.handleCorrupt(ctx, l.Session, err)
	case is.owner != l.Replica || is.epoch != l.Epoch:
		return store.Receipt{}, store.ErrFenced
	case is.number != b.Number:
		return store.Receipt{}, &store.GapError{Top: is.top, Number: is.number}
	}
	// Only the very same batch was touched, and so waited for, once more.
	return store.Receipt{Top: is.top, Durable: durable && is.top == topAfter(b)}, nil
}

func topAfter(b store.Batch) wire.Position {
	if len(b.Events) == 0 {
		return b.Prev
	}
	_, top := store.NextPositions(b.Prev, len(b.Events))
	return top
}
