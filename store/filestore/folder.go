package filestore

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// folder is the state that all parts of a [Store] share: its configuration, its log and its
// end. Its methods check that the store is open, read indexes and write batches.
type folder struct {
	cfg    Config
	log    *kvlog.Log
	runCtx context.Context // canceled by Close
	wake   chan struct{}   // wakes the maintenance goroutine
}

// checkOpen returns [store.ErrClosed] after Close and the cause of an ended context. Every
// method calls it first.
func (f *folder) checkOpen(ctx context.Context) error {
	if f.runCtx.Err() != nil {
		return store.ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// storeError converts an error of the log into one of package store.
func storeError(err error) error {
	if err == nil {
		return nil
	}
	for _, m := range []struct{ from, to error }{
		{kvlog.ErrClosed, store.ErrClosed},
		{kvlog.ErrNoSpace, store.ErrNoSpace},
		{kvlog.ErrTooLarge, store.ErrTooLarge},
	} {
		if errors.Is(err, m.from) {
			return fmt.Errorf("%w: %w", m.to, err)
		}
	}
	switch {
	case errors.Is(err, kvlog.ErrLocked), errors.Is(err, kvlog.ErrFormat):
		return err
	case errors.Is(err, kvlog.ErrDamaged):
		return &store.CorruptError{Where: "log", Reason: err.Error()}
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// submit writes batches and waits for the result or the end of ctx. It calls then with the
// result on the log's goroutine, in log order, even if ctx ended before.
func (f *folder) submit(ctx context.Context, then func(error), first *kvlog.Batch, more ...*kvlog.Batch) error {
	done := make(chan error, 1)
	return f.queueAndWait(ctx, done, func(err error) {
		then(err)
		done <- err
	}, first, more...)
}

// queueAndWait queues batches with the callback onResult and waits for the value that onResult
// sends to done, or for the end of ctx.
func (f *folder) queueAndWait(ctx context.Context, done <-chan error, onResult func(error), first *kvlog.Batch, more ...*kvlog.Batch) error {
	if err := f.log.Queue(onResult, first, more...); err != nil {
		onResult(err)
		return storeError(<-done)
	}
	// Yield before waking the committer, so that concurrent callers queue their batches
	// and all share one write. Another caller may have woken the committer meanwhile;
	// polling done is cheaper than another wakeup.
	runtime.Gosched()
	select {
	case err := <-done:
		return storeError(err)
	default:
	}
	f.log.Wake()
	select {
	case err := <-done:
		return storeError(err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notify puts a token into c unless it holds one.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// withIndex calls fn with the index of a bucket, which must not be retained.
func (f *folder) withIndex(bucket string, fn func(x *kvlog.Index)) error {
	sel, err := f.log.Select(bucket, func(x *kvlog.Index, _ func(kvlog.Entry)) { fn(x) })
	if err != nil {
		return err
	}
	sel.Close()
	return nil
}

// putSealed sets a key to the sealed value. version is the schema version that a program
// must know to read it, or 0.
func (f *folder) putSealed(out *kvlog.Batch, key, value []byte, version uint8) {
	f.cfg.Schema.SealAs(out.Reserve(key, sealBytes+len(value))[:0], value, version)
}
