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

// replay reads the log when it is opened. No other goroutine uses the log at that time, so
// replay takes no locks.
type replay struct {
	*Log
	buf          []byte
	maxDurable   point  // the greatest durable point in any record
	durableEnd   point  // the durable point in the durable file
	floor        uint32 // segments before this one were deleted
	endsWithMark bool   // the newest record is a mark

	newest       map[string]point // position of the newest record of each bucket
	unattributed []unattributedDamage
}

// unattributedDamage is damage whose bucket is unknown.
type unattributedDamage struct {
	at point
	Damage
}

// applyAll applies all records in order.
func (r *replay) applyAll() error {
	for i := range r.contents.segs {
		cut, err := r.applySegment(i)
		if errors.Is(err, errTail) {
			return r.truncateLog(i-1, r.contents.segs[i-1].size)
		}
		if err != nil {
			return err
		}
		if cut >= 0 {
			return r.truncateLog(i, cut)
		}
	}
	return nil
}

// errTail means that the log must be truncated at the end of the previous segment.
var errTail = errors.New("end of the previous segment is missing")

// applySegment applies the records of a segment. It returns the offset at which the log
// must be truncated, or -1.
func (r *replay) applySegment(i int) (cut int64, err error) {
	seg := r.contents.segs[i]
	data, err := seg.readAll(r.buf, seg.size)
	if err != nil {
		return -1, err
	}
	r.buf = data
	off := int64(segmentHeader)
	before, err := parseSegmentHeader(data, r.id, seg.id)
	if err != nil {
		off, err = r.handleBadHeader(i, data, err)
		if off < 0 || err != nil {
			return 0, err
		}
	} else if i > 0 {
		if err := r.checkContinuity(i, data, before); err != nil {
			return -1, err
		}
	}
	for off < int64(len(data)) {
		h, c, bad := readRecord(data[off:], seg.seed, off)
		if bad == nil {
			if err := r.applyRecord(seg, off, h, c); err != nil {
				return -1, err
			}
			off += h.size()
			continue
		}
		next, err := r.handleUnreadable(i, data, off, h, bad)
		if next < 0 || err != nil {
			return off, err
		}
		off = next
	}
	return -1, nil
}

// handleBadHeader handles an unreadable segment header. The header is durable before the
// segment file gets its name, so this is damage in any segment. Older programs, which wrote
// no durable file, could be killed between the two.
func (r *replay) handleBadHeader(i int, data []byte, reason error) (next int64, err error) {
	if r.durableEnd == 0 && i > 0 && i == len(r.contents.segs)-1 {
		return r.handleUnreadable(i, data, 0, header{}, reason)
	}
	return r.reportUnreadable(i, data, 0, resync(data, r.contents.segs[i].seed, 1), header{}, reason)
}

// checkContinuity checks that no data is missing between a segment and the previous one in
// the folder. The operating system may write a segment to the disk before the end of the
// previous one, so after a power failure the log must end there (errTail): going on would
// omit a part in the middle.
func (r *replay) checkContinuity(i int, data []byte, before int64) error {
	last, seg := r.contents.segs[i-1], r.contents.segs[i]
	gone := last.id+1 != seg.id
	if !gone && before <= last.size {
		return nil
	}
	safe, err := r.wasDurableBeyond(i, data, segmentHeader, at(last.id, last.size))
	switch {
	case err != nil:
		return err
	case !safe:
		return errTail
	case gone:
		return r.reportMissingSegments(last.id+1, seg.id)
	}
	return r.reportShortSegment(last, before)
}

// handleUnreadable handles bytes at off that are not a record. It returns the offset at
// which to continue, or -1 if the log ends here.
func (r *replay) handleUnreadable(i int, data []byte, off int64, h header, reason error) (next int64, err error) {
	seg := r.contents.segs[i]
	next = resync(data, seg.seed, off+1)
	safe, err := r.wasDurableBeyond(i, data, next, at(seg.id, off))
	if err != nil {
		return 0, err
	}
	if !safe {
		return -1, nil // these bytes were never reported as durable
	}
	return r.reportUnreadable(i, data, off, next, h, reason)
}

