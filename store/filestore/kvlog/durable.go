package kvlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// The durable file holds the point up to which the log was durable at the last fsync. It is
// written after each fsync and not synced itself, so its point may be outdated but is never
// too far. A log that ends before that point was truncated by something other than a crash.
// Its format:
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

// offset returns the offset in the segment.
func (p point) offset() int64 { return int64(p & 0xffffffff) }

// durableFile is the open durable file. The log works without it.
type durableFile struct {
	file   *os.File // nil if it could not be opened
	id     [16]byte
	logger *slog.Logger
	failed bool // it was not written the last time; guarded by syncer.syncMu
}

// openDurable opens the durable file and returns its point, or zero if the file is new (as
// in the folder of an older program) or unreadable.
func openDurable(dir string, id [16]byte, logger *slog.Logger) (*durableFile, point) {
	d := &durableFile{id: id, logger: logger}
	unknown := func(err error) (*durableFile, point) {
		logger.Warn("durable file unreadable, end of the durable log unknown", "file", durableName, "err", err)
		return d, 0
	}
	f, err := os.OpenFile(filepath.Join(dir, durableName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return unknown(err)
	}
	d.file = f
	data := make([]byte, durableBytes)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return unknown(err)
	}
	if n == 0 {
		return d, 0
	}
	if n < durableBytes || string(data[:8]) != durableMagic || [16]byte(data[8:24]) != id ||
		crc32.Checksum(data[:32], castagnoli) != binary.LittleEndian.Uint32(data[32:]) {
		return unknown(ErrDamaged)
	}
	return d, point(binary.LittleEndian.Uint64(data[24:]))
}

// close closes the file, if it is open.
func (d *durableFile) close() error {
	if d == nil || d.file == nil {
		return nil
	}
	return d.file.Close()
}

// save writes the durable file. The caller holds syncer.syncMu. After a failure a
// later truncation of the log is detected less exactly; nothing else is affected.
func (d *durableFile) save(p point) {
	if d.file == nil {
		return
	}
	data := append(make([]byte, 0, durableBytes), durableMagic...)
	data = append(data, d.id[:]...)
	data = binary.LittleEndian.AppendUint64(data, uint64(p))
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	_, err := d.file.WriteAt(data, 0)
	if failed := err != nil; failed != d.failed {
		d.failed = failed
		if failed {
			d.logger.Warn("cannot write durable file", "file", durableName, "err", err)
		}
	}
}

// checkEnd reports the data missing between the end of the log and the point in the durable
// file. It returns whether the head segment is damaged or missing.
func (r *replay) checkEnd() (bool, error) {
	if len(r.contents.segs) == 0 {
		if r.durableEnd == 0 {
			return false, nil
		}
		return true, r.reportMissingSegments(max(r.floor, 1), r.durableEnd.seg()+1)
	}
	head := r.contents.head()
	switch {
	case at(head.id, head.size) >= r.durableEnd:
		return head.size < segmentHeader, nil
	case head.id < r.durableEnd.seg():
		return true, r.reportMissingSegments(head.id+1, r.durableEnd.seg()+1)
	}
	return true, r.reportShortSegment(head, r.durableEnd.offset())
}

// reportShortSegment reports that a segment is shorter than its known size.
func (r *replay) reportShortSegment(seg *segment, size int64) error {
	return r.report(reportName(seg.id, seg.size)+"-end", at(seg.id, seg.size), Damage{
		File: filepath.Base(seg.path), Offset: seg.size, Length: size - seg.size,
		Reason: fmt.Sprintf("%d bytes are missing at the end of the segment", size-seg.size),
	}, nil)
}

// ensureHeadSegment creates a head segment if the log has none or if the last one is
// damaged: a damaged segment is never written to again, and the header of the next one
// holds its size.
func (r *replay) ensureHeadSegment(early bool) error {
	if len(r.contents.segs) > 0 && !early {
		return nil
	}
	next, before := max(r.floor, 1), int64(0)
	if r.durableEnd > 0 {
		next = max(next, r.durableEnd.seg()+1)
	}
	if len(r.contents.segs) > 0 {
		head := r.contents.head()
		next, before = max(next, head.id+1), head.size
		if head.id == r.durableEnd.seg() {
			before = max(before, r.durableEnd.offset())
		}
	}
	seg, err := r.createSegment(next, before)
	if err != nil {
		return err
	}
	r.contents.segs = append(r.contents.segs, seg)
	r.contents.total.Add(seg.size)
	r.endsWithMark = false
	return nil
}
