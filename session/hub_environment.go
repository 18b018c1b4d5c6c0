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
	// incarnation is this process for the store, and leases are its leases.
	incarnation store.Incarnation
	leases      partitionLeases
	packing     packSchedule
	// writers writes to the tabs of sessions with many tabs; set while Run runs.
	writers atomic.Pointer[broadcast.Writers]
	// deliveryCount numbers the deliveries that this replica sends to other owners. process is
	// random and separates them from the deliveries of earlier processes of the same replica.
	deliveryCount atomic.Uint64
	process       string

	clientCalls clientCalls
	kernelEnds  kernelEnds

	// stepPool holds empty steps, which sessions borrow while they process their mailbox.
	stepPool stepPool
}

func newEnvironment(cfg Config, s Store) *environment {
	return &environment{
		cfg: cfg, store: s, reader: &storeReader{s.Log, s.Directory}, log: cfg.Logger, started: time.Now(), process: rand.Text()[:10],
		clientCalls: clientCalls{documents: cfg.Documents, replica: cfg.Replica, log: cfg.Logger},
		incarnation: store.NewIncarnation(cfg.Replica), leases: partitionLeases{leases: map[int]*partitionLease{}, sessions: map[*partitionLease]int{}},
	}
}

// uptime is the time since the hub was made.
func (e *environment) uptime() time.Duration { return time.Since(e.started) }

// newDeliveryID returns an id that no other replica and no other process of this replica uses.
func (e *environment) newDeliveryID() string {
	return string(e.cfg.Replica) + "." + e.process + "." + strconv.FormatUint(e.deliveryCount.Add(1), 10)
}

// deliveryOf encodes an item as a command for the inbox. All attempts to send it use the same
// delivery id, so the item arrives once. A panic while encoding makes the item invalid.
func (e *environment) deliveryOf(it *item) (c store.Command, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: panic: %v", store.ErrInvalid, v)
		}
	}()
	data, err := it.encode()
	if err != nil {
		return store.Command{}, err
	}
	if it.sentAs == "" {
		it.sentAs = e.newDeliveryID()
	}
	return store.Command{ID: it.sentAs, Data: data}, nil
}

// send puts commands into the inbox of a session, in order and in one call, and returns the number of
// those that are or were there. The error is that of the next one.
func (e *environment) send(ctx context.Context, id wire.SessionID, commands []store.Command) (int, error) {
	if len(commands) == 0 {
		return 0, nil
	}
	limited, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	duplicates, err := e.store.Send(limited, id, commands...)
	if err != nil {
		return min(len(duplicates), len(commands)-1), fmt.Errorf("send commands to the owner: %w", err)
	}
	return len(duplicates), nil
}

// sendOrder puts an order into the inbox of a session.
func (e *environment) sendOrder(ctx context.Context, id wire.SessionID, o *order) error {
	c, err := e.deliveryOf(&item{order: o})
	if err != nil {
		return err
	}
	_, err = e.send(ctx, id, []store.Command{c})
	return err
}
