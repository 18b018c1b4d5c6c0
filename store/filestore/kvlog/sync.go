package kvlog

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// syncer forces data to the disk while the committer goes on writing.
type syncer struct {
	dir      string
	cfg      Config
	contents *contents
	status   *status
	stop     <-chan struct{} // ends run

	written     atomic.Uint64 // point up to which the log was handed to the operating system
	durable     atomic.Uint64 // point up to which the log is on disk
	durableFile *durableFile  // records durable

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
	w := waiter{upTo: point(l.syncer.written.Load()), done: make(chan error, 1)}
	if point(l.syncer.durable.Load()) >= w.upTo {
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

// run is the syncer goroutine.
func (s *syncer) run() {
	timer := stoppedTimer()
	defer timer.Stop()
	for armed := false; ; {
		select {
		case <-s.dirty:
			if s.cfg.Sync == SyncOff {
				_ = s.syncTo(at(point(s.written.Load()).seg(), 0)) // full segments only; markBroken logged the error
			} else if !armed {
				timer.Reset(s.cfg.SyncEvery)
				armed = true
			}
		case <-timer.C:
			armed = false
			_ = s.syncTo(point(s.written.Load())) // markBroken logged the error
		case <-s.urgent:
			s.mu.Lock()
			waiting := s.waiting
			s.waiting = nil
			s.mu.Unlock()
			err := s.syncTo(point(s.written.Load()))
			for _, w := range waiting {
				w.done <- err
			}
		case <-s.stop:
			return
		}
	}
}

// syncTo makes the log durable up to p. A failed fsync breaks the log: the content of the
// disk is unknown then, and a retry would not tell because the operating system may have
// dropped the pages that it could not write.
func (s *syncer) syncTo(p point) error {
	s.syncMu.Lock()
	defer s.syncMu.Unlock()
	from := point(s.durable.Load())
	if from >= p {
		return nil
	}
	if err := s.status.broken.Load(); err != nil {
		return *err
	}
	s.contents.mu.RLock()
	var segs []*segment
	last := p // p, limited to the last segment that is synced
	for _, seg := range s.contents.segs {
		if seg.id >= from.seg() && at(seg.id, 0) < p {
			seg.acquire()
			segs = append(segs, seg)
			last = min(p, at(seg.id, seg.size))
		}
	}
	s.contents.mu.RUnlock()
	var err error
	for _, seg := range segs {
		if err == nil {
			err = seg.file.Sync()
		}
		seg.release()
	}
	if err == nil && from.seg() != p.seg() {
		err = syncDir(s.dir) // the names of new segments
	}
	if err != nil {
		return s.status.markBroken(fmt.Errorf("fsync: %w", err))
	}
	s.durable.Store(uint64(p))
	s.durableFile.save(last)
	return nil
}
