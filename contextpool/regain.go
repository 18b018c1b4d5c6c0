package contextpool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
)

// threadCut is a thread together with its cold list, and the result of a rewind on both.
type regained struct {
	h *thread
	// cold are the messages of the cold list, in the order of the list, and all are the
	// messages of thread and cold list by id. dirty means that the list holds other values
	// besides, or that some are lost.
	away  []history.Message
	dirty bool
	all   []history.Message
	cut   history.RewoundThread
	// coldKept counts the first messages of cold that stay in the cold list.
	still int
}

// loadThreadCut loads a thread with its cold list.
func (p *Pool) whole(h *thread) (*regained, error) {
	g := &regained{h: h, all: h.messages}
	if len(h.Cold) == 0 {
		return g, nil
	}
	items, err := p.step.Cold(h.cold())
	if err != nil {
		return nil, fmt.Errorf("what was moved away of %s: %w", h.agent, err)
	}
	runs, _ := found(h.Cold, items)
	ours := itemsOf(runs, items)
	n, _ := h.coldSize()
	g.dirty = len(ours) != len(items) || len(ours) != n
	if g.away, err = unlist[history.Message](h.cold(), ours); err != nil {
		return nil, err
	}
	g.all = slices.Concat(h.messages, g.away)
	slices.SortStableFunc(g.all, func(a, b history.Message) int { return cmp.Compare(a.ID, b.ID) })
	// If the store lost the move back of some messages, the thread's version counts.
	g.all = slices.CompactFunc(g.all, func(a, b history.Message) bool { return a.ID == b.ID })
	return g, nil
}

// setCut sets the result of the rewind, and returns the approximate amount of data to write for
// it.
func (g *regained) leave(c history.RewoundThread) (w burden) {
	g.cut = c
	hidden := map[uint64]history.Message{}
	for i := range c.Messages {
		hidden[c.Messages[i].ID] = c.Messages[i]
	}
	for _, m := range history.Effective(c.Messages) {
		delete(hidden, m.ID)
	}
	for g.still = 0; g.still < len(g.away); g.still++ {
		if m, ok := hidden[g.away[g.still].ID]; !ok || !alike(&m, &g.away[g.still]) {
			break
		}
	}
	if !c.Changed && !g.dirty {
		return burden{}
	}
	here, same := g.here(), 0
	if g.dirty {
		here = g.cut.Messages // and what stays in the cold list is written again
	} else if g.still == len(g.away) {
		same = sameOf(g.h.messages, here)
	}
	for i := range here[same:] {
		w = burden{w.items + 1, w.bytes + len(encode(&here[same+i]))}
	}
	return w
}

// hotMessages returns the remaining messages that are in the thread itself, not in its cold
// list.
func (g *regained) here() []history.Message {
	away := make(map[uint64]bool, g.still)
	for i := range g.away[:g.still] {
		away[g.away[i].ID] = true
	}
	here := make([]history.Message, 0, len(g.cut.Messages))
	for _, m := range g.cut.Messages {
		if !away[m.ID] {
			here = append(here, m)
		}
	}
	return here
}

// sameMessage reports whether a message and its visibility are unchanged.
func alike(a, b *history.Message) bool {
	return a.ID == b.ID && a.CondenseParent == b.CondenseParent && a.TruncationParent == b.TruncationParent
}

// commonPrefix counts the equal messages at the beginning of a and b.
func sameOf(a, b []history.Message) (n int) {
	for n < len(a) && n < len(b) && alike(&a[n], &b[n]) {
		n++
	}
	return n
}

// applyThreadCut makes a thread what the rewind leaves of it. Messages that are visible again
// move back from the cold list.
func (p *Pool) regain(g *regained) {
	h, here := g.h, g.here()
	if g.still < len(g.away) || g.dirty {
		kept := make([][]byte, g.still)
		for i := range kept {
			kept[i] = encode(&g.away[i])
		}
		h.Cold = chunksOf(kept)
		if g.dirty {
			p.step.Keep(relist(h.cold(), g.away[:g.still])...)
		} else {
			p.step.Keep(shorten(h.cold(), g.still)...)
		}
	}
	same := sameOf(h.messages, here)
	values := h.put(here)
	if len(here) > threadEntries || h.bytes > threadBytes {
		p.tidy(h)
		return
	}
	p.step.Keep(shorten(h.list(), same)...)
	if same < len(values) {
		p.step.Keep(store.Push(h.list(), values[same:]...))
	}
}

// truncateList returns the operation that keeps the first n values of a list.
func shorten(list string, n int) []store.Op {
	if n == 0 {
		return []store.Op{store.Drop(list)}
	}
	return []store.Op{store.KeepFirst(list, n)}
}
