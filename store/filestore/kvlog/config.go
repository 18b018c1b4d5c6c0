package kvlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// The errors that the log returns.
var (
	// ErrNoSpace means that the disk is full. No part of the batch was applied.
	ErrNoSpace = errors.New("no space left for the log")
	// ErrBroken means that an fsync failed, or that a partial write could not be truncated.
	// The log accepts no writes until it is opened again.
	ErrBroken = errors.New("log accepts no writes until it is opened again")
	// ErrClosed means Close was called.
	ErrClosed = errors.New("log is closed")
	// ErrLocked means another process has the folder open.
	ErrLocked = errors.New("folder is in use")
	// ErrFormat means that the folder is not in a format this program can read.
	ErrFormat = errors.New("unknown format")
	// ErrTooLarge means that a batch exceeds the size of a record.
	ErrTooLarge = errors.New("record too large")
	// ErrDamaged means that stored bytes differ from the bytes that were written.
	ErrDamaged = errors.New("log is damaged")
)

// Sync selects when data is forced to the disk.
type Sync uint8

// The sync modes. All of them hand data to the operating system before the callback of a
// batch runs; they differ in the data that a power failure may lose.
const (
	// SyncInterval calls fsync at most [Config.SyncEvery] after a write.
	SyncInterval Sync = iota
	// SyncAlways calls fsync before the callback of a batch runs.
	SyncAlways
	// SyncOff leaves writing to the operating system, except when a segment is full, before
	// compaction deletes a segment, and at Close.
	SyncOff
)

// File is the part of *os.File that the log uses.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Truncate changes the size of the file.
	Truncate(size int64) error
	// Sync returns after everything that was written is on the disk.
	Sync() error
}

// Config tunes a log. The zero value means the defaults.
type Config struct {
	Sync Sync
	// SyncEvery is the longest time that SyncInterval delays an fsync. Defaults to 50 ms:
	// 20 fsyncs per second are cheap even for a disk that needs 10 ms for each, and the
	// loss of 50 ms of data is tolerable.
	SyncEvery time.Duration
	// SegmentBytes is the size at which a segment is full. Defaults to 16 MiB: small enough
	// to be compacted in a fraction of a second, large enough that 10 GB need no more than
	// a few hundred open files.
	SegmentBytes int64
	// EvictAfter is the time without use after which the index of a bucket is evicted from
	// memory. Defaults to 5 minutes.
	EvictAfter time.Duration
	// PurgeAfter bounds the time for which values of dropped buckets stay on disk. Defaults
	// to 24 hours. The cost is one rewrite of all live data per interval in which a bucket
	// was dropped.
	PurgeAfter time.Duration
	// OnDamage is called for unreadable data, by Open and later. Every Open reports all
	// damage in the log; [Damage.Report] identifies damage that was reported before. It
	// must not call methods of the log.
	OnDamage func(Damage)
	// Logger defaults to one that discards.
	Logger *slog.Logger
	// OpenFile opens segment files. Defaults to os.OpenFile; tests inject files that fail.
	OpenFile func(path string, flag int) (File, error)
}

// SlackSegments is the number of segments that the folder may hold beyond twice the live
// bytes.
const SlackSegments = 6

// minEvictEntries is the smallest number of entries for which evicting an index is worth
// writing a record.
const minEvictEntries = 16

func (c Config) withDefaults() Config {
	c.SyncEvery = cmp.Or(c.SyncEvery, 50*time.Millisecond)
	c.SegmentBytes = cmp.Or(c.SegmentBytes, 16<<20)
	c.EvictAfter = cmp.Or(c.EvictAfter, 5*time.Minute)
	c.PurgeAfter = cmp.Or(c.PurgeAfter, 24*time.Hour)
	if c.OnDamage == nil {
		c.OnDamage = func(Damage) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.OpenFile == nil {
		c.OpenFile = openFile
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Sync > SyncOff {
		errs = append(errs, fmt.Errorf("sync mode %d is unknown", c.Sync))
	}
	if c.SyncEvery < 0 || c.EvictAfter < 0 || c.PurgeAfter < 0 {
		errs = append(errs, errors.New("times must not be negative"))
	}
	if c.SegmentBytes < 4<<10 || c.SegmentBytes > 1<<30 {
		errs = append(errs, fmt.Errorf("segments of %d bytes, want 4 KiB to 1 GiB", c.SegmentBytes))
	}
	return errors.Join(errs...)
}
