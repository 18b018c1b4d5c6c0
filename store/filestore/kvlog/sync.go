package kvlog

import (
	"context"
	"fmt"
	"sync"
)

// syncer forces data to the disk while the committer goes on writing.
type syncer struct {
	dirty chan struct{} // holds a token when something should be synced soon
	now   chan struct{} // holds a token when somebody waits

	// one is held while syncing. Its holders are the syncer, the committer
	// with SyncAlways, and Open and Close.
	one sync.Mutex

	mu      sync.Mutex
	waiting []waiter
}

type waiter struct {
	upTo point
	done chan error
}

// Sync waits until everything that was called back before is on disk.
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
	signal(l.syncer.now)
	select {
	case err := <-w.done:
		return err
	case <-l.stop:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// syncLoop is the syncer.
func (l *Log) syncLoop() {
	timer := stoppedTimer()
	defer timer.Stop()
	for armed := false; ; {
		select {
		case <-l.syncer.dirty:
			if l.cfg.Sync == SyncOff {
				_ = l.syncTo(at(point(l.written.Load()).seg(), 0)) // full segments only; fail has said it
			} else if !armed {
				timer.Reset(l.cfg.SyncEvery)
				armed = true
			}
		case <-timer.C:
			armed = false
			_ = l.syncTo(point(l.written.Load())) // fail has said it
		case <-l.syncer.now:
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

// syncTo sees to it that the log is on disk up to p. When that fails once, it
// is not known what is on disk, and trying again would not tell: the system may
// have dropped the pages it could not write.
func (l *Log) syncTo(p point) error {
	l.syncer.one.Lock()
	defer l.syncer.one.Unlock()
	from := point(l.durable.Load())
	if from >= p {
		return nil
	}
	if err := l.broken.Load(); err != nil {
		return *err
	}
	l.mu.RLock()
	var segs []*segment
	last := p // the same place, in the last segment that is synced
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
		return l.fail(fmt.Errorf("fsync: %w", err))
	}
	l.durable.Store(uint64(p))
	l.saveDurable(last)
	return nil
}
