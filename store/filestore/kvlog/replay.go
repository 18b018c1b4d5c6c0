package kvlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// replay reads the log when it is opened. It is the only one who uses the log
// then, so it takes no locks.
type replay struct {
	*Log
	buf   []byte
	safe  point  // the farthest durable point any record speaks of
	top   point  // how far the log was on disk, as the durable file says
	floor uint32 // segments before this one were deleted
	clean bool   // the newest record is a mark

	newest  map[string]point // where the newest record of each bucket is
	unnamed []unnamed
}

// unnamed is damage of which it is not known whose data it was.
type unnamed struct {
	at point
	Damage
}

// run applies all records in order.
func (r *replay) run() error {
	for i := range r.segs {
		cut, err := r.segment(i)
		if errors.Is(err, errTail) {
			return r.cut(i-1, r.segs[i-1].size)
		}
		if err != nil {
			return err
		}
		if cut >= 0 {
			return r.cut(i, cut)
		}
	}
	return nil
}

// errTail means that the log must be cut at the end of the segment before.
var errTail = errors.New("end of the segment before is missing")

// segment applies the records of a segment. If the log must be cut in it, it
// returns where, and else -1.
func (r *replay) segment(i int) (cut int64, err error) {
	seg := r.segs[i]
	data, err := seg.readAll(r.buf, seg.size)
	if err != nil {
		return -1, err
	}
	r.buf = data
	off := int64(segmentHeader)
	before, err := parseSegmentHeader(data, r.id, seg.id)
	if err != nil {
		off, err = r.badHeader(i, data, err)
		if off < 0 || err != nil {
			return 0, err
		}
	} else if i > 0 {
		if err := r.follows(i, data, before); err != nil {
			return -1, err
		}
	}
	for off < int64(len(data)) {
		h, c, bad := readRecord(data[off:], seg.seed, off)
		if bad == nil {
			if err := r.apply(seg, off, h, c); err != nil {
				return -1, err
			}
			off += h.size()
			continue
		}
		next, err := r.bad(i, data, off, h, bad)
		if next < 0 || err != nil {
			return off, err
		}
		off = next
	}
	return -1, nil
}

// badHeader is bad for the header of a segment. It is on disk before the segment has
// its name, so that it is damage wherever the segment is. Older programs could be
// killed in between; they left no durable file.
func (r *replay) badHeader(i int, data []byte, reason error) (next int64, err error) {
	if r.top == 0 && i > 0 && i == len(r.segs)-1 {
		return r.bad(i, data, 0, header{}, reason)
	}
	return r.damaged(i, data, 0, resync(data, r.segs[i].seed, 1), header{}, reason)
}

// follows checks that nothing is missing between a segment and the one before
// it in the folder. The system may write a segment to the disk before the end of
// the one before it, so after a power cut the log must end there: going on would
// leave out a part in the middle.
func (r *replay) follows(i int, data []byte, before int64) error {
	last, seg := r.segs[i-1], r.segs[i]
	gone := last.id+1 != seg.id
	if !gone && before <= last.size {
		return nil
	}
	safe, err := r.claimed(i, data, segmentHeader, at(last.id, last.size))
	switch {
	case err != nil:
		return err
	case !safe:
		return errTail
	case gone:
		return r.missing(last.id+1, seg.id)
	}
	return r.cutOff(last, before)
}

// bad deals with bytes at off that are no record. It returns where to go on, or
// -1 if the log ends here.
func (r *replay) bad(i int, data []byte, off int64, h header, reason error) (next int64, err error) {
	seg := r.segs[i]
	next = resync(data, seg.seed, off+1)
	safe, err := r.claimed(i, data, next, at(seg.id, off))
	if err != nil {
		return 0, err
	}
	if !safe {
		return -1, nil // nobody was ever told that this is on disk
	}
	return r.damaged(i, data, off, next, h, reason)
}

// damaged reports the bytes from off to next, or to the end of the segment if next is
// negative. It returns where to go on.
func (r *replay) damaged(i int, data []byte, off, next int64, h header, reason error) (int64, error) {
	seg := r.segs[i]
	if next < 0 {
		next = int64(len(data))
	}
	if errors.Is(reason, errShort) {
		h.name = "" // the segment was cut off, and more may be missing than this record
	}
	if h.name != "" {
		r.bucketLocked(h.name).version = h.version
	}
	return next, r.report(stretchName(seg.id, off), at(seg.id, off), Damage{
		Bucket: h.name, File: filepath.Base(seg.path), Offset: off, Length: next - off, Reason: reason.Error(),
	}, data[off:next])
}

