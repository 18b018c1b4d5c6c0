package session

import (
	"crypto/rand"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/everdesk/everdesk/broadcast"
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

// storeReader reads sessions from the store, whether or not this replica owns them.
type storeReader struct {
	log       Log
	directory Directory
}
