package store

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Kind is the type of a stored value, so that [Schema.Upgrade] can distinguish them.
type Kind string

// The kinds of stored values.
const (
	KindEntry    Kind = "entry"    // frames of one batch, one per line
	KindField    Kind = "field"    // value in a table; Name is table/field
	KindItem     Kind = "item"     // item of a list; Name is the list
	KindCommand  Kind = "command"  // data of a command
	KindCard     Kind = "card"     // card of a session or replica
	KindDocument Kind = "document" // Name is collection/name
	KindPack     Kind = "pack"     // content of a dormant session in an engine's own form
)

// Schema is the version in which this program writes stored values, and its way of reading
// older versions. Every value is sealed with its version and a checksum, so that an older
// replica refuses a value it cannot interpret and a flipped bit is detected.
type Schema struct {
	// Version is the version that is written, 1 to 255; 0 means 1. See [Schema.SealAs] for
	// values of a newer one.
	Version uint8
	// Upgrade converts a value of an older version into the current one. Nil means that
	// older versions are unreadable. Values are upgraded whenever they are read and stored
	// in the new form when they next change.
	Upgrade func(kind Kind, name string, from uint8, value []byte) ([]byte, error)
}

// newestSchema is the newest version that the present programs read. Values are written in
// version 1, except those that an older program would misunderstand:
//
//   - 2: windows have pieces, which follow their contents.
//
// Version 3 is taken: redisstore seals its references to objects of cold sessions with it. The
// next one is 4.
const newestSchema = 2

// sealBytes is the size that sealing adds: the version (1 byte) and the CRC-32C of version
// and value (4 bytes).
const sealBytes = 5

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal appends value to dst in its stored form.
func (s Schema) Seal(dst, value []byte) []byte { return s.SealAs(dst, value, 0) }

// SealAs is [Schema.Seal] for a value that only programs read which know a version: all
// others fail with [ErrNewerSchema].
func (s Schema) SealAs(dst, value []byte, version uint8) []byte {
	dst = append(dst, max(s.Version, version, 1))
	sum := crc32.Update(crc32.Checksum(dst[len(dst)-1:], castagnoli), castagnoli, value)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return append(dst, value...)
}

// Open verifies a sealed value and returns its content in the current version. The result
// may share memory with sealed. It fails with [*CorruptError] or [ErrNewerSchema].
func (s Schema) Open(kind Kind, name string, sealed []byte) ([]byte, error) {
	where := string(kind) + " " + name
	if len(sealed) < sealBytes {
		return nil, &CorruptError{Where: where, Reason: fmt.Sprintf("%d bytes are too few", len(sealed))}
	}
	version, value := sealed[0], sealed[sealBytes:]
	sum := crc32.Update(crc32.Update(0, castagnoli, sealed[:1]), castagnoli, value)
	if sum != binary.LittleEndian.Uint32(sealed[1:]) {
		return nil, &CorruptError{Where: where, Reason: "checksum does not match"}
	}
	current := max(s.Version, 1)
	switch {
	case version > max(current, newestSchema):
		return nil, fmt.Errorf("%s: %w: version %d, this program knows %d", where, ErrNewerSchema, version, max(current, newestSchema))
	case version >= current:
		return value, nil
	case s.Upgrade == nil:
		return nil, &CorruptError{Where: where, Reason: fmt.Sprintf("version %d has no upgrade to %d", version, current)}
	}
	value, err := s.Upgrade(kind, name, version, value)
	if err != nil {
		return nil, &CorruptError{Where: where, Reason: fmt.Sprintf("upgrade from version %d: %v", version, err)}
	}
	return value, nil
}