// claimed reports whether the durable file, or a record at or after off in a segment
// or in a later one, says that the log was on disk beyond p.
func (r *replay) claimed(i int, data []byte, off int64, p point) (safe bool, err error) {
	if r.top > p {
		return true, nil
	}
	for {
		for off >= 0 && off < int64(len(data)) {
			h, _, err := parseRecord(data[off:], r.segs[i].seed, off)
			if err != nil {
				off = resync(data, r.segs[i].seed, off+1)
				continue
			}
			if h.durable > p {
				return true, nil
			}
			off += h.size()
		}
		if i++; i == len(r.segs) {
			return false, nil
		}
		if data, err = r.segs[i].readAll(nil, r.segs[i].size); err != nil {
			return false, err
		}
		off = segmentHeader
	}
}

// cut ends the log at a place in a segment. What comes after it was written
// when the power failed, or the process; no part of it was promised to be safe.
func (r *replay) cut(i int, off int64) error {
	seg := r.segs[i]
	data, err := seg.readAll(r.buf, seg.size)
	if err != nil {
		return err
	}
	later := r.segs[i+1:]
	if off < seg.size && (len(later) > 0 || resync(data, seg.seed, off+1) >= 0) {
		// Whole records came after the hole. Going on behind it would leave
		// out a part in the middle, so they go, but not without a trace.
		if _, err := r.setAside("cut-"+stretchName(seg.id, off), data[off:]); err != nil {
			return err
		}
	}
	if seg.size > off || len(later) > 0 {
		r.cfg.Logger.Warn("cut off the torn end of the log", "file", filepath.Base(seg.path),
			"offset", off, "bytes", seg.size-off, "later_segments", len(later))
	}
	for _, s := range later {
		if err := r.moveAside(s); err != nil {
			return err
		}
		s.release()
	}
	r.segs = r.segs[:i+1]
	if off == 0 && r.top == 0 { // an older program was killed before it wrote the header
		seg.release()
		r.segs = r.segs[:i]
		return os.Remove(seg.path)
	}
	if err := seg.file.Truncate(off); err != nil {
		return fmt.Errorf("cut log: %w", err)
	}
	seg.size = off
	r.clean = false
	return nil
}

// missing reports segments that are not there, from one to before another.
func (r *replay) missing(from, to uint32) error {
	return r.report(fmt.Sprintf("missing-%08x", from), at(from, 0), Damage{
		File: segmentName(from), Reason: fmt.Sprintf("segments %s to %s are missing", segmentName(from), segmentName(to-1)),
	}, nil)
}

// report is that of the log for damage at a place. Damage that names no bucket waits
// until it is known which buckets it may concern.
func (r *replay) report(name string, place point, d Damage, data []byte) error {
	d, err := r.writeReport(name, d, data)
	switch {
	case err != nil:
		return err
	case d.Bucket == "":
		r.unnamed = append(r.unnamed, unnamed{place, d})
	default:
		r.cfg.OnDamage(d)
	}
	return nil
}

// tellUnnamed tells of damage that names no bucket. A bucket with a later record is not
// concerned, or damage of its own names it: records of a bucket are numbered.
func (r *replay) tellUnnamed() {
	for _, u := range r.unnamed {
		for name := range r.buckets {
			if r.newest[name] < u.at {
				u.Suspects = append(u.Suspects, name)
			}
		}
		slices.Sort(u.Suspects)
		r.cfg.OnDamage(u.Damage)
	}
}

// content is what the body of a record says.
type content struct {
	muts    []mutation // of kindBatch and kindMove
	body    []byte     // that they speak of
	index   *Index     // of kindFold
	floor   uint32     // of kindFloor
	dropped int64      // of kindDrop
}

// readRecord decodes a record with its body.
func readRecord(data []byte, seed uint32, off int64) (h header, c content, err error) {
	h, body, err := parseRecord(data, seed, off)
	if err != nil {
		return h, c, err
	}
	r := reader{data: body}
	switch h.kind {
	case kindBatch, kindMove:
		c.body = body
		err = parseBody(body, func(m mutation) { c.muts = append(c.muts, m) })
	case kindFold:
		c.index, err = parseFold(body)
	case kindFloor:
		c.floor = r.uint32()
		err = r.err
	case kindDrop:
		c.dropped = int64(r.uint() & (1<<63 - 1))
		err = r.err
	case kindMark:
	default:
		err = fmt.Errorf("record of unknown kind %d", h.kind)
	}
	return h, c, err
}

