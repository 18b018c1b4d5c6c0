package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/everdesk/everdesk/providers"
)

// Retries of model calls.
const (
	retries      = 2
	minRetryWait = 500 * time.Millisecond
	maxRetryWait = 8 * time.Second
	// maxRetryAfter is the longest accepted delay named by a backend. A turn that would have to
	// wait longer fails and says when to retry.
	maxRetryAfter = 30 * time.Second
)

// errTooMuch cancels the reading of a reply that exceeds MaxReply.
var errTooMuch = fmt.Errorf("the reply has more than the %d bytes that one may have", MaxReply)

// callModel calls the model and retries as long as no part of the reply was published; seen says that one
// was. The error is a [*providers.Failure], or errSteered, or the cause of the turn's end.
func (s *session) callModel(t *turn) (reply Reply, seen bool, err error) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	s.mu.Lock()
	if slices.ContainsFunc(s.inbox, func(m providers.Message) bool { return m.Mode == providers.Steer }) {
		s.mu.Unlock()
		return Reply{}, false, errSteered
	}
	t.cancelCall = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.cancelCall = nil
	}()
	for s.size > MaxBytes {
		if !s.shorten(t) {
			return Reply{}, false, &providers.Failure{
				Class: providers.ContextLength, Err: fmt.Errorf("the conversation has %d bytes, at most %d are allowed", s.size, MaxBytes),
			}
		}
	}
	for try := 0; ; {
		reply, seen, err = s.stream(ctx, t)
		if err == nil {
			return reply, seen, nil
		}
		if ctx.Err() != nil {
			return reply, seen, context.Cause(ctx)
		}
		f := failure(err)
		wait, again := retryDelay(f, try)
		switch {
		case seen:
			return reply, true, f
		case f.Class == providers.ContextLength && s.shorten(t):
			wait = 0
		case !again:
			return reply, false, f
		default:
			try++
		}
		s.emit(providers.Event{Kind: providers.EventRetry, Message: t.id, Wait: wait, Text: f.Error()})
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return Reply{}, false, context.Cause(ctx)
		}
	}
}

// stream calls the model once and reports whether a part of the reply was published.
func (s *session) stream(ctx context.Context, t *turn) (reply Reply, seen bool, err error) {
	r := Request{
		Model: s.spec.Model, Effort: s.spec.Effort, System: s.spec.System, Tools: s.spec.Tools,
		Entries: providers.Corrected(s.thread, providers.CorrectOptions{Backend: s.p.cfg.Name}),
	}
	if err := providers.Checked(r.Entries); err != nil {
		return Reply{}, false, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	said := 0
	asked := providers.ModelCall{Began: time.Now()}
	reply, err = s.p.cfg.Model.Stream(ctx, r, func(p Piece) {
		if asked.First.IsZero() {
			asked.First = time.Now()
		}
		if said += len(p.Text) + len(p.Thinking) + len(p.Hidden); said > MaxReply {
			cancel(errTooMuch)
			return
		}
		if p.Thinking != "" {
			seen = true
			s.emit(providers.Event{Kind: providers.EventThinking, Message: t.id, Text: p.Thinking})
		}
		if p.Text != "" {
			seen = true
			s.emit(providers.Event{Kind: providers.EventText, Message: t.id, Text: p.Text})
		}
	})
	// Not every server sends everything in pieces that is in the reply.
	if said > MaxReply || size(providers.Entry{Blocks: reply.Blocks}) > 2*MaxReply {
		err = &providers.Failure{Class: providers.Invalid, Err: errTooMuch}
	}
	if s.spec.OnModelCall != nil {
		asked.Model, asked.Ended, asked.Usage, asked.Err = reply.Model, time.Now(), reply.Usage, err
		s.spec.OnModelCall(asked)
	}
	if reply.Usage != (providers.Usage{}) {
		s.emit(providers.Event{Kind: providers.EventUsage, Message: t.id, Usage: reply.Usage})
	}
	return reply, seen, err
}

// retryDelay returns the wait after a failure, and whether a retry is worthwhile.
func retryDelay(f *providers.Failure, try int) (time.Duration, bool) {
	if !f.Passing() || try >= retries || f.RetryAfter > maxRetryAfter {
		return 0, false
	}
	if f.RetryAfter > 0 {
		return f.RetryAfter, true
	}
	wait := min(minRetryWait<<try, maxRetryWait)
	return wait - rand.N(wait/4), true //nolint:gosec // G404: the random part spreads the retries of clients; it protects nothing
}

// shorten leaves out the older half of the turns before the newest, or, if there is only one
// turn, of its replies so far. It reports whether it did: with Spec.Whole it never does.
func (s *session) shorten(t *turn) bool {
	if s.spec.Whole {
		return false
	}
	var begins []int // first entries of the turns
	for i, e := range s.thread {
		if i == 0 || e.Turn != s.thread[i-1].Turn {
			begins = append(begins, i)
		}
	}
	if len(begins) < 2 {
		return s.shortenTurn(t)
	}
	end := begins[len(begins)/2]
	s.truncateTo(t, s.thread[end:])
	return true
}

// shortenTurn leaves out the older half of the replies and results of the only turn. The user's
// messages and the newest reply stay.
func (s *session) shortenTurn(t *turn) bool {
	var replies []int
	for i, e := range s.thread {
		if e.Role == providers.RoleAssistant {
			replies = append(replies, i)
		}
	}
	if len(replies) < 2 {
		return false
	}
	var left []providers.Entry
	end := replies[len(replies)/2]
	for _, e := range s.thread[:end] {
		if e.Role == providers.RoleUser && !slices.ContainsFunc(e.Blocks, isResult) {
			left = append(left, e)
		}
	}
	s.truncateTo(t, append(left, s.thread[end:]...))
	return true
}

func isResult(b providers.Block) bool { return b.Kind == providers.BlockToolResult }

// tokenBytes is the approximate number of bytes of a token.
const tokenBytes = 4

// truncateTo reduces the conversation to these entries and sends EventTruncated.
func (s *session) truncateTo(t *turn, entries []providers.Entry) {
	shrunk := providers.Truncation{Left: len(s.thread) - len(entries), Before: s.size / tokenBytes}
	s.p.cfg.Logger.Info("conversation truncated", "agent", s.spec.Agent, "entries", len(s.thread)-len(entries), "left", len(entries))
	s.thread, s.size = slices.Clone(entries), 0
	for _, e := range s.thread {
		s.size += size(e)
	}
	shrunk.After = s.size / tokenBytes
	s.emit(providers.Event{Kind: providers.EventTruncated, Message: t.id, Truncation: shrunk})
}

// failure converts any error to a [*providers.Failure].
func failure(err error) *providers.Failure {
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		return f
	}
	return &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("ask the model: %w", err)}
}
