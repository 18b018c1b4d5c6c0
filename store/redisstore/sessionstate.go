package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// sessionState is the field of meta that determines what a lease may write. Its text is
// `<owner> <epoch> <number> <top>`, after a '!' if the session is quarantined; without an
// owner it begins with the space.
type sessionState struct {
	owner  wire.ReplicaID
	epoch  uint64
	number uint64 // number of the last batch
	top    wire.Position
}

// appendState appends the state after a batch of a lease, without the end of the log, which
// comes last.
func appendState(b []byte, l store.Lease, number uint64) []byte {
	b = append(append(b, l.Replica...), ' ')
	b = append(strconv.AppendUint(b, l.Epoch, 10), ' ')
	return append(strconv.AppendUint(b, number, 10), ' ')
}

func parseState(text string) (sessionState, error) {
	words := strings.Split(strings.TrimPrefix(text, "!"), " ")
	if len(words) != 4 {
		return sessionState{}, &store.CorruptError{Where: "state", Reason: fmt.Sprintf("%.200q", text)}
	}
	s := sessionState{owner: wire.ReplicaID(words[0])}
	var errs [3]error
	s.epoch, errs[0] = strconv.ParseUint(words[1], 10, 64)
	s.number, errs[1] = strconv.ParseUint(words[2], 10, 64)
	s.top, errs[2] = wire.ParsePosition(words[3])
	if err := errors.Join(errs[:]...); err != nil {
		return sessionState{}, &store.CorruptError{Where: "state", Reason: err.Error()}
	}
	return s, nil
}

// quarantineError returns a [*store.QuarantinedError] with the stored reason, or with
// unknown if none is stored.
func (c *sessionCaller) quarantineError(ctx context.Context, id wire.SessionID, unknown string) error {
	k := c.keys.session(id)
	var reason string
	err := c.runOnServer(ctx, "read quarantine reason", retryable, k.quarantine(), func(ctx context.Context, server *redis.Client) error {
		var err error
		if reason, err = server.HGet(ctx, k.quarantine(), string(id)).Result(); isRedisError(err, "WRONGTYPE") {
			c.rebuilder.rebuildLists(k.partition, "")
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	return &store.QuarantinedError{Session: id, Reason: cmp.Or(reason, unknown)}
}
