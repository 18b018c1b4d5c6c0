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

// applyOps adds the changes of tables and lists to a batch. Ops see what those
// before them did, so the bounds of lists are followed through the batch.
func (s *Store) applyOps(out *kvlog.Batch, ops []store.Op) error {
	lists := map[string]bounds{}
	for _, op := range ops {
		if op.Kind >= store.OpPush {
			lists[op.Name] = bounds{}
		}
	}
	if len(lists) > 0 {
		if err := s.look(out.Bucket(), func(x *kvlog.Index) {
			for name := range lists {
				lists[name] = listBounds(x, name)
			}
		}); err != nil {
			return err
		}
	}
	for _, op := range ops {
		switch op.Kind {
		case store.OpSet:
			s.putSealed(out, tableKey(op.Name, op.Field), op.Values[0])
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

func (s *Store) applyListOp(out *kvlog.Batch, op store.Op, b bounds) bounds {
	prefix := listRange(op.Name)
	n := uint64(max(op.N, 0))
	switch op.Kind {
	case store.OpPush:
		for _, v := range op.Values {
			s.putSealed(out, numbered(prefix, b.next, ""), v)
			b.next++
		}
	case store.OpReplace:
		i := b.first + n
		if op.N < 0 {
			i = b.next - uint64(-op.N)
		}
		if i >= b.first && i < b.next && uint64(max(op.N, -op.N)) <= b.len() { //nolint:gosec // not negative
			s.putSealed(out, numbered(prefix, i, ""), op.Values[0])
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