// reportUnreadable reports the bytes from off to next, or to the end of the segment if next
// is negative. It returns the offset at which to continue.
func (r *replay) reportUnreadable(i int, data []byte, off, next int64, h header, reason error) (int64, error) {
	seg := r.contents.segs[i]
	if next < 0 {
		next = int64(len(data))
	}
	if errors.Is(reason, errShort) {
		h.name = "" // the segment was truncated, so later records may be missing, too
	}
	if h.name != "" {
		r.contents.bucketLocked(h.name).version = h.version
	}
	return next, r.report(reportName(seg.id, off), at(seg.id, off), Damage{
		Bucket: h.name, File: filepath.Base(seg.path), Offset: off, Length: next - off, Reason: reason.Error(),
	}, data[off:next])
}

// wasDurableBeyond reports whether the durable file, or a record at or after off in segment
// i or in a later one, states that the log was durable beyond p.
func (r *replay) wasDurableBeyond(i int, data []byte, off int64, p point) (safe bool, err error) {
	if r.durableEnd > p {
		return true, nil
	}
	for {
		for off >= 0 && off < int64(len(data)) {
			h, _, err := parseRecord(data[off:], r.contents.segs[i].seed, off)
			if err != nil {
				off = resync(data, r.contents.segs[i].seed, off+1)
				continue
			}
			if h.durable > p {
				return true, nil
			}
			off += h.size()
		}
		if i++; i == len(r.contents.segs) {
			return false, nil
		}
		if data, err = r.contents.segs[i].readAll(nil, r.contents.segs[i].size); err != nil {
			return false, err
		}
		off = segmentHeader
	}
}

// truncateLog ends the log at an offset of segment i. The data after it was being written
// when the power or the process failed; none of it was reported as durable.
func (r *replay) truncateLog(i int, off int64) error {
	seg := r.contents.segs[i]
	data, err := seg.readAll(r.buf, seg.size)
	if err != nil {
		return err
	}
	later := r.contents.segs[i+1:]
	if off < seg.size && (len(later) > 0 || resync(data, seg.seed, off+1) >= 0) {
		// Intact records follow the gap. Applying them would omit a part in the
		// middle of the log, so they are removed, but kept as a file in aside/.
		if _, err := r.quarantine.saveBytes("cut-"+reportName(seg.id, off), data[off:]); err != nil {
			return err
		}
	}
	if seg.size > off || len(later) > 0 {
		r.cfg.Logger.Warn("torn end of the log truncated", "file", filepath.Base(seg.path),
			"offset", off, "bytes", seg.size-off, "later_segments", len(later))
	}
	for _, s := range later {
		if err := r.quarantine.moveSegment(s); err != nil {
			return err
		}
		s.release()
	}
	r.contents.segs = r.contents.segs[:i+1]
	if off == 0 && r.durableEnd == 0 { // an older program was killed before it wrote the header
		seg.release()
		r.contents.segs = r.contents.segs[:i]
		return os.Remove(seg.path)
	}
	if err := seg.file.Truncate(off); err != nil {
		return fmt.Errorf("truncate log: %w", err)
	}
	seg.size = off
	r.endsWithMark = false
	return nil
}

// reportMissingSegments reports that the segments from to to-1 are missing.
func (r *replay) reportMissingSegments(from, to uint32) error {
	return r.report(fmt.Sprintf("missing-%08x", from), at(from, 0), Damage{
		File: segmentName(from), Reason: fmt.Sprintf("segments %s to %s are missing", segmentName(from), segmentName(to-1)),
	}, nil)
}

// report writes the report of damage at a position. Damage without a bucket is passed to
// OnDamage later, by reportUnattributed, when its suspects are known.
func (r *replay) report(name string, place point, d Damage, data []byte) error {
	d, err := r.quarantine.writeReport(name, d, data)
	switch {
	case err != nil:
		return err
	case d.Bucket == "":
		r.unattributed = append(r.unattributed, unattributedDamage{place, d})
	default:
		r.cfg.OnDamage(d)
	}
	return nil
}

// reportUnattributed passes damage without a bucket to OnDamage. A bucket with a record
// after the damage is not a suspect: its records are numbered, so a loss is reported with
// its name.
func (r *replay) reportUnattributed() {
	for _, u := range r.unattributed {
		for name := range r.contents.buckets {
			if r.newest[name] < u.at {
				u.Suspects = append(u.Suspects, name)
			}
		}
		slices.Sort(u.Suspects)
		r.cfg.OnDamage(u.Damage)
	}
}

