package kvlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Open opens the log in a folder, which is made if need be. It reads the whole
// log, so it takes about a second per gigabyte if the disk can do that.
func Open(dir string, cfg Config) (*Log, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("open log: %w", noSpace(err))
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &Log{
		dir: dir, cfg: cfg, lock: lock,
		buckets: map[string]*bucket{},
		queue:   queue{wake: make(chan struct{}, 1), staged: map[string]uint64{}},
		syncer:  syncer{dirty: make(chan struct{}, 1), now: make(chan struct{}, 1)},
		house:   house{wake: make(chan struct{}, 1)},
		stop:    make(chan struct{}),
	}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open log: %w", errors.Join(err, l.closeFiles()))
	}
	l.wg.Go(l.syncLoop)
	l.wg.Go(l.housekeep)
	l.queue.wg.Go(l.commitLoop)
	signal(l.house.wake)
	return l, nil
}

// load reads everything there is.
func (l *Log) load() error {
	names, err := os.ReadDir(l.dir)
	if err != nil {
		return err
	}
	var ids []uint32
	for _, n := range names {
		if id, ok := parseSegmentName(n.Name()); ok && n.Type().IsRegular() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if l.id, err = openFormat(l.dir, len(ids)); err != nil {
		return err
	}
	for _, id := range ids {
		s := &segment{id: id, path: filepath.Join(l.dir, segmentName(id)), seed: seed(l.id, id)}
		info, err := os.Stat(s.path)
		if err != nil {
			return err
		}
		if s.size = info.Size(); s.size > 4*maxBodyBytes-1 {
			return fmt.Errorf("%w: segment %s has %d bytes", ErrFormat, segmentName(id), s.size)
		}
		if s.file, err = l.cfg.OpenFile(s.path, os.O_RDWR); err != nil {
			return err
		}
		s.refs.Store(1)
		l.segs = append(l.segs, s)
	}
	r := replay{Log: l, top: l.openDurable(), newest: map[string]point{}}
	if err := r.run(); err != nil {
		return err
	}
	early, err := r.endsEarly()
	if err != nil {
		return err
	}
	if err := r.settle(); err != nil {
		return err
	}
	if err := r.goOn(early); err != nil {
		return err
	}
	r.tellUnnamed()
	head := l.head()
	l.queue.marked = r.clean
	l.written.Store(uint64(at(head.id, head.size)))
	l.durable.Store(uint64(min(r.safe, at(head.id, head.size))))
	// Records will speak of this as durable, but whoever wrote it may have died
	// before syncing it.
	return l.syncTo(at(head.id, head.size))
}

// Close ends the log. What was called back is on disk afterwards in every mode.
func (l *Log) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	close(l.stop)
	l.wg.Wait()
	l.queue.mu.Lock()
	l.queue.ending = true
	l.queue.mu.Unlock()
	signal(l.queue.wake)
	l.queue.wg.Wait()

	var err error
	if l.broken.Load() == nil {
		err = l.seal()
	}
	if err = errors.Join(err, l.closeFiles()); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

// seal syncs the log and writes a mark that says so.
func (l *Log) seal() error {
	if err := l.syncTo(point(l.written.Load())); err != nil {
		return err
	}
	if l.queue.marked {
		return nil // nothing was written since the last one
	}
	err := l.write([]*Batch{(&Batch{kind: kindMark}).summed()})
	if errors.Is(err, ErrNoSpace) {
		return nil // it would have been a help, no more
	}
	if err != nil {
		return err
	}
	return l.syncTo(point(l.written.Load()))
}

func (l *Log) closeFiles() error {
	for _, s := range l.segs {
		s.release()
	}
	var err error
	if l.top != nil {
		err = l.top.Close()
	}
	return errors.Join(err, unlockDir(l.lock))
}
