package filestore

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// Sync selects the data that a power failure may lose; see the package comment.
type Sync = kvlog.Sync

// The sync modes.
const (
	SyncInterval = kvlog.SyncInterval // the default
	SyncAlways   = kvlog.SyncAlways
	SyncOff      = kvlog.SyncOff
)

// ParseSync parses the name of a sync mode: always, interval or off.
func ParseSync(name string) (Sync, error) {
	switch name {
	case "always":
		return SyncAlways, nil
	case "interval":
		return SyncInterval, nil
	case "off":
		return SyncOff, nil
	}
	return 0, fmt.Errorf("%w: sync mode %q, want always, interval or off", store.ErrInvalid, name)
}

// Config tunes a store. The zero value means the defaults.
type Config struct {
	Sync Sync
	// SyncEvery is the time span of writes that a power failure may lose with SyncInterval.
	// Defaults to 50 ms: 20 fsyncs per second are cheap even for a disk that needs 10 ms
	// for each, and the loss of 50 ms of data is tolerable.
	SyncEvery time.Duration
	// SegmentBytes is the size of the segment files. Defaults to 16 MiB.
	SegmentBytes int64
	// Limits bound sizes; zero fields mean the defaults.
	Limits store.Limits
	// Schema is the version of stored values.
	Schema store.Schema
	// Logger defaults to one that discards.
	Logger *slog.Logger

	// Set by tests: files that fail, and the time after which the index of an unused
	// session is evicted from memory.
	openFile   func(path string, flag int) (kvlog.File, error)
	evictAfter time.Duration
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.WithDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
