package contextpool

import (
	"fmt"
	"hash/fnv"

	"github.com/everdesk/everdesk/store"
)

// chunkOf returns the chunk of one value.
func chunkOf(v []byte) chunk {
	h := fnv.New64a()
	_, _ = h.Write(v) // Write of a hash never fails
	return chunk{1, len(v), h.Sum64()}
}

// span is the range [from, to) of a list.
type span struct{ from, to int }

// matchChunks finds chunks in a list, in order, and returns their ranges and the chunks found.
// Values in no range had been removed from the list; a chunk that is not found is lost.
func matchChunks(chunks []chunk, items [][]byte) (spans []span, known []chunk) {
	upTo := make([]chunk, len(items)+1) // upTo[i] sums the items before i
	for i, v := range items {
		upTo[i+1] = upTo[i].plus(chunkOf(v))
	}
	from := 0
	for _, c := range chunks {
		for at := from; at+c.N <= len(items); at++ {
			a, b := upTo[at], upTo[at+c.N]
			if b.Sum-a.Sum == c.Sum && b.Bytes-a.Bytes == c.Bytes {
				spans, known, from = append(spans, span{at, at + c.N}), append(known, c), at+c.N
				break
			}
		}
	}
	return spans, known
}

// spanItems returns the values in the ranges.
func spanItems(spans []span, items [][]byte) (out [][]byte) {
	for _, s := range spans {
		out = append(out, items[s.from:s.to]...)
	}
	return out
}

// repairColdLists implements [Pool.RepairColdLists].
func (s *threadSet) repairColdLists(tables map[string]map[string][]byte) ([]store.Op, error) {
	var ops []store.Op
	for _, agent := range sortedKeys(tables[threadTable]) {
		if s.byAgent[agent] == nil {
			ops = append(ops, store.Drop((&thread{agent: agent}).coldList()))
		}
	}
	for _, agent := range sortedKeys(s.byAgent) {
		h := s.byAgent[agent]
		if len(h.Cold) == 0 {
			ops = append(ops, store.Drop(h.coldList()))
			continue
		}
		items, err := s.state.ReadColdList(h.coldList())
		if err != nil {
			return nil, fmt.Errorf("cold list of %s: %w", agent, err)
		}
		var spans []span
		spans, h.Cold = matchChunks(h.Cold, items)
		ops = append(ops, repairOps(h.coldList(), spans, items)...)
	}
	return ops, nil
}

// repairOps returns the operations that leave only the given ranges of a list. Adjacent ranges
// are kept by trimming, without writing values again.
func repairOps(list string, spans []span, items [][]byte) []store.Op {
	if len(spans) == 0 {
		return []store.Op{store.Drop(list)}
	}
	kept := spanItems(spans, items)
	from, to := spans[0].from, spans[len(spans)-1].to
	if len(kept) < to-from {
		return []store.Op{store.Drop(list), store.Push(list, kept...)}
	}
	var ops []store.Op
	if to < len(items) {
		ops = append(ops, store.KeepFirst(list, to))
	}
	if from > 0 {
		ops = append(ops, store.KeepLast(list, to-from))
	}
	return ops
}
