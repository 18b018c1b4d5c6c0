package kvlog

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// groupBytes bounds the size of one write, so that a small batch does not wait long behind
// many large ones.
const groupBytes = 4 << 20

// maxSpareRequests bounds the capacity of the request slice that is kept for reuse.
const maxSpareRequests = 4096

// queue holds the requests and tasks that wait for the committer, and the committer's
// state.
type queue struct {
	wake chan struct{} // holds a token when there may be something to do

	mu       sync.Mutex
	requests []request
	tasks    []*committerTask
	closing  bool // no more requests are accepted

	wg sync.WaitGroup // the committer, which stops last

	// The fields below belong to the committer alone.
	spareRequests   []request // empty slice for the next requests
	buf             []byte
	batches         []*Batch          // of the current group
	writes          uint64            // number of writes so far
	pendingVersions map[string]uint64 // newest versions, in the current write, of buckets that do not exist yet
	endsWithMark    bool              // the newest record is a mark
	maxTotal        int64             // bound of contents.total while compaction is in progress, or 0
}

// request is one call of Submit or Queue: batches that share a callback.
type request struct {
	first *Batch
	more  []*Batch
	done  func(error)
}

func (r request) size() (n int64) {
	n = r.first.size()
	for _, b := range r.more {
		n += b.size()
	}
	return n
}

// committerTask is work of the maintenance goroutine that must run between two groups. The
// committer calls prepare, while no other goroutine modifies the index, and writes the
// batches it returns.
type committerTask struct {
	prepare func() []*Batch
	done    chan error
}

// Submit queues batches, most often one, and wakes the committer. If it returns nil, done
// is called exactly once, on the committer: with nil when the batches are applied and as
// durable as the sync mode requires, or with an error if none of them was applied. Batches
// are applied in the order of their Submits. A crash may leave a prefix of several batches,
// but no reader sees that state before the crash.
func (l *Log) Submit(done func(error), first *Batch, more ...*Batch) error {
	err := l.Queue(done, first, more...)
	if err == nil {
		l.Wake()
	}
	return err
}

// Queue queues batches without waking the committer. The caller must call Wake later,
// unless the callback ran before. Batches that are queued until then are written together.
func (l *Log) Queue(done func(error), first *Batch, more ...*Batch) error {
	if err := l.Err(); err != nil {
		return err
	}
	if err := l.prepareBatch(first); err != nil {
		return err
	}
	for _, b := range more {
		if err := l.prepareBatch(b); err != nil {
			return err
		}
	}
	q := &l.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing {
		return ErrClosed
	}
	q.requests = append(q.requests, request{first, more, done})
	return nil
}

// Wake makes the committer write all queued batches.
func (l *Log) Wake() { notify(l.queue.wake) }

// prepareBatch does the work on a batch that does not need the committer: it checks it,
// computes its checksum, looks up its bucket and loads an evicted index.
func (l *Log) prepareBatch(b *Batch) error {
	if err := b.check(); err != nil {
		return err
	}
	b.setChecksum()
	if b.target == nil {
		l.contents.mu.RLock()
		b.target = l.contents.buckets[b.bucket]
		l.contents.mu.RUnlock()
	}
	return l.loadIndex(b.target)
}

// Apply submits batches and waits for the callback.
func (l *Log) Apply(first *Batch, more ...*Batch) error {
	done := make(chan error, 1)
	if err := l.Submit(func(err error) { done <- err }, first, more...); err != nil {
		return err
	}
	return <-done
}

// notify puts a token into c unless it holds one.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// runOnCommitter runs a committerTask and waits for it.
func (l *Log) runOnCommitter(prepare func() []*Batch) error {
	task := &committerTask{prepare: prepare, done: make(chan error, 1)}
	q := &l.queue
	q.mu.Lock()
	q.tasks = append(q.tasks, task)
	q.mu.Unlock()
	notify(q.wake)
	return <-task.done
}

// commitLoop is the committer goroutine.
func (l *Log) commitLoop() {
	for {
		group, task, ending := l.nextGroup()
		if len(group) > 0 {
			l.commitGroup(group)
			l.recycle(group)
		}
		if task != nil {
			task.done <- l.write(task.prepare())
		}
		switch {
		case len(group) == 0 && task == nil && ending:
			return
		case len(group) == 0 && task == nil:
			<-l.queue.wake
		}
	}
}

// nextGroup returns the next group of requests and the next task, and whether the log is
// being closed. While compaction is too far behind it returns no requests, which slows down
// the writers.
func (l *Log) nextGroup() (group []request, task *committerTask, ending bool) {
	q := &l.queue
	compacting := l.compactionBehind()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.tasks) > 0 {
		task = q.tasks[0]
		q.tasks = q.tasks[1:]
	}
	if compacting && !q.closing {
		return nil, task, false
	}
	limit := min(groupBytes, l.cfg.SegmentBytes)
	n, size := 0, int64(0)
	for ; n < len(q.requests) && (n == 0 || size < limit); n++ {
		size += q.requests[n].size()
	}
	if n > 0 {
		group, q.requests = q.requests[:n], append(q.spareRequests, q.requests[n:]...)
		q.spareRequests = nil
	}
	return group, task, q.closing
}

