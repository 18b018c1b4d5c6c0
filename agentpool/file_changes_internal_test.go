package agentpool

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"
)

// noChanges is a FileWatch without changes.
type noChanges struct{}

func (noChanges) Publish(context.Context) error { return nil }

// Files are read before a program may change them, so that no change is missed, and only the first run waits for that.
func TestFilesAreReadBeforeTheFirstRun(t *testing.T) {
	t.Parallel()
	reading, goOn := make(chan struct{}), make(chan struct{})
	var opened atomic.Int32
	f := &fileChanges{ctx: t.Context(), log: slog.New(slog.DiscardHandler), open: func(context.Context) (FileWatch, error) {
		close(reading)
		<-goOn
		opened.Add(1)
		return noChanges{}, nil
	}}
	go func() {
		<-reading
		close(goOn)
	}()
	f.begin(time.Minute)
	if got := opened.Load(); got != 1 {
		t.Errorf("reads of the files before the first run: got %d, want 1", got)
	}
	f.begin(time.Minute)
	f.publishNow(time.Minute)
	if got := opened.Load(); got != 1 {
		t.Errorf("watches: got %d, want 1", got)
	}
}
