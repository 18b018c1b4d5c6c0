package contextpool

import (
	"fmt"
	"hash/fnv"

	"github.com/everdesk/everdesk/store"
)

// chunkOf is one value.
func chunkOf(v []byte) chunk {
	h := fnv.New64a()
	_, _ = h.Write(v) // never fails
	return chunk{1, len(v), h.Sum64()}
}

// span is a part of a list.
type span struct{ from, to int }

// found are the parts of a list that chunks are, and those chunks, in their order.
// What is in no chunk was taken away, and a chunk that is nowhere is lost.
func found(chunks []chunk, items [][]byte) (spans []span, known []chunk) {
	upTo := make([]chunk, len(items)+1) // the sum of all before an item
	for i, v := range items {
		upTo[i+1] = upTo[i].and(chunkOf(v))
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

// itemsOf are those in parts of a list.
func itemsOf(spans []span, items [][]byte) (out [][]byte) {
	for _, s := range spans {
		out = append(out, items[s.from:s.to]...)
	}
	return out
}

// Heal is what makes the lists of what moved away from threads those that the pool
// knows, after the store has forgotten something. What it forgot that was moved there
// is lost; what it forgot that was taken away goes. tables are those of the store.
func (p *Pool) Heal(tables map[string]map[string][]byte) ([]store.Op, error) {
	var ops []store.Op
	for _, agent := range sortedKeys(tables[threadTable]) {
		if p.threads[agent] == nil {
			ops = append(ops, store.Drop((&thread{agent: agent}).cold()))
		}
	}
	for _, agent := range sortedKeys(p.threads) {
		h := p.threads[agent]
		if len(h.Cold) == 0 {
			ops = append(ops, store.Drop(h.cold()))
			continue
		}
		items, err := p.step.Cold(h.cold())
		if err != nil {
			return nil, fmt.Errorf("what was moved away of %s: %w", agent, err)
		}
		var spans []span
		spans, h.Cold = found(h.Cold, items)
		ops = append(ops, healed(h.cold(), spans, items)...)
	}
	return ops, nil
}

// healed leaves the given parts of a list. If they are next to each other nothing
// has to be written again.
func healed(list string, spans []span, items [][]byte) []store.Op {
	if len(spans) == 0 {
		return []store.Op{store.Drop(list)}
	}
	kept := itemsOf(spans, items)
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
