package kvlog

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// groupBytes bounds what is written at once, so that nobody waits long for
// somebody else's flood.
const groupBytes = 4 << 20

// spareRequests bounds the memory that is kept for requests.
const spareRequests = 4096

// queue is what waits for the committer.
type queue struct {
	wake chan struct{} // holds a token when there may be something to do

	mu       sync.Mutex
	requests []request
	chores   []*chore
	ending   bool // nothing more comes in

	wg sync.WaitGroup // the committer, who ends last

	// What follows belongs to the committer alone.
	spare   []request // memory for the requests that come next
	buf     []byte
	batches []*Batch          // of the group
	writes  uint64            // how many there were
	staged  map[string]uint64 // versions of buckets that this write makes
	marked  bool              // the newest record is a mark
	ceiling int64             // of the total while compaction is at work, or 0
}

// request is batches on their way.
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

// chore is work of the housekeeper that must happen between two groups: prepare
// runs on the committer, when nothing else changes the index, and returns what
// to write.
type chore struct {
	prepare func() []*Batch
	done    chan error
}

// Submit queues batches, most often one. If it returns nil, done will be called
// exactly once, on the committer: with nil when the batches are applied and as
// durable as the sync mode says, or with the reason why they left no trace.
// Batches are applied in the order of their Submits. A crash may leave the first
// few of several batches, but nobody sees that before.
func (l *Log) Submit(done func(error), first *Batch, more ...*Batch) error {
	err := l.Queue(done, first, more...)
	if err == nil {
		l.Wake()
	}
	return err
}

// Queue is Submit for callers that call Wake as well, unless they hear of their
// batches before: what others queue until then is written together with them.
func (l *Log) Queue(done func(error), first *Batch, more ...*Batch) error {
	if err := l.Err(); err != nil {
		return err
	}
	if err := l.ready(first); err != nil {
		return err
	}
	for _, b := range more {
		if err := l.ready(b); err != nil {
			return err
		}
	}
	q := &l.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return ErrClosed
	}
	q.requests = append(q.requests, request{first, more, done})
	return nil
}

// Wake has everything written that is queued.
func (l *Log) Wake() { signal(l.queue.wake) }

// ready does for a batch what need not be done by the committer. If its bucket
// is folded, it is unfolded.
func (l *Log) ready(b *Batch) error {
	if err := b.check(); err != nil {
		return err
	}
	b.summed()
	if b.at == nil {
		l.mu.RLock()
		b.at = l.buckets[b.bucket]
		l.mu.RUnlock()
	}
	return l.unfold(b.at)
}

// Apply is Submit for callers that want to wait.
func (l *Log) Apply(first *Batch, more ...*Batch) error {
	done := make(chan error, 1)
	if err := l.Submit(func(err error) { done <- err }, first, more...); err != nil {
		return err
	}
	return <-done
}

// signal leaves a token for whoever waits.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// do has the committer do a chore and waits for it.
func (l *Log) do(prepare func() []*Batch) error {
	c := &chore{prepare: prepare, done: make(chan error, 1)}
	q := &l.queue
	q.mu.Lock()
	q.chores = append(q.chores, c)
	q.mu.Unlock()
	signal(q.wake)
	return <-c.done
}

// commitLoop is the committer.
func (l *Log) commitLoop() {
	for {
		group, c, ending := l.take()
		if len(group) > 0 {
			l.commitGroup(group)
			l.recycle(group)
		}
		if c != nil {
			c.done <- l.write(c.prepare())
		}
		switch {
		case len(group) == 0 && c == nil && ending:
			return
		case len(group) == 0 && c == nil:
			<-l.queue.wake
		}
	}
}

// take returns the next group of batches and the next chore. While compaction
// is too far behind it returns no batches: those who write pay for it.
func (l *Log) take() (group []request, c *chore, ending bool) {
	q := &l.queue
	held := l.behind()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.chores) > 0 {
		c = q.chores[0]
		q.chores = q.chores[1:]
	}
	if held && !q.ending {
		return nil, c, false
	}
	limit := min(groupBytes, l.cfg.SegmentBytes)
	n, size := 0, int64(0)
	for ; n < len(q.requests) && (n == 0 || size < limit); n++ {
		size += q.requests[n].size()
	}
	if n > 0 {
		group, q.requests = q.requests[:n], append(q.spare, q.requests[n:]...)
		q.spare = nil
	}
	return group, c, q.ending
}

// recycle makes the memory of a group that of requests to come.
func (l *Log) recycle(group []request) {
	clear(group)
	if cap(group) <= spareRequests {
		l.queue.spare = group[:0]
	}
}

// commitGroup writes requests and calls them back.
func (l *Log) commitGroup(group []request) {
	batches := l.queue.batches[:0]
	for _, r := range group {
		batches = append(append(batches, r.first), r.more...)
	}
	l.queue.batches = batches
	err := l.write(batches)
	clear(batches) // what was written is not held
	for _, r := range group {
		if errors.Is(err, ErrNoSpace) && len(group) > 1 {
			// A small one may fit although all of them together did not.
			r.done(l.write(append([]*Batch{r.first}, r.more...)))
			continue
		}
		r.done(err)
	}
}

