package kvlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Open opens the log in a folder, which is created if it does not exist. It reads the whole
// log, which takes about a second per gigabyte on a disk that is fast enough.
func Open(dir string, cfg Config) (*Log, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := makeDir(dir); err != nil {
		return nil, fmt.Errorf("open log: %w", asNoSpace(err))
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &Log{
		dir: dir, cfg: cfg, lock: lock,
		buckets: map[string]*bucket{},
		queue:   queue{wake: make(chan struct{}, 1), pendingVersions: map[string]uint64{}},
		syncer:  syncer{dirty: make(chan struct{}, 1), urgent: make(chan struct{}, 1)},
		maint:   maintenance{wake: make(chan struct{}, 1)},
		stop:    make(chan struct{}),
	}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open log: %w", errors.Join(err, l.closeFiles()))
	}
	l.wg.Go(l.syncLoop)
	l.wg.Go(l.maintenanceLoop)
	l.queue.wg.Go(l.commitLoop)
	notify(l.maint.wake)
	return l, nil
}

// load opens all segments and replays them.
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
	r := replay{Log: l, durableEnd: l.openDurable(), newest: map[string]point{}}
	if err := r.applyAll(); err != nil {
		return err
	}
	early, err := r.checkEnd()
	if err != nil {
		return err
	}
	if err := r.checkReferences(); err != nil {
		return err
	}
	if err := r.ensureHeadSegment(early); err != nil {
		return err
	}
	r.reportUnattributed()
	head := l.head()
	l.queue.endsWithMark = r.endsWithMark
	l.written.Store(uint64(at(head.id, head.size)))
	l.durable.Store(uint64(min(r.maxDurable, at(head.id, head.size))))
	// New records will state this point as durable, but the process that wrote it may have
	// died before the fsync.
	return l.syncTo(at(head.id, head.size))
}

// Close stops the log. All batches whose callback ran are on disk afterwards, in every
// mode.
func (l *Log) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	close(l.stop)
	l.wg.Wait()
	l.queue.mu.Lock()
	l.queue.closing = true
	l.queue.mu.Unlock()
	notify(l.queue.wake)
	l.queue.wg.Wait()

	var err error
	if l.broken.Load() == nil {
		err = l.writeCloseMark()
	}
	if err = errors.Join(err, l.closeFiles()); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

// writeCloseMark syncs the log and appends a mark record, whose durable point covers it.
func (l *Log) writeCloseMark() error {
	if err := l.syncTo(point(l.written.Load())); err != nil {
		return err
	}
	if l.queue.endsWithMark {
		return nil // nothing was written since the last mark
	}
	err := l.write([]*Batch{(&Batch{kind: kindMark}).setChecksum()})
	if errors.Is(err, ErrNoSpace) {
		return nil // the mark is optional
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
	if l.durableFile != nil {
		err = l.durableFile.Close()
	}
	return errors.Join(err, unlockDir(l.lock))
}
