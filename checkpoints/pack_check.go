package checkpoints

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxTreeBytes bounds objects that git holds in memory as a whole: commits, trees and tags.
const maxTreeBytes = 32 << 20

// The types of objects in a pack that matter here.
const (
	packBlob     = 3
	packOfsDelta = 6
	packRefDelta = 7
)

// packFilter passes a pack on to git, object by object, after it has looked at the sizes: git takes the
// memory that a pack asks for, and a small pack can ask for very much.
type packFilter struct {
	in  *bufio.Reader
	out io.Writer
	// held is what was read and is not passed on yet.
	held  bytes.Buffer
	limit Config
	left  int64 // bytes that objects may still have
	zlib  io.ReadCloser
}

const (
	// heldBytes is the size from which on checked data are passed on.
	heldBytes = 64 << 10
	// maxHeldBytes bounds what the decompressor reads before it returns something. Git's own packs need less.
	maxHeldBytes = 4 * heldBytes
)

var errHeld = errors.New("the pack has compressed data without content")

func newPackFilter(in *bufio.Reader, out io.Writer, limit Config) *packFilter {
	return &packFilter{in: in, out: out, limit: limit, left: limit.MaxBytes}
}

// Read implements [io.Reader] for the decompressor.
func (p *packFilter) Read(b []byte) (int, error) {
	if p.held.Len() > maxHeldBytes {
		return 0, errHeld
	}
	n, err := p.in.Read(b)
	p.held.Write(b[:n])
	return n, err //nolint:wrapcheck // run adds what failed
}

// ReadByte implements [io.ByteReader]: with it the decompressor reads no byte too many.
func (p *packFilter) ReadByte() (byte, error) {
	if p.held.Len() > maxHeldBytes {
		return 0, errHeld
	}
	b, err := p.in.ReadByte()
	if err == nil {
		p.held.WriteByte(b)
	}
	return b, err //nolint:wrapcheck // as above
}

func (p *packFilter) flushHeld() error {
	_, err := p.held.WriteTo(p.out)
	return err //nolint:wrapcheck // as above
}

// filter passes the whole pack on. It is [ErrTooLarge] or [ErrTransfer] if the pack is refused.
func (p *packFilter) filter() error {
	var head [12]byte
	if _, err := io.ReadFull(p, head[:]); err != nil || string(head[:4]) != "PACK" {
		return fmt.Errorf("%w: there is no pack", ErrTransfer)
	}
	for range binary.BigEndian.Uint32(head[8:]) {
		if err := p.filterObject(); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, io.LimitReader(p, 64)); err != nil { // the checksum
		return fmt.Errorf("%w: %w", ErrTransfer, err)
	}
	return p.flushHeld()
}

func (p *packFilter) filterObject() error {
	kind, size, err := p.header()
	if err != nil {
		return err
	}
	if err := p.checkSize(kind, size); err != nil {
		return err
	}
	if err := p.openObject(); err != nil {
		return err
	}
	content := bufio.NewReader(p.zlib)
	if kind == packOfsDelta || kind == packRefDelta {
		// A delta begins with the sizes of what it changes and of what it makes.
		rest := int64(0)
		for i := range 2 {
			n, err := binary.ReadUvarint(content)
			if err != nil {
				return fmt.Errorf("%w: a delta cannot be read", ErrTransfer)
			}
			if rest += int64(uvarintLen(n)); i == 1 {
				if n > uint64(p.limit.FileBytes) || p.reserveBytes(int64(n)) != nil { //nolint:gosec // the limit is positive
					return fmt.Errorf("%w: a file of imported checkpoints", ErrTooLarge)
				}
			}
		}
		size -= rest
	}
	if err := p.flushHeld(); err != nil {
		return err
	}
	return p.copyRest(content, size)
}

// copyRest reads the rest of an object, which must have exactly the size that was announced.
func (p *packFilter) copyRest(content io.Reader, size int64) error {
	for size > 0 {
		n, err := io.CopyN(io.Discard, content, min(size, heldBytes))
		size -= n
		if err != nil {
			return fmt.Errorf("%w: an object is cut", ErrTransfer)
		}
		if p.held.Len() >= heldBytes {
			if err := p.flushHeld(); err != nil {
				return err
			}
		}
	}
	if n, err := io.CopyN(io.Discard, content, 1); n > 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: an object is longer than it says", ErrTransfer)
	}
	return nil
}

// header reads what is before the data of an object.
func (p *packFilter) header() (kind byte, size int64, err error) {
	b, err := p.ReadByte()
	kind, size = b>>4&7, int64(b&15)
	for shift := 4; err == nil && b&0x80 != 0; shift += 7 {
		if shift > 40 {
			return 0, 0, fmt.Errorf("%w: an object of imported checkpoints", ErrTooLarge)
		}
		b, err = p.ReadByte()
		size |= int64(b&0x7f) << shift
	}
	switch {
	case err != nil:
	case kind == packRefDelta:
		_, err = io.CopyN(io.Discard, p, 20)
	case kind == packOfsDelta:
		for b = 0x80; err == nil && b&0x80 != 0; {
			b, err = p.ReadByte()
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%w: the pack is cut: %w", ErrTransfer, err)
	}
	return kind, size, nil
}

func (p *packFilter) checkSize(kind byte, size int64) error {
	limit := p.limit.FileBytes
	if kind != packBlob && kind != packOfsDelta && kind != packRefDelta {
		limit = min(limit, maxTreeBytes)
	}
	if size > limit || p.reserveBytes(size) != nil {
		return fmt.Errorf("%w: a file of imported checkpoints", ErrTooLarge)
	}
	return nil
}

func (p *packFilter) reserveBytes(size int64) error {
	if p.left -= size; p.left < 0 {
		return ErrTooLarge
	}
	return nil
}

// openObject begins to decompress an object.
func (p *packFilter) openObject() (err error) {
	if reset, ok := p.zlib.(zlib.Resetter); ok {
		err = reset.Reset(p, nil)
	} else {
		p.zlib, err = zlib.NewReader(p)
	}
	if err != nil {
		return fmt.Errorf("%w: an object cannot be read: %w", ErrTransfer, err)
	}
	return nil
}

// uvarintLen is the number of bytes that a number has in a delta.
func uvarintLen(n uint64) int { return len(binary.AppendUvarint(nil, n)) }
