package session

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// environment is what all live sessions of a hub share: its configuration, the store, and the ways
// to send to owners elsewhere.
type environment struct {
	cfg     Config
	store   Store
	reader  *storeReader
	log     *slog.Logger
	started time.Time
	// writers writes to the tabs of sessions with many tabs; set while Run runs.
	writers atomic.Pointer[broadcast.Writers]
	// deliveryCount numbers the deliveries that this replica sends to other owners. process is
	// random and separates them from the deliveries of earlier processes of the same replica.
	deliveryCount atomic.Uint64
	process       string

	// stepPool holds empty steps, which sessions borrow while they process their mailbox.
	stepPool stepPool
}

func newEnvironment(cfg Config, s Store) *environment {
	return &environment{
		cfg: cfg, store: s, reader: &storeReader{s.Log, s.Directory}, log: cfg.Logger, started: time.Now(), process: rand.Text()[:10],
	}
}

// uptime is the time since the hub was made.
func (e *environment) uptime() time.Duration { return time.Since(e.started) }

// newDeliveryID returns an id that no other replica and no other process of this replica uses.
func (e *environment) newDeliveryID() string {
	return string(e.cfg.Replica) + "." + e.process + "." + strconv.FormatUint(e.deliveryCount.Add(1), 10)
}

// deliveryOf encodes an item as a command for the inbox. All attempts to send it use the same
// delivery id, so the item arrives once.
func (e *environment) deliveryOf(it *item) (store.Command, error) {
	data, err := it.encode()
	if err != nil {
		return store.Command{}, err
	}
	if it.sentAs == "" {
		it.sentAs = e.newDeliveryID()
	}
	return store.Command{ID: it.sentAs, Data: data}, nil
}

// send puts a command into the inbox of a session. isNew says that this is the first attempt.
func (e *environment) send(ctx context.Context, id wire.SessionID, c store.Command, isNew bool) error {
	known, err := e.store.Send(ctx, id, c)
	if err != nil {
		return fmt.Errorf("send a command to the owner: %w", err)
	}
	if known && isNew {
		e.log.WarnContext(ctx, "delivery id was used before, command dropped", "session", string(id), "delivery", c.ID)
	}
	return nil
}

// sendOrder puts an order into the inbox of a session.
func (e *environment) sendOrder(ctx context.Context, id wire.SessionID, o *order) error {
	c, err := e.deliveryOf(&item{order: o})
	if err != nil {
		return err
	}
	return e.send(ctx, id, c, true)
}
