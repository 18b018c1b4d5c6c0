package filestore

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// tombstones holds the last epochs of deleted sessions.
type tombstones struct{ *folder }

// lastEpoch returns the epoch in the tombstone of a deleted session, or 0 without one.
func (t *tombstones) lastEpoch(id wire.SessionID) (uint64, error) {
	sel, err := t.log.Select(tombstoneBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		if e, ok := x.Get(string(id)); ok {
			keep(e)
		}
	})
	if err != nil {
		return 0, storeError(err)
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return 0, storeError(err)
	}
	if len(values) == 0 {
		return 0, nil
	}
	return decodeTombstone(values[0]), nil
}

func encodeTombstone(epoch uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, epoch)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeTombstone returns 0 for an unreadable tombstone: the clock alone determines the
// next epoch then.
func decodeTombstone(b []byte) uint64 {
	if len(b) != 12 || crc32.Checksum(b[:8], castagnoli) != binary.BigEndian.Uint32(b[8:]) {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// deleteOld deletes tombstones whose epoch is more than 7 days behind the clock.
// Tombstones serve claims in quick succession, which put epochs ahead of the clock, and
// clocks that are set back a little.
func (t *tombstones) deleteOld() error {
	old := store.NextEpoch(0, time.Now().Add(-7*24*time.Hour))
	sel, err := t.log.Select(tombstoneBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		for e := range x.Ascend("", "") {
			keep(e)
		}
	})
	if err != nil {
		return err
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return err
	}
	b, n := kvlog.NewBatch(tombstoneBucket), 0
	for i, e := range sel.Entries() {
		if decodeTombstone(values[i]) < old {
			b.Delete(e.Key)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return t.log.Apply(b)
}
