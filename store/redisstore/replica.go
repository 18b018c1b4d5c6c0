package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Replicas implements the list of live replicas of the contract.
type Replicas struct {
	*caller
	rebuilder *rebuilder
}

// Announce lists a replica as alive for ttl.
func (s *Replicas) Announce(ctx context.Context, r store.Replica, ttl time.Duration) error {
	if err := errors.Join(r.ID.Validate(), store.CheckTTL(ttl)); err != nil {
		return fmt.Errorf("announce replica: %w", err)
	}
	if len(r.Card) > s.limits.DocumentBytes {
		return fmt.Errorf("announce replica %s: %w: card of %d bytes, limit %d",
			r.ID, store.ErrTooLarge, len(r.Card), s.limits.DocumentBytes)
	}
	_, err := s.rebuilder.callShared(ctx, "announce replica "+string(r.ID), s.scripts.announce, s.keys.replicas(), replicaKinds(),
		string(r.ID), s.schema.Seal(nil, r.Card), milliseconds(ttl))
	return err
}

// Withdraw removes a replica from the listing at once. An unknown replica is not an error.
func (s *Replicas) Withdraw(ctx context.Context, replica wire.ReplicaID) error {
	if err := replica.Validate(); err != nil {
		return fmt.Errorf("withdraw replica: %w", err)
	}
	keys := s.keys.replicas()
	return s.runOnServer(ctx, "withdraw replica "+string(replica), retryable, keys[0],
		func(ctx context.Context, server *redis.Client) error {
			_, err := server.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.ZRem(ctx, keys[0], string(replica))
				p.HDel(ctx, keys[1], string(replica))
				return nil
			})
			return err
		})
}

// Replicas lists the live replicas in the order of ids. An unreadable card is omitted.
func (s *Replicas) Replicas(ctx context.Context, after string, limit int) (store.Page[store.Replica], error) {
	const what = "list replicas"
	var page store.Page[store.Replica]
	if after != "" {
		if err := wire.ReplicaID(after).Validate(); err != nil {
			return page, fmt.Errorf("%s: %w: cursor: %w", what, store.ErrInvalid, err)
		}
	}
	v, err := s.call(ctx, what, retryable, s.scripts.replicas, s.keys.replicas(), after, store.PageLimit(limit))
	if err != nil {
		return page, err
	}
	r, err := parseReply(v)
	if err != nil {
		return page, fmt.Errorf("%s: %w", what, err)
	}
	for i := 1; i+2 < len(r.args); i += 3 {
		replica := store.Replica{ID: wire.ReplicaID(r.text(i))}
		ms, err := strconv.ParseFloat(r.text(i+1), 64)
		if err != nil {
			return page, fmt.Errorf("%s: %w", what, errors.Join(errReply, err))
		}
		replica.Until = time.UnixMilli(int64(ms))
		if replica.Card, err = s.schema.Open(store.KindCard, string(replica.ID), []byte(r.text(i+2))); err != nil {
			s.log.WarnContext(ctx, "unreadable replica card omitted from listing", "replica", replica.ID, "err", err)
		}
		page.Items = append(page.Items, replica)
	}
	if r.text(0) == "1" {
		page.Next = string(page.Items[len(page.Items)-1].ID)
	}
	return page, nil
}
