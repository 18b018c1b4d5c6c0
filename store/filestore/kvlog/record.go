package kvlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"time"
)

// A record is a header, the name of a bucket and a body:
//
//	 0  magic    4 bytes, to find the next record after unreadable bytes
//	 4  kind     1
//	 5  name     1, its length
//	 6  zero     2
//	 8  body     4, its length
//	12  bodySum  4, CRC-32C of the body
//	16  version  8, counts the records of the bucket
//	24  durable  8, the point up to which the log was on disk
//	32  sum      4, CRC-32C of the store's id, the segment, the offset, the
//	             bytes above and the name
//
// The header sum covers the location of the record and a random id, so bytes that merely
// look like a record are not accepted: neither user data inside a value nor a copy of a
// record from another place. The sum covers the name, so a record with a damaged body can
// still be attributed to its bucket.
const (
	headerBytes   = 36
	recordMagic   = 0xedb10c5e
	maxBodyBytes  = 1 << 30
	maxNameBytes  = 255
	entryOverhead = 12 // an op, two lengths, and a share of the header
)

type kind uint8

const (
	kindBatch kind = iota + 1 // changes of a bucket's keys
	kindDrop                  // the bucket is dropped; the body is the time
	kindMove                  // values copied by compaction; body as kindBatch
	kindIndex                 // the bucket's whole index, evicted from memory
	kindFloor                 // segments before this one were deleted
	kindMark                  // no change; written at Close for its durable point
)

const (
	opPut    = 1
	opDelete = 2
	opRange  = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// point is a position in the log: the segment in the upper and the offset in the lower 32
// bits, so that points compare as numbers.
type point uint64

func at(seg uint32, off int64) point { return point(uint64(seg)<<32 | uint64(off)) } //nolint:gosec // offsets are below 4 GiB

func (p point) seg() uint32 { return uint32(p >> 32) }

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

// header is the decoded header of a record.
type header struct {
	kind    kind
	name    string
	body    int
	bodySum uint32
	version uint64
	durable point
}

// size is the length of the whole record.
func (h header) size() int64 { return int64(headerBytes + len(h.name) + h.body) }

// seed returns the initial value of the header sums of one segment.
func seed(id [16]byte, seg uint32) uint32 {
	return crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, binary.LittleEndian.AppendUint32(nil, seg))
}

// headerSum computes the sum of the header at off and the name that follows it.
func headerSum(seed uint32, off int64, head, name []byte) uint32 {
	sum := ^seed
	for range 8 { // crc32.Update would need off as a byte slice, an allocation
		sum = castagnoli[byte(sum)^byte(off)] ^ sum>>8 //nolint:gosec // a byte at a time
		off >>= 8
	}
	return crc32.Update(crc32.Update(^sum, castagnoli, head[:32]), castagnoli, name)
}

// appendRecord appends to dst a record that will lie at off.
func appendRecord(dst []byte, seed uint32, off int64, h header, body []byte) []byte {
	start := len(dst)
	dst = binary.LittleEndian.AppendUint32(dst, recordMagic)
	dst = append(dst, byte(h.kind), byte(len(h.name)), 0, 0)       //nolint:gosec // checked when the batch was made
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body))) //nolint:gosec // checked when the batch was made
	dst = binary.LittleEndian.AppendUint32(dst, h.bodySum)
	dst = binary.LittleEndian.AppendUint64(dst, h.version)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.durable))
	dst = append(dst, 0, 0, 0, 0) // for the sum
	dst = append(dst, h.name...)
	head, name := dst[start:start+headerBytes], dst[start+headerBytes:]
	binary.LittleEndian.PutUint32(head[32:], headerSum(seed, off, head, name))
	return append(dst, body...)
}

// The reasons why bytes are not a record.
var (
	errHeader = errors.New("no record begins here")
	errShort  = errors.New("record is truncated")
	errBody   = errors.New("checksum of the record does not match")
)

