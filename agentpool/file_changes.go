package agentpool

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/everdesk/everdesk/files"
)

// FileWatch publishes what programs have changed in the files of a session; [files.Watch] implements it.
type FileWatch interface {
	// Publish publishes what is different since the watch began or since the last call. The error is [files.ErrFull] if
	// the session has more than it may have; the changes are published all the same.
	Publish(ctx context.Context) error
}

// fileChanges publishes what the programs of a session change in its files. It reads the list of all files for that, so it
// works beside the runs and once for all of them. A file system that does not answer delays neither a run nor
// [SessionRunner.Close] for long.
type fileChanges struct {
	ctx  context.Context
	open func(context.Context) (FileWatch, error) // nil if the files are not watched
	log  *slog.Logger

	watch FileWatch // nil until the files were read for the first time; used by one goroutine at a time

	mu     sync.Mutex    // guards the following
	done   chan struct{} // closed when the goroutine that reads the files ends; nil without one
	begun  bool          // the files were read for the first time
	again  bool          // files may have changed since that goroutine began to read them
	full   bool
	notice string // the text for users that no run has reported yet
}

// begin is called before a program may change files. The first call reads them and waits for that, since what it misses
// is never published; later ones publish changes in the background.
func (f *fileChanges) begin(atMost time.Duration) {
	f.mu.Lock()
	begun := f.begun
	f.mu.Unlock()
	if begun {
		f.publishSoon()
	} else {
		f.publishNow(atMost)
	}
}

// publishSoon publishes changes and does not wait for that. The first call only reads the files.
func (f *fileChanges) publishSoon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.again = f.done != nil; f.again || f.open == nil {
		return
	}
	f.done = make(chan struct{})
	go f.run()
}

// publishNow publishes all changes up to now and waits for that, at most for a time.
func (f *fileChanges) publishNow(atMost time.Duration) {
	f.publishSoon()
	f.mu.Lock()
	done := f.done
	f.mu.Unlock()
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-f.ctx.Done():
	case <-time.After(atMost):
	}
}

// takeNotice returns the text for users that no run has reported yet, once.
func (f *fileChanges) takeNotice() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	notice := f.notice
	f.notice = ""
	return notice
}

// run reads the files until nothing may have changed since.
func (f *fileChanges) run() {
	for again := true; again; {
		f.publish()
		f.mu.Lock()
		if again = f.again && f.ctx.Err() == nil; !again {
			close(f.done)
			f.done = nil
		}
		f.again = false
		f.mu.Unlock()
	}
}

func (f *fileChanges) publish() {
	err := f.publishOrOpen()
	full := errors.Is(err, files.ErrFull)
	if err != nil && !full && f.ctx.Err() == nil {
		f.log.WarnContext(f.ctx, "looking for files that agents have changed failed", "error", err)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if full && !f.full {
		f.notice = err.Error()
	}
	f.full, f.begun = full, true
}

// publishOrOpen opens the watch if there is none yet.
func (f *fileChanges) publishOrOpen() error {
	if f.watch != nil {
		return f.watch.Publish(f.ctx)
	}
	w, err := f.open(f.ctx)
	if err == nil {
		f.watch = w
	}
	return err
}
