package filestore

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// lastEpoch returns the last epoch of a deleted session of that id, or 0.
func (s *Store) lastEpoch(id wire.SessionID) (uint64, error) {
	sel, err := s.log.Select(graveyardBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
		if e, ok := x.Get(string(id)); ok {
			keep(e)
		}
	})
	if err != nil {
		return 0, asStore(err)
	}
	defer sel.Close()
	values, err := sel.Values(0, len(sel.Entries()))
	if err != nil {
		return 0, asStore(err)
	}
	if len(values) == 0 {
		return 0, nil
	}
	return decodeGrave(values[0]), nil
}

func encodeGrave(epoch uint64) []byte {
	b := binary.BigEndian.AppendUint64(nil, epoch)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decodeGrave returns 0 for what cannot be read: the clock alone will do then.
func decodeGrave(b []byte) uint64 {
	if len(b) != 12 || crc32.Checksum(b[:8], castagnoli) != binary.BigEndian.Uint32(b[8:]) {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

// buryOld forgets epochs that the clock has left far behind. They were kept for
// claims in quick succession, which put epochs ahead of the clock, and for
// clocks that are set back a little.
func (s *Store) buryOld() error {
	old := store.NextEpoch(0, time.Now().Add(-7*24*time.Hour))
	sel, err := s.log.Select(graveyardBucket, func(x *kvlog.Index, keep func(kvlog.Entry)) {
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
	b, n := kvlog.NewBatch(graveyardBucket), 0
	for i, e := range sel.Entries() {
		if decodeGrave(values[i]) < old {
			b.Delete(e.Key)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return s.log.Apply(b)
}
