package filestore

import (
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// batchWriter translates a batch of the store's contract into changes of the session's bucket in
// the kvlog.
type batchWriter struct{ *folder }

// build adds the changes of a batch to p.changes, and sets p.meta to the meta data that the
// session has after the batch.
func (w *batchWriter) build(p *pendingCommit, b *store.Batch) error {
	out, m := &p.changes, &p.meta
	out.Grow(batchBytes(b))
	m.number, m.durable = b.Number, b.Durable && w.cfg.Sync != SyncOff
	m.updated = time.Now()
	if b.Working != nil {
		m.working = *b.Working
	}
	if b.User != "" {
		m.user = b.User
	}
	if len(b.Events) > 0 {
		if err := w.appendEntry(out, m, b.Prev.Epoch, b.Prev.Seq+1, b.Events); err != nil {
			return err
		}
	}
	if err := w.applyOps(out, b.Ops); err != nil {
		return err
	}
	if err := w.consumeCommands(out, b.Consumed); err != nil {
		return err
	}
	if b.Card != nil {
		w.putSealed(out, []byte(cardKey), b.Card, 0)
	}
	p.buf = m.append(p.buf[:0])
	out.Put(metaKey, p.buf)
	return nil
}

// batchBytes estimates the size of a batch in the log.
func batchBytes(b *store.Batch) int {
	n := 512 + len(b.Card) + 64*len(b.Ops)
	for _, f := range b.Events {
		n += len(f) + 1
	}
	for i := range b.Ops {
		for _, v := range b.Ops[i].Values {
			n += len(v) + 64
		}
	}
	return n
}

// appendEntry appends an entry with the frames to the session's log and trims the log. It
// copies the frames once, into the reserved space of the record.
func (w *batchWriter) appendEntry(out *kvlog.Batch, m *meta, epoch, first uint64, frames [][]byte) error {
	entry := span{epoch: epoch, first: first, count: uint32(len(frames))} //nolint:gosec // limited by CheckBatch
	n := len(frames) - 1
	for _, f := range frames {
		n += len(f)
	}
	sealed := out.Reserve(entry.appendKey(make([]byte, 0, spanKeyBytes)), sealBytes+n)
	lines := sealed[sealBytes:sealBytes]
	for i, f := range frames {
		if i > 0 {
			lines = append(lines, '\n')
		}
		lines = append(lines, f...)
	}
	w.cfg.Schema.Seal(sealed[:0], lines)
	if m.events == 0 {
		m.oldest = entry.oldest()
	}
	m.top = entry.newest()
	m.events += uint64(len(frames))
	m.bytes += frameBytes(entry, n)
	return w.trim(out, m, entry)
}

// frameBytes returns the bytes of the frames in an entry, given the length of its unsealed
// value, which has a line break between two frames.
func frameBytes(s span, value int) uint64 { return uint64(value) + 1 - uint64(s.count) } //nolint:gosec // a line break between each two

// sealBytes is the size that sealing adds to a value.
var sealBytes = len(store.Schema{}.Seal(nil, nil))

// trim drops the oldest entries while the log is over its bounds, but never the newest one.
func (w *batchWriter) trim(out *kvlog.Batch, m *meta, newest span) error {
	limits := w.cfg.Limits
	over := func() bool { return m.events > uint64(limits.LogEvents) || m.bytes > uint64(limits.LogBytes) } //nolint:gosec // positive
	if !over() {
		return nil
	}
	err := w.withIndex(out.Bucket(), func(x *kvlog.Index) {
		for old := range x.Ascend(entryPrefix, prefixEnd(entryPrefix)) {
			entry := parseSpan(old.Key)
			m.oldest = entry.oldest()
			if !over() {
				return
			}
			m.events -= uint64(entry.count)
			m.bytes -= frameBytes(entry, old.Size()-sealBytes)
		}
		m.oldest = newest.oldest()
	})
	if err != nil {
		return err
	}
	out.Put(trimmedKey, nil)
	out.DeleteRange(entryPrefix, span{epoch: m.oldest.Epoch, first: m.oldest.Seq}.key())
	return nil
}

// consumeCommands removes commands from the inbox in a batch, and records their ids, at
// most as many as the inbox may hold commands.
func (w *batchWriter) consumeCommands(out *kvlog.Batch, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return w.withIndex(out.Bucket(), func(x *kvlog.Index) {
		last := uint64(0) // number of the newest recorded id
		for entry := range x.Descend(consumedPrefix, prefixEnd(consumedPrefix)) {
			last, _ = parseNumbered(consumedPrefix, entry.Key)
			break
		}
		inbox := map[string]string{} // key by command id
		for entry := range x.Ascend(inboxPrefix, prefixEnd(inboxPrefix)) {
			_, id := parseNumbered(inboxPrefix, entry.Key)
			inbox[id] = entry.Key
		}
		for _, id := range ids {
			key, ok := inbox[id]
			if !ok {
				continue
			}
			delete(inbox, id)
			last++
			out.Delete(key)
			out.Put(numbered(consumedPrefix, last, id), nil)
		}
		if keep := uint64(w.cfg.Limits.InboxCommands); last > keep { //nolint:gosec // positive
			out.DeleteRange(consumedPrefix, numbered(consumedPrefix, last-keep+1, ""))
		}
	})
}

// bounds are the number of the first item of a list and the number of the next item to
// append.
type bounds struct{ first, next uint64 }

func (b bounds) len() uint64 { return b.next - b.first }

// listBounds reads the bounds of a list from its first and last key.
func listBounds(x *kvlog.Index, list string) (b bounds) {
	prefix := listRange(list)
	for e := range x.Ascend(prefix, prefixEnd(prefix)) {
		b.first, _ = parseNumbered(prefix, e.Key)
		break
	}
	for e := range x.Descend(prefix, prefixEnd(prefix)) {
		last, _ := parseNumbered(prefix, e.Key)
		b.next = last + 1
		break
	}
	return b
}

// keyBufBytes is the size of stack buffers for keys; longer keys are allocated.
const keyBufBytes = 96

// applyOps adds the changes of tables and lists to a batch. Each op sees the effect of the
// previous ones, so the bounds of lists are tracked through the batch.
func (w *batchWriter) applyOps(out *kvlog.Batch, ops []store.Op) error {
	lists, err := w.changedLists(out.Bucket(), ops)
	if err != nil {
		return err
	}
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case store.OpSet:
			var buf [keyBufBytes]byte
			w.putSealed(out, appendTableKey(buf[:0], op.Name, op.Field), op.Values[0], op.Schema)
		case store.OpUnset:
			out.Delete(tableKey(op.Name, op.Field))
		case store.OpClear:
			fields := tableKey(op.Name, "")
			out.DeleteRange(fields, prefixEnd(fields))
		default:
			lists[op.Name] = w.applyListOp(out, op, lists[op.Name])
		}
	}
	return nil
}