// parseRecord decodes the record at the start of data, which lies at off in its segment.
// With errBody and errShort the returned header is valid.
func parseRecord(data []byte, seed uint32, off int64) (header, []byte, error) {
	if len(data) < headerBytes || binary.LittleEndian.Uint32(data) != recordMagic {
		return header{}, nil, errHeader
	}
	h := header{
		kind:    kind(data[4]),
		body:    int(binary.LittleEndian.Uint32(data[8:])),
		bodySum: binary.LittleEndian.Uint32(data[12:]),
		version: binary.LittleEndian.Uint64(data[16:]),
		durable: point(binary.LittleEndian.Uint64(data[24:])),
	}
	name := data[headerBytes:min(len(data), headerBytes+int(data[5]))]
	if len(name) < int(data[5]) || binary.LittleEndian.Uint32(data[32:]) != headerSum(seed, off, data, name) {
		return header{}, nil, errHeader
	}
	h.name = string(name)
	if h.size() > int64(len(data)) {
		return h, nil, errShort
	}
	body := data[headerBytes+len(name) : h.size()]
	if checksum(body) != h.bodySum {
		return h, nil, errBody
	}
	return h, body, nil
}

// mutation is one change of a bucket. Its parts refer to the body of the record.
type mutation struct {
	op  byte
	key part
	arg part // the value of opPut, the end of opRange
}

// part is the offset and the size of bytes in a body.
type part struct{ off, size uint32 }

func (p part) of(body []byte) []byte { return body[p.off : p.off+p.size] }

// loc returns the location of the value of an opPut in a body that begins at base.
func (m mutation) loc(seg uint32, base int64) loc {
	return loc{seg, uint32(base) + m.arg.off, m.arg.size} //nolint:gosec // within a segment
}

// parseBody decodes the mutations of a kindBatch or kindMove body.
func parseBody(body []byte, each func(mutation)) error {
	r := reader{data: body}
	for !r.done() {
		m := mutation{op: r.byte(), key: r.part()}
		switch m.op {
		case opPut, opRange:
			m.arg = r.part()
		case opDelete:
		default:
			r.err = fmt.Errorf("op %d is unknown", m.op)
		}
		if r.err != nil {
			return r.err
		}
		each(m)
	}
	return nil
}

// reader decodes the fields of a body and keeps the first error.
type reader struct {
	data []byte
	pos  int
	err  error
}

func (r *reader) done() bool { return r.err != nil || r.pos >= len(r.data) }

func (r *reader) byte() byte {
	if r.done() {
		r.err = errors.Join(r.err, errShort)
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

func (r *reader) uint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.data[r.pos:])
	if n <= 0 {
		r.err = errShort
		return 0
	}
	r.pos += n
	return v
}

func (r *reader) uint32() uint32 {
	v := r.uint()
	if v > 1<<32-1 {
		r.err = errors.Join(r.err, errors.New("number too large"))
		return 0
	}
	return uint32(v)
}

// part reads a length and skips as many bytes.
func (r *reader) part() part {
	n := r.uint()
	if r.err != nil || n > uint64(len(r.data)-r.pos) { //nolint:gosec // not negative
		r.err = errors.Join(r.err, errShort)
		return part{}
	}
	p := part{uint32(r.pos), uint32(n)} //nolint:gosec // within the body
	r.pos += int(n)                     //nolint:gosec // within the body
	return p
}

// Batch collects changes of one bucket. It must not be modified after Submit until its
// callback ran.
type Batch struct {
	bucket string
	kind   kind
	body   []byte
	muts   []mutation

	dropTime int64 // in Unix nanoseconds, for kindDrop

	// The fields below are set when the batch is written as a record.
	sum     uint32  // CRC-32C of the body
	target  *bucket // the bucket that it changes, if it exists already
	version uint64
}

// NewBatch returns an empty batch for a bucket, which need not exist.
func NewBatch(bucket string) *Batch { return &Batch{bucket: bucket, kind: kindBatch} }

