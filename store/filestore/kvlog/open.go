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
		contents: &contents{buckets: map[string]*bucket{}},
		status:   &status{logger: cfg.Logger},
		queue:    queue{wake: make(chan struct{}, 1), pendingVersions: map[string]uint64{}},
		maint:    maintenance{wake: make(chan struct{}, 1)},
		stop:     make(chan struct{}),
	}
	l.quarantine = &quarantine{dir: dir, cfg: cfg, status: l.status}
	l.syncer = &syncer{
		dir: dir, cfg: cfg, contents: l.contents, status: l.status, stop: l.stop,
		dirty: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
	}
	if err := l.load(); err != nil {
		return nil, fmt.Errorf("open log: %w", errors.Join(err, l.closeFiles()))
	}
	l.wg.Go(l.syncer.run)
	l.wg.Go((&compactor{log: l}).run)
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
		l.contents.segs = append(l.contents.segs, s)
	}
	r := replay{Log: l, newest: map[string]point{}}
	l.syncer.durableFile, r.durableEnd = openDurable(l.dir, l.id, l.cfg.Logger)
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
	head := l.contents.head()
	l.queue.endsWithMark = r.endsWithMark
	l.syncer.written.Store(uint64(at(head.id, head.size)))
	l.syncer.durable.Store(uint64(min(r.maxDurable, at(head.id, head.size))))
	// New records will state this point as durable, but the process that wrote it may have
	// died before the fsync.
	return l.syncer.syncTo(at(head.id, head.size))
}

// Close stops the log. All batches whose callback ran are on disk afterwards, in every
// mode.
func (l *Log) Close() error {
	if l.status.closed.Swap(true) {
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
	if l.status.broken.Load() == nil {
		err = l.writeCloseMark()
	}
	if err = errors.Join(err, l.closeFiles()); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}

// writeCloseMark syncs the log and appends a mark record, whose durable point covers it.
func (l *Log) writeCloseMark() error {
	if err := l.syncer.syncTo(point(l.syncer.written.Load())); err != nil {
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
	return l.syncer.syncTo(point(l.syncer.written.Load()))
}

func (l *Log) closeFiles() error {
	for _, s := range l.contents.segs {
		s.release()
	}
	return errors.Join(l.syncer.durableFile.close(), unlockDir(l.lock))
}
