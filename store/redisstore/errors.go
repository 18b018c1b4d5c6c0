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

// outcome is what an error reveals about a command that was sent.
type outcome int

const (
	// outcomeRefused: Redis replied with an error that a retry would not change.
	outcomeRefused outcome = iota
	// outcomeNotExecuted: the command was certainly not executed; a retry may succeed.
	outcomeNotExecuted
	// outcomeUnknown: no reply was received.
	outcomeUnknown
)

// transientReplies are the error replies of a server that cannot serve the command at
// present. The server has executed nothing when it sends one of them.
var transientReplies = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "NOREPLICAS", "BUSY", "MISCONF",
	"ERR max number of clients",
}

func classifyError(err error) outcome {
	if answer, ok := redisReply(err); ok {
		for _, p := range transientReplies {
			if strings.HasPrefix(answer, p) {
				return outcomeNotExecuted
			}
		}
		return outcomeRefused
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return outcomeNotExecuted
	}
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) {
		return outcomeNotExecuted
	}
	return outcomeUnknown
}

// redisReply returns the error reply of Redis, if err contains one, without the prefix of a
// refused EXEC.
func redisReply(err error) (string, bool) {
	answer, ok := errors.AsType[redis.Error](err)
	if !ok {
		return "", false
	}
	return strings.TrimPrefix(answer.Error(), "EXECABORT Transaction discarded because of: "), true
}

func isRedisError(err error, prefix string) bool {
	answer, ok := redisReply(err)
	return ok && strings.HasPrefix(answer, prefix)
}

// contractError converts an error of go-redis into one of the contract of package store and
// reports it to the observer. No other function converts errors.
func (c *caller) contractError(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if c.runCtx.Err() != nil {
		return fmt.Errorf("%s: %w", what, store.ErrClosed)
	}
	if ended := contextError(ctx); ended != nil {
		if errors.Is(ended, context.DeadlineExceeded) {
			c.cfg.Observer.Failed("timeout")
		}
		return fmt.Errorf("%s: %w", what, ended)
	}
	switch {
	case isRedisError(err, "OOM"), isRedisError(err, "MISCONF") && strings.Contains(err.Error(), "No space"):
		c.cfg.Observer.Failed("no_space")
		return fmt.Errorf("%s: %w: %w", what, store.ErrNoSpace, err)
	case isRedisError(err, "WRONGTYPE"):
		c.cfg.Observer.Failed("corrupt")
		return fmt.Errorf("%s: %w: %w", what, store.ErrCorrupt, err)
	case classifyError(err) == outcomeRefused && !redis.IsAuthError(err) && !redis.IsPermissionError(err):
		c.cfg.Observer.Failed("refused")
		return fmt.Errorf("%s: %w", what, err)
	default:
		c.cfg.Observer.Failed("unavailable")
		return fmt.Errorf("%s: %w: %w", what, store.ErrUnavailable, err)
	}
}

// contextError returns the reason why ctx has ended. It also returns DeadlineExceeded in
// the moment between the deadline, which connections observe themselves, and the end of
// ctx.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
