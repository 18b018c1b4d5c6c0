package kvlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// The durable file says how far the log was on disk when it was last synced. It is
// written after each fsync and not synced itself: what it says may be old and is
// never too much. So a log that ends before it was cut by something else than a
// crash. It holds
//
//	 0  magic  8 bytes
//	 8  id     16, that of the store
//	24  point  8
//	32  sum    4, CRC-32C of the bytes above
const (
	durableName  = "DURABLE"
	durableMagic = "EDDURBL\n"
	durableBytes = 36
)

// offset is the place in the segment.
func (p point) offset() int64 { return int64(p & 0xffffffff) }

// openDurable opens the durable file and returns what it says: zero if it says
// nothing, as in the folder of an older program. Without the file the log works too.
func (l *Log) openDurable() point {
	path := filepath.Join(l.dir, durableName)
	unknown := func(err error) point {
		l.cfg.Logger.Warn("how far the log was on disk is not known", "file", durableName, "err", err)
		return 0
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unknown(err)
	}
	l.top = f
	data := make([]byte, durableBytes)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return unknown(err)
	}
	if n == 0 {
		return 0
	}
	if n < durableBytes || string(data[:8]) != durableMagic || [16]byte(data[8:24]) != l.id ||
		crc32.Checksum(data[:32], castagnoli) != binary.LittleEndian.Uint32(data[32:]) {
		return unknown(ErrDamaged)
	}
	return point(binary.LittleEndian.Uint64(data[24:]))
}

// saveDurable writes the durable file. The caller has l.syncer.one. A failure costs
// only that a log that is cut later is noticed less exactly.
func (l *Log) saveDurable(p point) {
	if l.top == nil {
		return
	}
	data := append(make([]byte, 0, durableBytes), durableMagic...)
	data = append(data, l.id[:]...)
	data = binary.LittleEndian.AppendUint64(data, uint64(p))
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	_, err := l.top.WriteAt(data, 0)
	if failed := err != nil; failed != l.topFailed {
		l.topFailed = failed
		if failed {
			l.cfg.Logger.Warn("how far the log is on disk could not be written down", "file", durableName, "err", err)
		}
	}
}

// endsEarly reports what is missing between the end of the log and what was on disk.
// It returns whether there is something.
func (r *replay) endsEarly() (bool, error) {
	if len(r.segs) == 0 {
		if r.top == 0 {
			return false, nil
		}
		return true, r.missing(max(r.floor, 1), r.top.seg()+1)
	}
	head := r.head()
	switch {
	case at(head.id, head.size) >= r.top:
		return head.size < segmentHeader, nil
	case head.id < r.top.seg():
		return true, r.missing(head.id+1, r.top.seg()+1)
	}
	return true, r.cutOff(head, r.top.offset())
}

// cutOff reports that a segment is shorter than it was.
func (r *replay) cutOff(seg *segment, size int64) error {
	return r.report(stretchName(seg.id, seg.size)+"-end", at(seg.id, seg.size), Damage{
		File: filepath.Base(seg.path), Offset: seg.size, Length: size - seg.size,
		Reason: fmt.Sprintf("%d bytes are missing at the end of the segment", size-seg.size),
	}, nil)
}

// goOn makes a segment to write to if there is none, or if the last one is damaged: it
// is never written to again, and the next one says how long it was.
func (r *replay) goOn(early bool) error {
	if len(r.segs) > 0 && !early {
		return nil
	}
	next, before := max(r.floor, 1), int64(0)
	if r.top > 0 {
		next = max(next, r.top.seg()+1)
	}
	if len(r.segs) > 0 {
		head := r.head()
		next, before = max(next, head.id+1), head.size
		if head.id == r.top.seg() {
			before = max(before, r.top.offset())
		}
	}
	seg, err := r.createSegment(next, before)
	if err != nil {
		return err
	}
	r.segs = append(r.segs, seg)
	r.total.Add(seg.size)
	r.clean = false
	return nil
}
