package filestore

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"

	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// thisProcess is a random id of this process. Stored leases contain it, so that a later
// process ignores the leases of earlier ones.
var thisProcess = rand.Text()

// meta is the state of a session besides its content. It is written with every batch, so it
// always matches the content.
type meta struct {
	user             string
	created, updated time.Time
	working          bool

	owner     wire.ReplicaID // empty when released
	process   string         // of the owner
	until     time.Time      // of a lease of its own, or as of the claim
	epoch     uint64
	prevEpoch uint64 // last epoch of a deleted session with this id

	number  uint64 // number of the newest batch in this epoch
	durable bool   // Receipt.Durable of that batch

	top    wire.Position
	oldest wire.Position
	events uint64 // number of events in the log
	bytes  uint64 // bytes of their frames

	sent uint64 // number of the newest command ever in the inbox

	incarnation uint64 // whose lease keeps the session; 0 for a lease of its own
}

const metaVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// put adds the encoded meta to a batch.
func (m *meta) put(out *kvlog.Batch) { out.Put(metaKey, m.append(nil)) }

func (m *meta) append(b []byte) []byte {
	start := len(b)
	b = append(b, metaVersion)
	b = appendText(b, m.user)
	b = appendText(b, string(m.owner))
	b = appendText(b, m.process)
	b = appendTime(b, m.created)
	b = appendTime(b, m.updated)
	b = appendTime(b, m.until)
	b = appendFlag(b, m.working)
	b = appendFlag(b, m.durable)
	for _, n := range [...]uint64{
		m.epoch, m.prevEpoch, m.number, m.top.Epoch, m.top.Seq, m.oldest.Epoch, m.oldest.Seq, m.events, m.bytes, m.sent,
		m.incarnation,
	} {
		b = binary.AppendUvarint(b, n)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	return binary.AppendVarint(b, t.UnixNano())
}

func appendFlag(b []byte, set bool) []byte {
	if set {
		return append(b, 1)
	}
	return append(b, 0)
}

var errMeta = errors.New("checksum or form does not match")

func decodeMeta(b []byte) (m meta, err error) {
	end := len(b) - 4
	if end < 1 || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) || b[0] != metaVersion {
		return meta{}, errMeta
	}
	b = b[1:end]
	var owner string
	for _, s := range []*string{&m.user, &owner, &m.process} {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) { //nolint:gosec // not negative
			return meta{}, errMeta
		}
		*s, b = string(b[k:k+int(n)]), b[k+int(n):] //nolint:gosec // within b
	}
	m.owner = wire.ReplicaID(owner)
	for _, t := range []*time.Time{&m.created, &m.updated, &m.until} {
		n, k := binary.Varint(b)
		if k <= 0 {
			return meta{}, errMeta
		}
		if b = b[k:]; n != 0 {
			*t = time.Unix(0, n)
		}
	}
	if len(b) < 2 {
		return meta{}, errMeta
	}
	m.working, m.durable, b = b[0] == 1, b[1] == 1, b[2:]
	for _, p := range []*uint64{
		&m.epoch, &m.prevEpoch, &m.number, &m.top.Epoch, &m.top.Seq, &m.oldest.Epoch, &m.oldest.Seq, &m.events, &m.bytes, &m.sent,
	} {
		n, k := binary.Uvarint(b)
		if k <= 0 {
			return meta{}, errMeta
		}
		*p, b = n, b[k:]
	}
	m.incarnation, _ = binary.Uvarint(b) // missing in data of versions without shared leases
	return m, nil
}
