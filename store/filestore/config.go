package filestore

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// Sync says what a power cut may take. The package comment tells.
type Sync = kvlog.Sync

// The sync modes.
const (
	SyncInterval = kvlog.SyncInterval // the default
	SyncAlways   = kvlog.SyncAlways
	SyncOff      = kvlog.SyncOff
)

// ParseSync reads the name of a sync mode: always, interval or off.
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
	// SyncEvery is how much a power cut may take with SyncInterval. Defaults
	// to 50 ms: twenty fsyncs a second are cheap even for a disk that needs
	// 10 ms for each, and nobody notices the loss of a twentieth of a second.
	SyncEvery time.Duration
	// SegmentBytes is the size of the files in the folder. Defaults to 16 MiB.
	SegmentBytes int64
	// Limits bound what is taken.
	Limits store.Limits
	// Schema says how values are stored.
	Schema store.Schema
	// Logger defaults to silence.
	Logger *slog.Logger

	// What tests change: files that fail, and how long an unused session stays
	// in memory.
	openFile  func(path string, flag int) (kvlog.File, error)
	foldAfter time.Duration
}

func (c Config) withDefaults() Config {
	c.Limits = c.Limits.WithDefaults()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
