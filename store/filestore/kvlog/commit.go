package kvlog

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// groupBytes bounds what is written at once, so that nobody waits long for
// somebody else's flood.
const groupBytes = 4 << 20

// crowd is how many requests at once make it worth to wait for more.
const crowd = 3

// queue is what waits for the committer.
type queue struct {
	wake chan struct{} // holds a token when there may be something to do

	mu       sync.Mutex
	requests []request
	chores   []*chore
	ending   bool // nothing more comes in

	wg sync.WaitGroup // the committer, who ends last

	// What follows belongs to the committer alone.
	buf     []byte
	records []record          // of the group
	staged  map[string]uint64 // versions of buckets with records in this group
	marked  bool              // the newest record is a mark
	ceiling int64             // of the total while compaction is at work, or 0
}

// request is batches on their way.
type request struct {
	records []record
	size    int
	done    func(error)
}

// chore is work of the housekeeper that must happen between two groups: prepare
// runs on the committer, when nothing else changes the index, and returns what
// to write.
type chore struct {
	prepare func() []record
	done    chan error
}

// record is one record to be written, and what to do when it was, under mu.
type record struct {
	header
	data  []byte
	apply func(r record, seg *segment, body int64)
}

// Submit queues batches, most often one. If it returns nil, done will be called
// exactly once, on the committer: with nil when the batches are applied and as
// durable as the sync mode says, or with the reason why they left no trace.
// Batches are applied in the order of their Submits. A crash may leave the first
// few of several batches, but nobody sees that before.
func (l *Log) Submit(done func(error), batches ...*Batch) error {
	if err := l.Err(); err != nil {
		return err
	}
	r := request{records: make([]record, len(batches)), done: done}
	for i, b := range batches {
		if err := b.check(); err != nil {
			return err
		}
		r.records[i] = l.batchRecord(b, checksum(b.body))
		r.size += headerBytes + len(b.body)
	}
	for _, b := range batches {
		// If need be the bucket is unfolded here and not on the committer.
		if err := l.view(b.bucket, func(*bucket) {}); err != nil {
			return err
		}
	}
	q := &l.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ending {
		return ErrClosed
	}
	q.requests = append(q.requests, r)
	signal(q.wake)
	return nil
}

