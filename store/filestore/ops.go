package filestore

import (
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

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
func (s *Store) applyOps(out *kvlog.Batch, ops []store.Op) error {
	lists, err := s.changedLists(out.Bucket(), ops)
	if err != nil {
		return err
	}
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case store.OpSet:
			var room [keyBufBytes]byte
			s.putSealed(out, appendTableKey(room[:0], op.Name, op.Field), op.Values[0])
		case store.OpUnset:
			out.Delete(tableKey(op.Name, op.Field))
		case store.OpClear:
			fields := tableKey(op.Name, "")
			out.DeleteRange(fields, prefixEnd(fields))
		default:
			lists[op.Name] = s.applyListOp(out, op, lists[op.Name])
		}
	}
	return nil
}

// changedLists returns the current bounds of the lists that ops change.
func (s *Store) changedLists(bucket string, ops []store.Op) (lists map[string]bounds, err error) {
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
	err = s.withIndex(bucket, func(x *kvlog.Index) {
		for name := range lists {
			lists[name] = listBounds(x, name)
		}
	})
	return lists, err
}

func (s *Store) applyListOp(out *kvlog.Batch, op *store.Op, b bounds) bounds {
	prefix := listRange(op.Name)
	n := uint64(max(op.N, 0))
	var room [keyBufBytes]byte
	switch op.Kind {
	case store.OpPush:
		for _, v := range op.Values {
			s.putSealed(out, appendNumbered(room[:0], prefix, b.next), v)
			b.next++
		}
	case store.OpReplace:
		i := b.first + n
		if op.N < 0 {
			i = b.next - uint64(-op.N)
		}
		if i >= b.first && i < b.next && uint64(max(op.N, -op.N)) <= b.len() { //nolint:gosec // not negative
			s.putSealed(out, appendNumbered(room[:0], prefix, i), op.Values[0])
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
