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
//	 0  magic    4 bytes, found again after unreadable bytes
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
// The sum covers where the record lies and a random id, so nothing that merely
// looks like a record is taken for one: no bytes of a user inside a value, no
// copy of a record from elsewhere. The name is under the sum of the header, so
// a record with a damaged body still says whose it is.
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
	kindDrop                  // the bucket goes; the body says when
	kindMove                  // values copied by compaction; body as kindBatch
	kindFold                  // the bucket's whole index
	kindFloor                 // segments before this one were deleted
	kindMark                  // nothing; written at Close for its durable point
)

const (
	opPut    = 1
	opDelete = 2
	opRange  = 3
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// point is a place in the log: a segment in the upper and an offset in the
// lower 32 bits, so that points compare as numbers.
type point uint64

func at(seg uint32, off int64) point { return point(uint64(seg)<<32 | uint64(off)) } //nolint:gosec // offsets are below 4 GiB

func (p point) seg() uint32 { return uint32(p >> 32) }

func checksum(body []byte) uint32 { return crc32.Checksum(body, castagnoli) }

// header is the decoded head of a record.
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

// seed is the start of the header sums of one segment.
func seed(id [16]byte, seg uint32) uint32 {
	return crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, binary.LittleEndian.AppendUint32(nil, seg))
}

// headerSum is the sum of a header that lies at off, with the name that follows
// it.
func headerSum(seed uint32, off int64, head, name []byte) uint32 {
	sum := ^seed
	for range 8 { // as crc32.Update does it, which would need memory for the bytes
		sum = castagnoli[byte(sum)^byte(off)] ^ sum>>8 //nolint:gosec // a byte at a time
		off >>= 8
	}
	return crc32.Update(crc32.Update(^sum, castagnoli, head[:32]), castagnoli, name)
}

// appendRecord adds a record to dst as it must be at off.
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

// What is wrong with bytes that should be a record.
var (
	errHeader = errors.New("no record begins here")
	errShort  = errors.New("bytes are missing")
	errBody   = errors.New("checksum of the record does not match")
)

// parseRecord decodes the record at the start of data, which lies at off. With
// errBody and errShort the header is good.
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

// mutation is one change of a bucket, as the body of its record has it.
type mutation struct {
	op  byte
	key part
	arg part // the value of opPut, the end of opRange
}

// part is where something lies in a body.
type part struct{ off, size uint32 }

func (p part) of(body []byte) []byte { return body[p.off : p.off+p.size] }

// loc is where the value of opPut lies, if the body begins at base.
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

// reader decodes the parts of a body and remembers the first error.
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

// part reads a length and steps over as many bytes.
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

// Batch collects changes of one bucket. It must not be changed after Submit.
type Batch struct {
	bucket string
	kind   kind
	body   []byte
	muts   []mutation

	dropped int64 // when, in Unix nanoseconds, for kindDrop

	// What follows is for writing it as a record.
	sum     uint32  // of the body
	at      *bucket // that it changes, when there is one already
	version uint64
}

// NewBatch begins a batch of changes to a bucket, which need not exist.
func NewBatch(bucket string) *Batch { return &Batch{bucket: bucket, kind: kindBatch} }

// Drop returns a batch that removes a bucket with everything in it. It says
// when that was, so that a log that is opened often still knows when to purge.
func Drop(bucket string) *Batch {
	now := max(time.Now().UnixNano(), 1)
	return &Batch{bucket: bucket, kind: kindDrop, body: binary.AppendUvarint(nil, uint64(now)), dropped: now}
}

// Place is where a batch found its bucket. The zero Place is nowhere.
type Place struct{ at *bucket }

// Reset makes an empty batch for a bucket of one that the log has called back
// about. Its memory is used again. The bucket is not looked for if the place is
// that of an earlier batch for it.
func (b *Batch) Reset(bucket string, place Place) {
	*b = Batch{bucket: bucket, kind: kindBatch, body: b.body[:0], muts: b.muts[:0], at: place.at}
}

// Place is for the next batch for the same bucket, once the log has called back
// about this one.
func (b *Batch) Place() Place { return Place{b.at} }

// Size is how long the batch is by now.
func (b *Batch) Size() int { return len(b.body) }

// Grow makes room for changes of about so many bytes, as append does slowly.
func (b *Batch) Grow(n int) { b.body = slices.Grow(b.body, n) }

// Put gives a key a value.
func (b *Batch) Put(key string, value []byte) { copy(b.Room([]byte(key), len(value)), value) }

// Room gives a key a value of so many bytes, which the caller writes to what it
// returns before the next change.
func (b *Batch) Room(key []byte, size int) []byte {
	m := mutation{op: opPut, key: op(b, opPut, key)}
	b.body = binary.AppendUvarint(b.body, uint64(size)) //nolint:gosec // not negative
	n := len(b.body)
	m.arg = part{uint32(n), uint32(size)} //nolint:gosec // see check
	b.muts = append(b.muts, m)
	b.body = slices.Grow(b.body, size)[:n+size]
	return b.body[n : n+size : n+size]
}

// Delete removes a key, if it is there.
func (b *Batch) Delete(key string) {
	b.muts = append(b.muts, mutation{op: opDelete, key: op(b, opDelete, key)})
}

// DeleteRange removes the keys from lo to before hi.
func (b *Batch) DeleteRange(lo, hi string) {
	b.muts = append(b.muts, mutation{op: opRange, key: op(b, opRange, lo), arg: text(b, hi)})
}

func op[K key](b *Batch, op byte, key K) part {
	b.body = append(b.body, op)
	return text(b, key)
}

func text[K key](b *Batch, s K) part {
	b.body = binary.AppendUvarint(b.body, uint64(len(s)))
	b.body = append(b.body, s...)
	return part{uint32(len(b.body) - len(s)), uint32(len(s))} //nolint:gosec // see check
}

// check reports why a batch cannot be written.
func (b *Batch) check() error {
	if b.bucket == "" || len(b.bucket) > maxNameBytes {
		return fmt.Errorf("%w: bucket name of %d bytes, want 1 to %d", ErrTooLarge, len(b.bucket), maxNameBytes)
	}
	if len(b.body) > maxBodyBytes {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, maxBodyBytes)
	}
	return nil
}

// summed makes the batch one that can be written.
func (b *Batch) summed() *Batch {
	b.sum = checksum(b.body)
	return b
}

// size is the length of the batch as a record.
func (b *Batch) size() int64 { return int64(headerBytes + len(b.bucket) + len(b.body)) }

// header is the head of the batch as a record.
func (b *Batch) header(durable point) header {
	return header{kind: b.kind, name: b.bucket, body: len(b.body), bodySum: b.sum, version: b.version, durable: durable}
}

// Bucket is the name of the bucket that the batch changes.
func (b *Batch) Bucket() string { return b.bucket }