// Apply is Submit for callers that want to wait.
func (l *Log) Apply(batches ...*Batch) error {
	done := make(chan error, 1)
	if err := l.Submit(func(err error) { done <- err }, batches...); err != nil {
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
func (l *Log) do(prepare func() []record) error {
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
			clear(group) // its memory is that of the queue, which goes on
		}
		if c != nil {
			c.done <- l.write(c.prepare())
		}
		switch {
		case len(group) > crowd:
			// Those who were just served are about to come back. Without this
			// the scheduler would run the committer again after the first of
			// them, and the rest would be served one by one. A few alone are
			// better served at once.
			runtime.Gosched()
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
	limit := min(groupBytes, int(l.cfg.SegmentBytes))
	n, size := 0, 0
	for ; n < len(q.requests) && (n == 0 || size < limit); n++ {
		size += q.requests[n].size
	}
	group = q.requests[:n:n]
	q.requests = q.requests[n:]
	return group, c, q.ending
}

// commitGroup writes requests and calls them back.
func (l *Log) commitGroup(group []request) {
	records := l.queue.records[:0]
	for _, r := range group {
		records = append(records, r.records...)
	}
	l.queue.records = records
	defer clear(records) // what was written is not held
	err := l.write(records)
	for _, r := range group {
		if errors.Is(err, ErrNoSpace) && len(group) > 1 {
			// A small one may fit although all of them together did not.
			r.done(l.write(r.records))
			continue
		}
		r.done(err)
	}
}

func (l *Log) batchRecord(b *Batch, sum uint32) record {
	return record{
		header: header{kind: b.kind, name: b.bucket, bodySum: sum},
		data:   b.body,
		apply:  func(r record, seg *segment, body int64) { l.applyBatch(b, r.version, seg, body) },
	}
}

// write appends records to the log and applies them, all or none.
func (l *Log) write(records []record) error {
	if len(records) == 0 {
		return nil
	}
	if err := l.broken.Load(); err != nil {
		return *err
	}
	if err := l.unfoldFor(records); err != nil {
		return err
	}
	q := &l.queue
	seg, err := l.roomFor(records)
	if err != nil {
		return err
	}
	clear(q.staged)
	buf, start := q.buf[:0], seg.size
	for i := range records {
		r := &records[i]
		r.body, r.durable, r.version = len(r.data), point(l.durable.Load()), l.nextVersion(r.name)
		if q.staged[r.name] = r.version; r.kind == kindDrop {
			q.staged[r.name] = 0
		}
		buf = appendRecord(buf, seg.seed, start+int64(len(buf)), r.header, r.data)
	}
	if q.buf = buf[:0]; cap(buf) > 2*groupBytes {
		q.buf = nil
	}
	if _, err := seg.file.WriteAt(buf, start); err != nil {
		err = fmt.Errorf("write log: %w", noSpace(err))
		if cut := seg.file.Truncate(start); cut != nil {
			return l.fail(errors.Join(err, cut))
		}
		return err
	}
	end := at(seg.id, start+int64(len(buf)))
	before := point(l.written.Swap(uint64(end)))
	if l.cfg.Sync == SyncAlways {
		if err := l.syncTo(end); err != nil {
			return err
		}
	}
	l.mu.Lock()
	for i := range records {
		r := records[i]
		if r.apply != nil {
			r.apply(r, seg, seg.size+int64(headerBytes+len(r.name)))
		}
		seg.size += r.size()
	}
	l.total.Add(int64(len(buf)))
	l.mu.Unlock()
	q.marked = records[len(records)-1].kind == kindMark
	if l.cfg.Sync == SyncInterval || l.cfg.Sync == SyncOff && before.seg() < seg.id {
		signal(l.syncer.dirty) // a full segment is synced in every mode
	}
	l.tendLater()
	return nil
}

// unfoldFor unfolds buckets that were folded since their batches were submitted.
// Only the committer folds, so they stay unfolded until it has applied them.
func (l *Log) unfoldFor(records []record) error {
	for _, r := range records {
		if b := l.buckets[r.name]; b != nil && (r.kind == kindBatch || r.kind == kindMove) {
			if err := l.unfold(b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Log) nextVersion(name string) uint64 {
	if v, ok := l.queue.staged[name]; ok {
		return v + 1
	}
	if b := l.buckets[name]; b != nil {
		return b.version + 1
	}
	return 1
}

// roomFor returns the segment to write to, a new one if the last is full.
func (l *Log) roomFor(records []record) (*segment, error) {
	size := int64(0)
	for _, r := range records {
		size += headerBytes + int64(len(r.name)+len(r.data))
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

// applyBatch changes the index as a batch says.
func (l *Log) applyBatch(b *Batch, version uint64, seg *segment, body int64) {
	if b.kind == kindDrop {
		l.dropLocked(b.bucket, b.dropped)
		return
	}
	t := l.bucketLocked(b.bucket)
	t.version = version
	t.used.Store(time.Now().UnixNano())
	for _, m := range b.muts {
		t.ix.mutate(m, seg.id, body, func(old Entry) { l.countLocked(old.at.seg, -old.cost()) })
		if m.op == opPut {
			l.countLocked(seg.id, Entry{Key: m.key, at: loc{size: m.size}}.cost())
		}
	}
}

// bucketLocked returns a bucket, which it makes if need be.
func (l *Log) bucketLocked(name string) *bucket {
	b := l.buckets[name]
	if b == nil {
		b = &bucket{name: name, ix: new(Index)}
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
	l.live.Add(-b.cost())
	if first := l.house.dropped.Load(); first == 0 || when < first {
		l.house.dropped.Store(when)
	}
	for _, t := range b.spread {
		l.countLocked(t.seg, -t.live)
	}
	if b.ix != nil {
		b.ix.remove("", "", func(old Entry) { l.countLocked(old.at.seg, -old.cost()) })
	}
}

// countLocked changes the live bytes of a segment.
func (l *Log) countLocked(id uint32, delta int64) {
	l.live.Add(delta)
	if s := l.segmentLocked(id); s != nil {
		s.live += delta
	}
}
