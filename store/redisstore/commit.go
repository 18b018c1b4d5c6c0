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

// Commit applies a batch atomically. If the connection is lost, it sends the batch again
// under its number, which Redis applies only once. Errors: [store.ErrFenced] with a stale
// lease, [*store.GapError] if the number or Prev does not continue the log,
// [store.ErrTooLarge], [store.ErrNoSpace], [*store.QuarantinedError].
func (s *Sessions) Commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	receipt, err := s.commit(ctx, l, b)
	if err != nil {
		return store.Receipt{}, fmt.Errorf("commit to session %s: %w", l.Session, err)
	}
	return receipt, nil
}

func (s *Sessions) commit(ctx context.Context, l store.Lease, b store.Batch) (store.Receipt, error) {
	if err := checkLease(l); err != nil {
		return store.Receipt{}, err
	}
	if err := s.limits.CheckBatch(l, b); err != nil {
		return store.Receipt{}, err
	}
	v, durable, err := s.committer.commit(ctx, l, b)
	if err != nil {
		return store.Receipt{}, s.calls.sessionError(ctx, l.Session, err)
	}
	if _, applied := v.(int64); applied {
		return store.Receipt{Top: topAfter(b), Durable: durable}, nil
	}
	r, err := parseReply(v)
	if err != nil {
		return store.Receipt{}, err
	}
	if r.word == "INDEX" {
		return store.Receipt{}, s.calls.refusal(ctx, l.Session, r)
	}
	if r.word == "STATE" {
		return s.resolveMismatch(ctx, l, b, r.text(0), durable)
	}
	// A session whose state is unreadable may have been quarantined before.
	err = s.calls.quarantineError(ctx, l.Session, "")
	if q, ok := errors.AsType[*store.QuarantinedError](err); ok && q.Reason == "" {
		err = s.calls.refusal(ctx, l.Session, r)
	}
	return store.Receipt{}, cmp.Or(err, errReply)
}

// resolveMismatch determines the result of a batch that was not applied because the session
// is in another state, text, than the batch expects: a retry of the newest batch, a gap, or
// a stale lease.
func (s *Sessions) resolveMismatch(
	ctx context.Context, l store.Lease, b store.Batch, text string, durable bool,
) (store.Receipt, error) {
	if strings.HasPrefix(text, "!") {
		return store.Receipt{}, s.calls.quarantineError(ctx, l.Session, unknownReason)
	}
	if text == "" {
		return store.Receipt{}, store.ErrFenced // the session does not exist
	}
	is, err := parseState(text)
	switch {
	case err != nil:
		return store.Receipt{}, s.calls.handleCorrupt(ctx, l.Session, err)
	case is.owner != l.Replica || is.epoch != l.Epoch:
		return store.Receipt{}, store.ErrFenced
	case is.number != b.Number:
		return store.Receipt{}, &store.GapError{Top: is.top, Number: is.number}
	}
	// The retry rewrote the state, so WAIT covered it, only if it was the same batch.
	return store.Receipt{Top: is.top, Durable: durable && is.top == topAfter(b)}, nil
}

func topAfter(b store.Batch) wire.Position {
	if len(b.Events) == 0 {
		return b.Prev
	}
	_, top := store.NextPositions(b.Prev, len(b.Events))
	return top
}
