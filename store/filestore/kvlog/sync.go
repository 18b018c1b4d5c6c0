package kvlog

import (
	"context"
	"fmt"
	"sync"
)

// syncer forces data to the disk while the committer goes on writing.
type syncer struct {
	dirty  chan struct{} // holds a token when data should be synced within SyncEvery
	urgent chan struct{} // holds a token when a caller of Sync waits

	// syncMu is held during an fsync. The syncer, the committer (with SyncAlways), Open and
	// Close take it.
	syncMu sync.Mutex

	mu      sync.Mutex
	waiting []waiter
}

type waiter struct {
	upTo point
	done chan error
}

// Sync waits until all batches whose callback ran before the call are on disk.
func (l *Log) Sync(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	w := waiter{upTo: point(l.written.Load()), done: make(chan error, 1)}
	if point(l.durable.Load()) >= w.upTo {
		return nil
	}
	l.syncer.mu.Lock()
	l.syncer.waiting = append(l.syncer.waiting, w)
	l.syncer.mu.Unlock()
	notify(l.syncer.urgent)
	select {
	case err := <-w.done:
		return err
	case <-l.stop:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// syncLoop is the syncer goroutine.
func (l *Log) syncLoop() {
	timer := stoppedTimer()
	defer timer.Stop()
	for armed := false; ; {
		select {
		case <-l.syncer.dirty:
			if l.cfg.Sync == SyncOff {
				_ = l.syncTo(at(point(l.written.Load()).seg(), 0)) // full segments only; markBroken logged the error
			} else if !armed {
				timer.Reset(l.cfg.SyncEvery)
				armed = true
			}
		case <-timer.C:
			armed = false
			_ = l.syncTo(point(l.written.Load())) // markBroken logged the error
		case <-l.syncer.urgent:
			l.syncer.mu.Lock()
			waiting := l.syncer.waiting
			l.syncer.waiting = nil
			l.syncer.mu.Unlock()
			err := l.syncTo(point(l.written.Load()))
			for _, w := range waiting {
				w.done <- err
			}
		case <-l.stop:
			return
		}
	}
}

// syncTo makes the log durable up to p. A failed fsync breaks the log: the content of the
// disk is unknown then, and a retry would not tell because the operating system may have
// dropped the pages that it could not write.
func (l *Log) syncTo(p point) error {
	l.syncer.syncMu.Lock()
	defer l.syncer.syncMu.Unlock()
	from := point(l.durable.Load())
	if from >= p {
		return nil
	}
	if err := l.broken.Load(); err != nil {
		return *err
	}
	l.mu.RLock()
	var segs []*segment
	last := p // p, limited to the last segment that is synced
	for _, s := range l.segs {
		if s.id >= from.seg() && at(s.id, 0) < p {
			s.acquire()
			segs = append(segs, s)
			last = min(p, at(s.id, s.size))
		}
	}
	l.mu.RUnlock()
	var err error
	for _, s := range segs {
		if err == nil {
			err = s.file.Sync()
		}
		s.release()
	}
	if err == nil && from.seg() != p.seg() {
		err = syncDir(l.dir) // the names of new segments
	}
	if err != nil {
		return l.markBroken(fmt.Errorf("fsync: %w", err))
	}
	l.durable.Store(uint64(p))
	l.saveDurable(last)
	return nil
}
