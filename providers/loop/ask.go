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

// How calls of the model are tried again.
const (
	retries   = 2
	firstWait = 500 * time.Millisecond
	longWait  = 8 * time.Second
	// patience is the longest wait that a backend can ask for. A turn that
	// would have to wait longer fails and says when to come back.
	patience = 30 * time.Second
)

// ask has the model reply to the conversation. It is tried again as long as
// people have seen nothing of the reply. An error is a [*providers.Failure], or
// errSteered, or the cause of the turn's end.
func (s *session) ask(t *turn) (Reply, error) {
	ctx, cancel := context.WithCancelCause(t.ctx)
	defer cancel(nil)
	s.mu.Lock()
	if slices.ContainsFunc(s.inbox, func(m providers.Message) bool { return m.Mode == providers.Steer }) {
		s.mu.Unlock()
		return Reply{}, errSteered
	}
	t.cut = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.cut = nil
	}()
	if s.size > MaxBytes {
		s.shorten()
	}
	for try := 0; ; {
		reply, seen, err := s.stream(ctx, t)
		if err == nil {
			return reply, nil
		}
		if ctx.Err() != nil {
			return reply, context.Cause(ctx)
		}
		f := failure(err)
		wait, again := pause(f, try)
		switch {
		case seen:
			return reply, f
		case f.Class == providers.ContextLength && !t.shortened && s.shorten():
			t.shortened, wait = true, 0
		case !again:
			return reply, f
		default:
			try++
		}
		s.tell(providers.Event{Kind: providers.EventRetry, Message: t.id, Wait: wait, Text: f.Error()})
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		}
	}
}

// stream asks the model once and reports whether people saw something of it.
func (s *session) stream(ctx context.Context, t *turn) (reply Reply, seen bool, err error) {
	r := Request{
		Model: s.spec.Model, System: s.spec.System, Tools: s.spec.Tools,
		Entries: prepare(s.thread, s.p.cfg.Name),
	}
	reply, err = s.p.cfg.Model.Stream(ctx, r, func(p Piece) {
		if p.Thinking != "" {
			seen = true
			s.tell(providers.Event{Kind: providers.EventThinking, Message: t.id, Text: p.Thinking})
		}
		if p.Text != "" {
			seen = true
			s.tell(providers.Event{Kind: providers.EventText, Message: t.id, Text: p.Text})
		}
	})
	if reply.Usage != (providers.Usage{}) {
		s.tell(providers.Event{Kind: providers.EventUsage, Message: t.id, Usage: reply.Usage})
	}
	return reply, seen, err
}

// pause is how long to wait after a failure, and whether that is worth it.
func pause(f *providers.Failure, try int) (time.Duration, bool) {
	if !f.Passing() || try >= retries || f.RetryAfter > patience {
		return 0, false
	}
	if f.RetryAfter > 0 {
		return f.RetryAfter, true
	}
	wait := min(firstWait<<try, longWait)
	return wait - rand.N(wait/4), true //nolint:gosec // G404: chance keeps clients apart, nobody gains by guessing it
}

// shorten leaves out the older half of the turns before the newest and reports
// whether there were any.
func (s *session) shorten() bool {
	var begins []int // where each turn does
	for i, e := range s.thread {
		if i == 0 || e.Turn != s.thread[i-1].Turn {
			begins = append(begins, i)
		}
	}
	if len(begins) < 2 {
		return false
	}
	end := begins[len(begins)/2]
	for _, e := range s.thread[:end] {
		s.size -= size(e)
	}
	s.thread = slices.Clone(s.thread[end:])
	s.p.cfg.Logger.Info("older turns are left out", "agent", s.spec.Agent, "entries", end, "left", len(s.thread))
	return true
}

// failure makes a [*providers.Failure] of any error.
func failure(err error) *providers.Failure {
	if f, ok := errors.AsType[*providers.Failure](err); ok {
		return f
	}
	return &providers.Failure{Class: providers.Transport, Err: fmt.Errorf("ask the model: %w", err)}
}