// Drop returns a batch that removes a bucket with all its keys. The record holds the time,
// so that the purge is due on time even if the log is reopened often.
func Drop(bucket string) *Batch {
	now := max(time.Now().UnixNano(), 1)
	return &Batch{bucket: bucket, kind: kindDrop, body: binary.AppendUvarint(nil, uint64(now)), dropTime: now}
}

// BucketRef refers to a bucket in memory, so that the next batch for it needs no lookup.
// The zero BucketRef refers to none.
type BucketRef struct{ at *bucket }

// Reset makes b an empty batch for a bucket and reuses its memory. The callback of its
// previous use must have run. A ref from an earlier batch for the same bucket saves the
// lookup.
func (b *Batch) Reset(bucket string, place BucketRef) {
	*b = Batch{bucket: bucket, kind: kindBatch, body: b.body[:0], muts: b.muts[:0], target: place.at}
}

// BucketRef returns the reference for the next batch of the same bucket. It is valid once
// the callback of this batch ran.
func (b *Batch) BucketRef() BucketRef { return BucketRef{b.target} }

// Size returns the current size of the batch in bytes.
func (b *Batch) Size() int { return len(b.body) }

// Grow reserves capacity for n more bytes.
func (b *Batch) Grow(n int) { b.body = slices.Grow(b.body, n) }

// Put sets the value of a key.
func (b *Batch) Put(key string, value []byte) { copy(b.Reserve([]byte(key), len(value)), value) }

// Reserve sets a key to a value of size bytes. The caller writes the value to the returned
// slice before the next change of the batch.
func (b *Batch) Reserve(key []byte, size int) []byte {
	m := mutation{op: opPut, key: appendOp(b, opPut, key)}
	b.body = binary.AppendUvarint(b.body, uint64(size)) //nolint:gosec // not negative
	n := len(b.body)
	m.arg = part{uint32(n), uint32(size)} //nolint:gosec // see check
	b.muts = append(b.muts, m)
	b.body = slices.Grow(b.body, size)[:n+size]
	return b.body[n : n+size : n+size]
}

// Delete removes a key if it exists.
func (b *Batch) Delete(key string) {
	b.muts = append(b.muts, mutation{op: opDelete, key: appendOp(b, opDelete, key)})
}

// DeleteRange removes the keys k with lo <= k < hi.
func (b *Batch) DeleteRange(lo, hi string) {
	b.muts = append(b.muts, mutation{op: opRange, key: appendOp(b, opRange, lo), arg: appendText(b, hi)})
}

func appendOp[K key](b *Batch, op byte, key K) part {
	b.body = append(b.body, op)
	return appendText(b, key)
}

func appendText[K key](b *Batch, s K) part {
	b.body = binary.AppendUvarint(b.body, uint64(len(s)))
	b.body = append(b.body, s...)
	return part{uint32(len(b.body) - len(s)), uint32(len(s))} //nolint:gosec // see check
}

// check returns the reason why a batch cannot be written.
func (b *Batch) check() error {
	if b.bucket == "" || len(b.bucket) > maxNameBytes {
		return fmt.Errorf("%w: bucket name of %d bytes, want 1 to %d", ErrTooLarge, len(b.bucket), maxNameBytes)
	}
	if len(b.body) > maxBodyBytes {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxBodyBytes)
	}
	return nil
}

// setChecksum computes the body's checksum, which the batch needs before it is written.
func (b *Batch) setChecksum() *Batch {
	b.sum = checksum(b.body)
	return b
}

// size returns the length of the record.
func (b *Batch) size() int64 { return int64(headerBytes + len(b.bucket) + len(b.body)) }

// header returns the header of the record.
func (b *Batch) header(durable point) header {
	return header{kind: b.kind, name: b.bucket, body: len(b.body), bodySum: b.sum, version: b.version, durable: durable}
}

// Bucket returns the name of the bucket that the batch changes.
func (b *Batch) Bucket() string { return b.bucket }
