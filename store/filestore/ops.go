package filestore

import (
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
)

// bounds are the numbers of the first item of a list and of the next one to
// come.
type bounds struct{ first, next uint64 }

func (b bounds) len() uint64 { return b.next - b.first }

// listBounds reads the bounds of a list from its first and last key.
func listBounds(x *kvlog.Index, list string) (b bounds) {
	prefix := listRange(list)
	for e := range x.Ascend(prefix, after(prefix)) {
		b.first, _ = number(prefix, e.Key)
		break
	}
	for e := range x.Descend(prefix, after(prefix)) {
		last, _ := number(prefix, e.Key)
		b.next = last + 1
		break
	}
	return b
}

// keyRoom is enough memory for most keys.
const keyRoom = 96

// applyOps adds the changes of tables and lists to a batch. Ops see what those
// before them did, so the bounds of lists are followed through the batch.
func (s *Store) applyOps(out *kvlog.Batch, ops []store.Op) error {
	lists, err := s.lists(out.Bucket(), ops)
	if err != nil {
		return err
	}
	for i := range ops {
		op := &ops[i]
		switch op.Kind {
		case store.OpSet:
			var room [keyRoom]byte
			s.putSealed(out, appendTableKey(room[:0], op.Name, op.Field), op.Values[0])
		case store.OpUnset:
			out.Delete(tableKey(op.Name, op.Field))
		case store.OpClear:
			fields := tableKey(op.Name, "")
			out.DeleteRange(fields, after(fields))
		default:
			lists[op.Name] = s.applyListOp(out, op, lists[op.Name])
		}
	}
	return nil
}

// lists returns the bounds of the lists that ops change.
func (s *Store) lists(bucket string, ops []store.Op) (lists map[string]bounds, err error) {
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
	err = s.look(bucket, func(x *kvlog.Index) {
		for name := range lists {
			lists[name] = listBounds(x, name)
		}
	})
	return lists, err
}

func (s *Store) applyListOp(out *kvlog.Batch, op *store.Op, b bounds) bounds {
	prefix := listRange(op.Name)
	n := uint64(max(op.N, 0))
	var room [keyRoom]byte
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
			out.DeleteRange(numbered(prefix, b.next, ""), after(prefix))
		}
	case store.OpDrop:
		b.first = b.next
		out.DeleteRange(prefix, after(prefix))
	}
	return b
}
