package redisstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
)

// outcome says what an error tells about a command that was sent.
type outcome int

const (
	// refused: Redis has answered and would answer so again.
	refused outcome = iota
	// undone: it was certainly not carried out and may work in a moment.
	undone
	// unknown: no answer came back.
	unknown
)

// passing are answers of a server that cannot serve us at the moment. It has
// done nothing when it gives one of them.
var passing = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "NOREPLICAS", "BUSY", "MISCONF",
	"ERR max number of clients",
}

func outcomeOf(err error) outcome {
	if answer, ok := answerOf(err); ok {
		for _, p := range passing {
			if strings.HasPrefix(answer, p) {
				return undone
			}
		}
		return refused
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return undone
	}
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) {
		return undone
	}
	return unknown
}

// answerOf returns what Redis said, if it did. A refused EXEC says why behind a
// preamble.
func answerOf(err error) (string, bool) {
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return "", false
	}
	return strings.TrimPrefix(answer.Error(), "EXECABORT Transaction discarded because of: "), true
}

func isAnswer(err error, prefix string) bool {
	answer, ok := answerOf(err)
	return ok && strings.HasPrefix(answer, prefix)
}

// explain turns what go-redis says into what the contract says. It is the only
// place that does.
func (s *Store) explain(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if s.life.Err() != nil {
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
	}
	if ended := contextError(ctx); ended != nil {
		if errors.Is(ended, context.DeadlineExceeded) {
			s.cfg.Observer.Failed("timeout")
		}
		return fmt.Errorf("%s: %w", what, ended)
	}
	switch {
	case isAnswer(err, "OOM"), isAnswer(err, "MISCONF") && strings.Contains(err.Error(), "No space"):
		s.cfg.Observer.Failed("no_space")
		return fmt.Errorf("%s: %w: %w", what, store.ErrNoSpace, err)
	case isAnswer(err, "WRONGTYPE"):
		s.cfg.Observer.Failed("corrupt")
		return fmt.Errorf("%s: %w: %w", what, store.ErrCorrupt, err)
	case outcomeOf(err) == refused && !redis.IsAuthError(err) && !redis.IsPermissionError(err):
		s.cfg.Observer.Failed("refused")
		return fmt.Errorf("%s: %w", what, err)
	default:
		s.cfg.Observer.Failed("unavailable")
		return fmt.Errorf("%s: %w: %w", what, store.ErrUnavailable, err)
	}
}

// contextError returns why ctx has ended, also in the moment between the end of
// its deadline, which connections notice by themselves, and that of ctx.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