// write appends batches to the log and applies them, all or none.
func (l *Log) write(batches []*Batch) error {
	if len(batches) == 0 {
		return nil
	}
	if err := l.broken.Load(); err != nil {
		return *err
	}
	if err := l.unfoldFor(batches); err != nil {
		return err
	}
	q := &l.queue
	seg, err := l.roomFor(batches)
	if err != nil {
		l.full.Store(errors.Is(err, ErrNoSpace))
		return err
	}
	q.writes++
	clear(q.staged)
	buf, start, durable := q.buf[:0], seg.size, point(l.durable.Load())
	for _, b := range batches {
		b.version = l.nextVersion(b)
		buf = appendRecord(buf, seg.seed, start+int64(len(buf)), b.header(durable), b.body)
	}
	if q.buf = buf[:0]; cap(buf) > 2*groupBytes {
		q.buf = nil
	}
	if _, err := seg.file.WriteAt(buf, start); err != nil {
		err = fmt.Errorf("write log: %w", noSpace(err))
		l.full.Store(errors.Is(err, ErrNoSpace))
		if cut := seg.file.Truncate(start); cut != nil {
			return l.fail(errors.Join(err, cut))
		}
		return err
	}
	if l.full.Load() {
		l.full.Store(false)
	}
	end := at(seg.id, start+int64(len(buf)))
	before := point(l.written.Swap(uint64(end)))
	if l.cfg.Sync == SyncAlways {
		if err := l.syncTo(end); err != nil {
			return err
		}
	}
	now := time.Now().UnixNano()
	l.mu.Lock()
	for _, b := range batches {
		l.applyLocked(b, seg, now)
		seg.size += b.size()
	}
	l.total.Add(int64(len(buf)))
	l.mu.Unlock()
	q.marked = batches[len(batches)-1].kind == kindMark
	if l.cfg.Sync == SyncInterval || l.cfg.Sync == SyncOff && before.seg() < seg.id {
		signal(l.syncer.dirty) // a full segment is synced in every mode
	}
	l.tendLater()
	return nil
}

// unfoldFor finds the buckets of batches and unfolds those that were folded
// since their batches were submitted. Only the committer folds, so they stay
// unfolded until it has applied them.
func (l *Log) unfoldFor(batches []*Batch) error {
	for _, b := range batches {
		if b.at == nil || b.at.gone {
			b.at = l.buckets[b.bucket]
		}
		if b.kind == kindBatch || b.kind == kindMove {
			if err := l.unfold(b.at); err != nil {
				return err
			}
		}
	}
	return nil
}

// nextVersion numbers the record of a batch, given those before it in the same
// write. A bucket begins again at 1 after it was dropped.
func (l *Log) nextVersion(b *Batch) uint64 {
	q := &l.queue
	if b.at == nil {
		version := q.staged[b.bucket] + 1
		if q.staged[b.bucket] = version; b.kind == kindDrop {
			q.staged[b.bucket] = 0
		}
		return version
	}
	if b.at.write != q.writes {
		b.at.write, b.at.staged = q.writes, b.at.version
	}
	version := b.at.staged + 1
	if b.at.staged = version; b.kind == kindDrop {
		b.at.staged = 0
	}
	return version
}

// roomFor returns the segment to write to, a new one if the last is full.
func (l *Log) roomFor(batches []*Batch) (*segment, error) {
	size := int64(0)
	for _, b := range batches {
		size += b.size()
	}
	head := l.head()
	if head.size == segmentHeader || head.size+size <= l.cfg.SegmentBytes {
		return head, nil
	}
	return l.roll()
}

// roll begins a new segment.
func (l *Log) roll() (*segment, error) {
	head := l.head()
	seg, err := l.createSegment(head.id+1, head.size)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.segs = append(l.segs, seg)
	l.total.Add(seg.size)
	l.mu.Unlock()
	return seg, nil
}

// applyLocked changes the index as a batch says, which was written to the end of
// a segment.
func (l *Log) applyLocked(b *Batch, seg *segment, now int64) {
	switch b.kind {
	case kindBatch, kindMove:
	case kindFold:
		b.at.version = b.version
		l.foldLocked(b.at, loc{seg.id, uint32(seg.size), uint32(b.size())}) //nolint:gosec // within a segment
		return
	case kindDrop:
		l.dropLocked(b.bucket, b.dropped)
		return
	default:
		return
	}
	t := b.at
	if t == nil || t.gone {
		t = l.bucketLocked(b.bucket)
	}
	t.version = b.version
	t.used.Store(now)
	x, base, added := t.ix.Load(), seg.size+b.size()-int64(len(b.body)), int64(0)
	for _, m := range b.muts {
		x.mutate(m, b.body, seg.id, base, l.goneLocked)
		if m.op == opPut {
			added += entryCost(m.key.size, m.arg.size)
		}
	}
	l.countLocked(seg.id, added)
}

// goneLocked counts an entry that is not live any more.
func (l *Log) goneLocked(old Entry) { l.countLocked(old.at.seg, -old.cost()) }

// bucketLocked returns a bucket, which it makes if need be.
func (l *Log) bucketLocked(name string) *bucket {
	b := l.buckets[name]
	if b == nil {
		b = &bucket{name: name}
		b.ix.Store(new(Index))
		l.buckets[name] = b
		l.live.Add(b.cost())
	}
	return b
}

// dropLocked removes a bucket that was dropped at a time.
func (l *Log) dropLocked(name string, when int64) {
	b := l.buckets[name]
	if b == nil {
		return
	}
	delete(l.buckets, name)
	b.gone = true
	l.live.Add(-b.cost())
	if first := l.house.dropped.Load(); first == 0 || when < first {
		l.house.dropped.Store(when)
	}
	for _, t := range b.spread {
		l.countLocked(t.seg, -t.live)
	}
	if x := b.ix.Load(); x != nil {
		x.remove("", "", l.goneLocked)
	}
}

// countLocked changes the live bytes of a segment.
func (l *Log) countLocked(id uint32, delta int64) {
	l.live.Add(delta)
	if s := l.segmentLocked(id); s != nil {
		s.live += delta
	}
}