// content is the decoded body of a record.
type content struct {
	muts    []mutation // for kindBatch and kindMove
	body    []byte     // the bytes that muts refer to
	index   *Index     // for kindIndex
	floor   uint32     // for kindFloor
	dropped int64      // for kindDrop
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
	case kindIndex:
		c.index, err = parseIndex(body)
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

// applyRecord applies a record to the index.
func (r *replay) applyRecord(seg *segment, off int64, h header, c content) error {
	r.maxDurable = max(r.maxDurable, h.durable)
	r.endsWithMark = h.kind == kindMark
	r.floor = max(r.floor, c.floor)
	if h.name == "" {
		return nil
	}
	if err := r.checkVersion(seg, off, h); err != nil {
		return err
	}
	r.newest[h.name] = at(seg.id, off)
	if h.kind == kindDrop {
		r.contents.dropLocked(h.name, min(c.dropped, time.Now().UnixNano())) // the clock may have been ahead
		return nil
	}
	b := r.contents.bucketLocked(h.name)
	b.version = h.version
	b.used.Store(time.Now().UnixNano())
	if h.kind == kindIndex {
		b.ix.Store(c.index)
		r.contents.evictLocked(b, loc{seg.id, uint32(off), uint32(h.size())}) //nolint:gosec // within a segment
		return nil
	}
	if err := r.loadIndex(b); err != nil {
		return err
	}
	for _, m := range c.muts {
		b.ix.Load().mutate(m, c.body, seg.id, off+h.size()-int64(h.body), func(Entry) {})
	}
	return nil
}

// checkVersion reports records of a bucket that are missing before the record with header
// h.
func (r *replay) checkVersion(seg *segment, off int64, h header) error {
	had := uint64(0)
	if b := r.contents.buckets[h.name]; b != nil {
		had = b.version
	} else if r.contents.segs[0].id > 1 {
		return nil // compaction may have deleted earlier records
	}
	if h.version == had+1 {
		return nil
	}
	return r.report(reportName(seg.id, off)+"-gap", at(seg.id, off), Damage{
		Bucket: h.name, File: filepath.Base(seg.path), Offset: off,
		Reason: fmt.Sprintf("record %d of the bucket follows record %d", h.version, had),
	}, nil)
}

// checkReferences deletes and reports index entries that refer to missing segments, and
// counts the live bytes.
func (r *replay) checkReferences() error {
	if floor := max(r.floor, 1); len(r.contents.segs) > 0 && r.contents.segs[0].id > floor {
		if err := r.reportMissingSegments(floor, r.contents.segs[0].id); err != nil {
			return err
		}
	}
	there := func(id uint32) bool { return r.contents.segmentLocked(id) != nil }
	for _, b := range r.contents.buckets {
		if b.ix.Load() == nil && slices.ContainsFunc(b.liveBySegment, func(t segmentLive) bool { return !there(t.seg) }) {
			if err := r.loadIndex(b); err != nil {
				return err
			}
		}
		lost := b.deletionsOf(func(e Entry) bool { return !there(e.at.seg) })
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
	r.recountLive()
	return nil
}

// recountLive computes the live bytes from scratch.
func (r *replay) recountLive() {
	r.contents.total.Store(0)
	r.contents.live.Store(0)
	for _, s := range r.contents.segs {
		s.live = 0
		r.contents.total.Add(s.size)
	}
	for _, b := range r.contents.buckets {
		r.contents.live.Add(b.cost())
		for _, t := range b.liveBySegment {
			r.contents.countLocked(t.seg, t.live)
		}
		if x := b.ix.Load(); x != nil {
			for e := range x.Ascend("", "") {
				r.contents.countLocked(e.at.seg, e.cost())
			}
		}
	}
}

// rebuildIndex computes the index of a bucket from the records of the log, as replay does.
func (l *Log) rebuildIndex(name string) (*Index, error) {
	l.contents.mu.RLock()
	segs, sizes := slices.Clone(l.contents.segs), make([]int64, len(l.contents.segs))
	for i, s := range segs {
		s.acquire()
		sizes[i] = s.size
	}
	l.contents.mu.RUnlock()
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