// recycle keeps the memory of a group for later requests.
func (l *Log) recycle(group []request) {
	clear(group)
	if cap(group) <= maxSpareRequests { // otherwise a burst would keep its memory
		l.queue.spareRequests = group[:0]
	}
}

// commitGroup writes the batches of requests and calls their callbacks.
func (l *Log) commitGroup(group []request) {
	batches := l.queue.batches[:0]
	for _, r := range group {
		batches = append(append(batches, r.first), r.more...)
	}
	l.queue.batches = batches
	err := l.write(batches)
	clear(batches) // release the batches
	for _, r := range group {
		if errors.Is(err, ErrNoSpace) && len(group) > 1 {
			// A small request may fit although the whole group did not.
			r.done(l.write(append([]*Batch{r.first}, r.more...)))
			continue
		}
		r.done(err)
	}
}

// write appends batches to the log and applies them, all or none: if it cannot write all
// of them, it truncates the segment to its previous size. If that fails too, the log is
// broken and refuses all further writes.
func (l *Log) write(batches []*Batch) error {
	if len(batches) == 0 {
		return nil
	}
	if err := l.status.broken.Load(); err != nil {
		return *err
	}
	if err := l.loadIndexes(batches); err != nil {
		return err
	}
	q := &l.queue
	seg, err := l.segmentFor(batches)
	if err != nil {
		l.full.Store(errors.Is(err, ErrNoSpace))
		return err
	}
	q.writes++
	clear(q.pendingVersions)
	buf, start, durable := q.buf[:0], seg.size, point(l.syncer.durable.Load())
	for _, b := range batches {
		b.version = l.nextVersion(b)
		buf = appendRecord(buf, seg.seed, start+int64(len(buf)), b.header(durable), b.body)
	}
	if q.buf = buf[:0]; cap(buf) > 2*groupBytes {
		q.buf = nil // one large batch must not keep its memory for ever
	}
	if _, err := seg.file.WriteAt(buf, start); err != nil {
		err = fmt.Errorf("write log: %w", asNoSpace(err))
		l.full.Store(errors.Is(err, ErrNoSpace))
		if cut := seg.file.Truncate(start); cut != nil {
			return l.status.markBroken(errors.Join(err, cut))
		}
		return err
	}
	if l.full.Load() {
		l.full.Store(false)
	}
	end := at(seg.id, start+int64(len(buf)))
	before := point(l.syncer.written.Swap(uint64(end)))
	if l.cfg.Sync == SyncAlways {
		if err := l.syncer.syncTo(end); err != nil {
			return err
		}
	}
	now := time.Now().UnixNano()
	l.contents.mu.Lock()
	for _, b := range batches {
		l.contents.applyLocked(b, seg, now)
		seg.size += b.size()
	}
	l.contents.total.Add(int64(len(buf)))
	l.contents.mu.Unlock()
	q.endsWithMark = batches[len(batches)-1].kind == kindMark
	if l.cfg.Sync == SyncInterval || l.cfg.Sync == SyncOff && before.seg() < seg.id {
		notify(l.syncer.dirty) // full segments are synced in every mode
	}
	l.wakeMaintenance()
	return nil
}

// loadIndexes looks up the buckets of batches and loads the indexes that were evicted after
// the batches were submitted. Only the committer evicts, so they stay loaded until it has
// applied the batches.
func (l *Log) loadIndexes(batches []*Batch) error {
	for _, b := range batches {
		if b.target == nil || b.target.dropped {
			b.target = l.contents.buckets[b.bucket]
		}
		if b.kind == kindBatch || b.kind == kindMove {
			if err := l.loadIndex(b.target); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextVersion returns the version of a batch's record, taking earlier records of the same
// write into account. A bucket starts again at 1 after it was dropped.
func (l *Log) nextVersion(b *Batch) uint64 {
	q := &l.queue
	if b.target == nil {
		version := q.pendingVersions[b.bucket] + 1
		if q.pendingVersions[b.bucket] = version; b.kind == kindDrop {
			q.pendingVersions[b.bucket] = 0
		}
		return version
	}
	if b.target.lastWrite != q.writes {
		b.target.lastWrite, b.target.pendingVersion = q.writes, b.target.version
	}
	version := b.target.pendingVersion + 1
	if b.target.pendingVersion = version; b.kind == kindDrop {
		b.target.pendingVersion = 0
	}
	return version
}

// segmentFor returns the segment to write batches to: the head, or a new one if the head is
// full.
func (l *Log) segmentFor(batches []*Batch) (*segment, error) {
	size := int64(0)
	for _, b := range batches {
		size += b.size()
	}
	head := l.contents.head()
	if head.size == segmentHeader || head.size+size <= l.cfg.SegmentBytes {
		return head, nil
	}
	return l.startSegment()
}

// startSegment appends a new head segment.
func (l *Log) startSegment() (*segment, error) {
	head := l.contents.head()
	seg, err := l.createSegment(head.id+1, head.size)
	if err != nil {
		return nil, err
	}
	l.contents.mu.Lock()
	l.contents.segs = append(l.contents.segs, seg)
	l.contents.total.Add(seg.size)
	l.contents.mu.Unlock()
	return seg, nil
}
