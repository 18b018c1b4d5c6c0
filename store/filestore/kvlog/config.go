package kvlog

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

// What the log refuses with.
var (
	// ErrNoSpace means the disk is full. The batch has left no trace.
	ErrNoSpace = errors.New("no space left for the log")
	// ErrBroken means an fsync failed, or a half-written record could not be
	// taken back. Nothing more is written until the log is opened again.
	ErrBroken = errors.New("log takes no more writes until it is opened again")
	// ErrClosed means Close was called.
	ErrClosed = errors.New("log is closed")
	// ErrLocked means another process has the folder open.
	ErrLocked = errors.New("folder is in use")
	// ErrFormat means the folder is not one this program can read.
	ErrFormat = errors.New("unknown format")
	// ErrTooLarge means a batch cannot be written as one record.
	ErrTooLarge = errors.New("record too large")
	// ErrDamaged means stored bytes are not what was written.
	ErrDamaged = errors.New("log is damaged")
)

// Sync says when data is forced to the disk.
type Sync uint8

// The sync modes. All of them hand data to the operating system before a batch
// is called back; they differ in what a power cut may take.
const (
	// SyncInterval forces data to the disk some time after it was written.
	SyncInterval Sync = iota
	// SyncAlways forces data to the disk before a batch is called back.
	SyncAlways
	// SyncOff leaves it to the operating system, except when a segment is
	// full, before compaction deletes anything and at Close.
	SyncOff
)

// File is what the log needs of a file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
}

// Config tunes a log. The zero value means the defaults.
type Config struct {
	Sync Sync
	// SyncEvery is how long SyncInterval lets data wait. Defaults to 50 ms:
	// twenty fsyncs a second are cheap even for a disk that needs 10 ms for
	// each, and nobody notices the loss of a twentieth of a second.
	SyncEvery time.Duration
	// SegmentBytes is when a segment is full. Defaults to 16 MiB: small
	// enough to be compacted in a fraction of a second, large enough that
	// ten gigabytes need no more than a few hundred open files.
	SegmentBytes int64
	// FoldAfter is how long a bucket must be unused to be folded. Defaults to
	// 5 minutes.
	FoldAfter time.Duration
	// PurgeAfter bounds how long bytes of dropped buckets stay on disk.
	// Defaults to 24 hours. It costs rewriting what is live that often, if
	// anything was dropped at all.
	PurgeAfter time.Duration
	// OnDamage is told of unreadable data, by Open and later. Every Open tells
	// of all there is; [Damage.Report] says what was told before. It must not
	// call the log.
	OnDamage func(Damage)
	// Logger defaults to silence.
	Logger *slog.Logger
	// OpenFile opens segment files. Defaults to os.OpenFile; tests pass files
	// that fail.
	OpenFile func(path string, flag int) (File, error)
}

// SlackSegments is how many segments the folder may hold beyond twice the live
// bytes.
const SlackSegments = 6

// foldKeys is how many entries make folding a bucket worth a record.
const foldKeys = 16

func (c Config) withDefaults() Config {
	c.SyncEvery = cmp.Or(c.SyncEvery, 50*time.Millisecond)
	c.SegmentBytes = cmp.Or(c.SegmentBytes, 16<<20)
	c.FoldAfter = cmp.Or(c.FoldAfter, 5*time.Minute)
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
	if c.SyncEvery < 0 || c.FoldAfter < 0 || c.PurgeAfter < 0 {
		errs = append(errs, errors.New("times must not be negative"))
	}
	if c.SegmentBytes < 4<<10 || c.SegmentBytes > 1<<30 {
		errs = append(errs, fmt.Errorf("segments of %d bytes, want 4 KiB to 1 GiB", c.SegmentBytes))
	}
	return errors.Join(errs...)
}

func openFile(path string, flag int) (File, error) { return os.OpenFile(path, flag, 0o600) }