// apply does to the index what a record says.
func (r *replay) apply(seg *segment, off int64, h header, c content) error {
	r.safe = max(r.safe, h.durable)
	r.clean = h.kind == kindMark
	r.floor = max(r.floor, c.floor)
	if h.name == "" {
		return nil
	}
	if err := r.gap(seg, off, h); err != nil {
		return err
	}
	r.newest[h.name] = at(seg.id, off)
	if h.kind == kindDrop {
		r.dropLocked(h.name, min(c.dropped, time.Now().UnixNano())) // a clock may have been wrong
		return nil
	}
	b := r.bucketLocked(h.name)
	b.version = h.version
	b.used.Store(time.Now().UnixNano())
	if h.kind == kindFold {
		b.ix.Store(c.index)
		r.foldLocked(b, loc{seg.id, uint32(off), uint32(h.size())}) //nolint:gosec // within a segment
		return nil
	}
	if err := r.unfold(b); err != nil {
		return err
	}
	for _, m := range c.muts {
		b.ix.Load().mutate(m, c.body, seg.id, off+h.size()-int64(h.body), func(Entry) {})
	}
	return nil
}

// gap reports records of a bucket that must have been there.
func (r *replay) gap(seg *segment, off int64, h header) error {
	had := uint64(0)
	if b := r.buckets[h.name]; b != nil {
		had = b.version
	} else if r.segs[0].id > 1 {
		return nil // earlier records were compacted away
	}
	if h.version == had+1 {
		return nil
	}
	return r.report(stretchName(seg.id, off)+"-gap", at(seg.id, off), Damage{
		Bucket: h.name, File: filepath.Base(seg.path), Offset: off,
		Reason: fmt.Sprintf("record %d of the bucket follows record %d", h.version, had),
	}, nil)
}

// settle checks that everything the index refers to is there, and counts it.
func (r *replay) settle() error {
	if floor := max(r.floor, 1); len(r.segs) > 0 && r.segs[0].id > floor {
		if err := r.missing(floor, r.segs[0].id); err != nil {
			return err
		}
	}
	there := func(id uint32) bool { return r.segmentLocked(id) != nil }
	for _, b := range r.buckets {
		if b.ix.Load() == nil && slices.ContainsFunc(b.spread, func(t tally) bool { return !there(t.seg) }) {
			if err := r.unfold(b); err != nil {
				return err
			}
		}
		lost := b.forget(func(e Entry) bool { return !there(e.at.seg) })
		if lost == nil {
			continue
		}
		from := map[uint32]int{}
		for _, m := range lost.muts {
			b.ix.Load().mutate(m, lost.body, 0, 0, func(e Entry) { from[e.at.seg]++ })
		}
		for _, id := range slices.Sorted(maps.Keys(from)) {
			if err := r.report(fmt.Sprintf("lost-%08x-%x", id, checksum([]byte(b.name))), at(id, 0), Damage{
				Bucket: b.name, File: segmentName(id), Reason: fmt.Sprintf("%d values lie in a segment that is missing", from[id]),
			}, nil); err != nil {
				return err
			}
		}
	}
	r.count()
	return nil
}

// count adds up the live bytes from scratch.
func (r *replay) count() {
	r.total.Store(0)
	r.live.Store(0)
	for _, s := range r.segs {
		s.live = 0
		r.total.Add(s.size)
	}
	for _, b := range r.buckets {
		r.live.Add(b.cost())
		for _, t := range b.spread {
			r.countLocked(t.seg, t.live)
		}
		if x := b.ix.Load(); x != nil {
			for e := range x.Ascend("", "") {
				r.countLocked(e.at.seg, e.cost())
			}
		}
	}
}

// rebuild makes the index of a bucket from the records of the log, as replay
// does.
func (l *Log) rebuild(name string) (*Index, error) {
	l.mu.RLock()
	segs, sizes := slices.Clone(l.segs), make([]int64, len(l.segs))
	for i, s := range segs {
		s.acquire()
		sizes[i] = s.size
	}
	l.mu.RUnlock()
	defer func() {
		for _, s := range segs {
			s.release()
		}
	}()
	x := new(Index)
	var buf []byte
	for i, seg := range segs {
		data, err := seg.readAll(buf, sizes[i])
		if err != nil {
			return nil, err
		}
		buf = data
		for off := int64(segmentHeader); off >= 0 && off < sizes[i]; {
			h, c, err := readRecord(data[off:], seg.seed, off)
			if err != nil {
				off = resync(data, seg.seed, off+1)
				continue
			}
			if h.name == name && h.kind == kindDrop {
				x = new(Index)
			} else if h.name == name {
				for _, m := range c.muts {
					x.mutate(m, c.body, seg.id, off+h.size()-int64(h.body), func(Entry) {})
				}
			}
			off += h.size()
		}
	}
	return x, nil
}

func floorBody(floor uint32) []byte { return binary.AppendUvarint(nil, uint64(floor)) }
