package kvlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// A segment file begins with
//
//	 0  magic   8 bytes
//	 8  format  4
//	12  seg     4, its own number
//	16  before  4, the final size of the previous segment
//	20  zero    4
//	24  id      16, that of the store
//	40  sum     4, CRC-32C of the bytes above
const (
	segmentHeader = 44
	segmentMagic  = "EDKVLOG\n"
	segmentSuffix = ".seg"
	formatVersion = 1
)

// segment is one file of the log. contents.mu guards size and live, which only the committer
// modifies; refs is atomic; the other fields are constant.
type segment struct {
	id   uint32
	path string
	seed uint32
	file File

	size int64 // bytes written
	live int64 // cost of the live entries whose values are in this segment

	// refs counts the log itself and the readers. The last release closes the file, so
	// compaction may delete a file that is being read.
	refs atomic.Int32
}

func segmentName(id uint32) string { return fmt.Sprintf("%08x%s", id, segmentSuffix) }

// parseSegmentName returns the number in the name of a segment file.
func parseSegmentName(name string) (uint32, bool) {
	hex, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(hex) != 8 || strings.ToLower(hex) != hex {
		return 0, false
	}
	id, err := strconv.ParseUint(hex, 16, 32)
	return uint32(id), err == nil && id > 0
}

func appendSegmentHeader(dst []byte, id [16]byte, seg uint32, before int64) []byte {
	start := len(dst)
	dst = append(dst, segmentMagic...)
	dst = binary.LittleEndian.AppendUint32(dst, formatVersion)
	dst = binary.LittleEndian.AppendUint32(dst, seg)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(before)) //nolint:gosec // sizes are below 4 GiB
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	dst = append(dst, id[:]...)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// parseSegmentHeader verifies the header of a segment and returns the final size of the
// previous segment.
func parseSegmentHeader(data []byte, id [16]byte, seg uint32) (before int64, err error) {
	if len(data) < segmentHeader {
		return 0, fmt.Errorf("%w: segment has %d bytes", errShort, len(data))
	}
	head := data[:segmentHeader]
	switch {
	case string(head[:8]) != segmentMagic:
		return 0, errors.New("not a segment file")
	case crc32.Checksum(head[:40], castagnoli) != binary.LittleEndian.Uint32(head[40:]):
		return 0, errors.New("checksum of the segment header does not match")
	case binary.LittleEndian.Uint32(head[12:]) != seg || [16]byte(head[24:40]) != id:
		return 0, errors.New("segment has the header of another segment or store")
	}
	return int64(binary.LittleEndian.Uint32(head[16:])), nil
}

// createSegment creates the file of a new segment. The header contains the final size of
// the previous segment, before. The header is durable before the file gets its name, so a
// segment without a header is damaged. A failure leaves no file behind.
func (l *Log) createSegment(id uint32, before int64) (*segment, error) {
	s := &segment{id: id, path: filepath.Join(l.dir, segmentName(id)), seed: seed(l.id, id)}
	temporary := s.path + ".tmp"
	f, err := l.cfg.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("create segment: %w", asNoSpace(err))
	}
	if _, err = f.WriteAt(appendSegmentHeader(nil, l.id, id, before), 0); err == nil {
		if err = f.Sync(); err != nil {
			err = l.status.markBroken(fmt.Errorf("fsync: %w", err))
		}
	}
	if err == nil {
		_, err = os.Lstat(s.path)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.Rename(temporary, s.path)
		} else if err == nil {
			err = fs.ErrExist
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create segment: %w", asNoSpace(err)), f.Close(), os.Remove(temporary))
	}
	s.file, s.size = f, segmentHeader
	s.refs.Store(1)
	return s, nil
}

func (s *segment) acquire() { s.refs.Add(1) }

func (s *segment) release() {
	if s.refs.Add(-1) == 0 {
		_ = s.file.Close() // no readers are left and the content is synced
	}
}

// readAll reads the first size bytes of the file, into buf if it is large enough.
func (s *segment) readAll(buf []byte, size int64) ([]byte, error) {
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if n, err := s.file.ReadAt(buf, 0); err != nil && (!errors.Is(err, io.EOF) || int64(n) < size) {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(s.path), err)
	}
	return buf, nil
}

// resync returns the offset of the first record header at or after off, or -1.
func resync(data []byte, seed uint32, off int64) int64 {
	var magic [4]byte
	binary.LittleEndian.PutUint32(magic[:], recordMagic)
	for off < int64(len(data)) {
		i := bytes.Index(data[off:], magic[:])
		if i < 0 {
			return -1
		}
		off += int64(i)
		if _, _, err := parseRecord(data[off:], seed, off); !errors.Is(err, errHeader) {
			return off
		}
		off++
	}
	return -1
}

// asNoSpace wraps all errors that mean a full disk or an exceeded quota with [ErrNoSpace].
func asNoSpace(err error) error {
	if errors.Is(err, io.ErrShortWrite) || slices.ContainsFunc(diskFull, func(full error) bool { return errors.Is(err, full) }) {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return err
}

// makeDir creates a folder and its missing parents and makes their names durable.
func makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}
