package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// reply is the result of a script: a word and its arguments. The number 1, which is cheaper
// to encode, means OK.
type reply struct {
	word string
	args []any
}

var errReply = errors.New("unexpected reply of a script")

func parseReply(v any) (reply, error) {
	switch v := v.(type) {
	case int64:
		return reply{word: "OK"}, nil
	case []any:
		if len(v) > 0 {
			if word, ok := v[0].(string); ok {
				return reply{word: word, args: v[1:]}, nil
			}
		}
	}
	return reply{}, fmt.Errorf("%w: %T", errReply, v)
}

// text returns a string argument, or "" if there is none.
func (r reply) text(i int) string {
	if i >= len(r.args) {
		return ""
	}
	s, _ := r.args[i].(string)
	return s
}

// position returns an argument that is a position.
func (r reply) position(i int) (wire.Position, error) { return wire.ParsePosition(r.text(i)) }

// count returns an argument that is an unsigned number.
func (r reply) count(i int) (uint64, error) { return strconv.ParseUint(r.text(i), 10, 64) }

// milliseconds returns an argument that is a duration in ms.
func (r reply) milliseconds(i int) (time.Duration, error) {
	n, err := strconv.ParseInt(r.text(i), 10, 64)
	return time.Duration(n) * time.Millisecond, err
}

// sessionCaller runs scripts about one session. It converts their refusals into errors and
// quarantines a session whose keys are unreadable.
type sessionCaller struct {
	*caller
	rebuilder *rebuilder
}

// callSession is call for a script about one session. It converts the refusals that all
// these scripts share into errors; it returns the replies of success and of refusals
// specific to the script.
func (c *sessionCaller) callSession(
	ctx context.Context, what string, again retrySafety, id wire.SessionID, sc *script, keys []string, args ...any,
) (reply, error) {
	v, err := c.call(ctx, what+" "+string(id), again, sc, keys, args...)
	return c.sessionReply(ctx, what, id, v, err)
}

// sessionReply converts the result of a call for callSession.
func (c *sessionCaller) sessionReply(ctx context.Context, what string, id wire.SessionID, v any, err error) (reply, error) {
	what += " " + string(id)
	if err != nil {
		return reply{}, c.sessionError(ctx, id, err)
	}
	r, err := parseReply(v)
	if err != nil {
		return reply{}, fmt.Errorf("%s: %w", what, err)
	}
	if err := c.refusal(ctx, id, r); err != nil {
		return reply{}, fmt.Errorf("%s: %w", what, err)
	}
	return r, nil
}

// refusal returns the error of a common refusal, or nil.
func (c *sessionCaller) refusal(ctx context.Context, id wire.SessionID, r reply) error {
	switch r.word {
	case "FENCED":
		return store.ErrFenced
	case "NOTFOUND":
		return store.ErrNotFound
	case "QUARANTINED":
		return &store.QuarantinedError{Session: id, Reason: cmp.Or(r.text(0), unknownReason)}
	case "INDEX":
		c.rebuilder.rebuildLists(partition(string(id)), r.text(1))
		return fmt.Errorf("%w: key %s has a wrong type and is being rebuilt", store.ErrUnavailable, r.text(0))
	case "CORRUPT":
		return c.handleCorrupt(ctx, id, &store.CorruptError{Where: "key " + r.text(0), Reason: "missing, of a wrong type, or in an unknown format"})
	}
	return nil
}

// sessionError quarantines a session if err means that one of its keys has a wrong type.
func (c *sessionCaller) sessionError(ctx context.Context, id wire.SessionID, err error) error {
	if !errors.Is(err, store.ErrCorrupt) {
		return err
	}
	return c.handleCorrupt(ctx, id, &store.CorruptError{
		Where: "keys " + c.keys.session(id).base + "*", Reason: err.Error(),
	})
}

// handleCorrupt quarantines a session if err is a [*store.CorruptError], and returns err.
// Other errors, above all that of a newer schema, do not quarantine.
func (c *sessionCaller) handleCorrupt(ctx context.Context, id wire.SessionID, err error) error {
	bad, ok := errors.AsType[*store.CorruptError](err)
	if !ok {
		return err
	}
	c.log.WarnContext(ctx, "session quarantined", "session", id, "where", bad.Where, "reason", bad.Reason)
	// The caller's deadline must not prevent the quarantine.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.RetryFor)
	defer cancel()
	if err := c.storeQuarantine(ctx, id, bad.Error(), true); err != nil {
		c.log.WarnContext(ctx, "cannot store quarantine", "session", id, "err", err)
	}
	return err
}