// changedLists returns the current bounds of the lists that ops change.
func (w *batchWriter) changedLists(bucket string, ops []store.Op) (lists map[string]bounds, err error) {
	for i := range ops {
		if ops[i].Kind < store.OpPush {
			continue
		}
		if lists == nil {
			lists = map[string]bounds{}
		}
		lists[ops[i].Name] = bounds{}
	}
	if lists == nil {
		return nil, nil
	}
	err = w.withIndex(bucket, func(x *kvlog.Index) {
		for name := range lists {
			lists[name] = listBounds(x, name)
		}
	})
	return lists, err
}

// applyListOp adds the changes of one list op to a batch. It returns the bounds of the list after
// the op. An OpReplace of an item that the list does not have changes nothing.
func (w *batchWriter) applyListOp(out *kvlog.Batch, op *store.Op, b bounds) bounds {
	prefix := listRange(op.Name)
	n := uint64(max(op.N, 0))
	var buf [keyBufBytes]byte
	switch op.Kind {
	case store.OpPush:
		for _, v := range op.Values {
			w.putSealed(out, appendNumbered(buf[:0], prefix, b.next), v, op.Schema)
			b.next++
		}
	case store.OpReplace:
		i := b.first + n
		if op.N < 0 {
			i = b.next - uint64(-op.N)
		}
		if i >= b.first && i < b.next && uint64(max(op.N, -op.N)) <= b.len() { //nolint:gosec // not negative
			w.putSealed(out, appendNumbered(buf[:0], prefix, i), op.Values[0], op.Schema)
		}
	case store.OpKeepLast:
		if n < b.len() {
			b.first = b.next - n
			out.DeleteRange(prefix, numbered(prefix, b.first, ""))
		}
	case store.OpKeepFirst:
		if n < b.len() {
			b.next = b.first + n
			out.DeleteRange(numbered(prefix, b.next, ""), prefixEnd(prefix))
		}
	case store.OpDrop:
		b.first = b.next
		out.DeleteRange(prefix, prefixEnd(prefix))
	}
	return b
}
