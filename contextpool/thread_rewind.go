package contextpool

import (
	"fmt"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
)

// threadCut is a thread together with its cold list, and the result of a rewind on both.
type threadCut struct {
	h *thread
	// cold are the messages of the cold list, in the order of the list, and all are the
	// messages of thread and cold list by id. dirty means that the list holds other values
	// besides, or that some are lost.
	cold  []history.Message
	dirty bool
	all   []history.Message
	cut   history.RewoundThread
	// coldKept counts the first messages of cold that stay in the cold list.
	coldKept int
}

// loadThreadCut loads a thread with its cold list.
func (s *threadSet) loadThreadCut(h *thread) (*threadCut, error) {
	g := &threadCut{h: h, all: h.messages}
	if len(h.Cold) == 0 {
		return g, nil
	}
	items, err := s.state.ReadColdList(h.coldList())
	if err != nil {
		return nil, fmt.Errorf("cold list of %s: %w", h.agent, err)
	}
	merged, err := h.mergeCold(items)
	if err != nil {
		return nil, err
	}
	g.all, g.cold, g.dirty = merged.byID, merged.cold, merged.dirty
	return g, nil
}

// setCut sets the result of the rewind, and returns the approximate amount of data to write for
// it.
func (g *threadCut) setCut(c history.RewoundThread) (w writeSize) {
	g.cut = c
	hidden := map[uint64]history.Message{}
	for i := range c.Messages {
		hidden[c.Messages[i].ID] = c.Messages[i]
	}
	for _, m := range history.Effective(c.Messages) {
		delete(hidden, m.ID)
	}
	for g.coldKept = 0; g.coldKept < len(g.cold); g.coldKept++ {
		if m, ok := hidden[g.cold[g.coldKept].ID]; !ok || !sameMessage(&m, &g.cold[g.coldKept]) {
			break
		}
	}
	if !c.Changed && !g.dirty {
		return writeSize{}
	}
	hot, same := g.hotMessages(), 0
	if g.dirty {
		hot = g.cut.Messages // and what stays in the cold list is written again
	} else if g.coldKept == len(g.cold) {
		same = commonPrefix(g.h.messages, hot)
	}
	for i := range hot[same:] {
		w = writeSize{w.items + 1, w.bytes + len(encode(&hot[same+i]))}
	}
	return w
}

// hotMessages returns the remaining messages that are in the thread itself, not in its cold
// list.
func (g *threadCut) hotMessages() []history.Message {
	away := make(map[uint64]bool, g.coldKept)
	for i := range g.cold[:g.coldKept] {
		away[g.cold[i].ID] = true
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
func sameMessage(a, b *history.Message) bool {
	return a.ID == b.ID && a.CondenseParent == b.CondenseParent && a.TruncationParent == b.TruncationParent
}

// commonPrefix counts the equal messages at the beginning of a and b.
func commonPrefix(a, b []history.Message) (n int) {
	for n < len(a) && n < len(b) && sameMessage(&a[n], &b[n]) {
		n++
	}
	return n
}

// applyThreadCut reduces a thread to what the rewind keeps. Messages that are visible again
// move back from the cold list.
func (s *threadSet) applyThreadCut(g *threadCut) {
	h, hot := g.h, g.hotMessages()
	if g.coldKept < len(g.cold) || g.dirty {
		kept := make([][]byte, g.coldKept)
		for i := range kept {
			kept[i] = encode(&g.cold[i])
		}
		h.Cold = chunksOf(kept)
		if g.dirty {
			s.step.AddOps(rewriteList(h.coldList(), g.cold[:g.coldKept])...)
		} else {
			s.step.AddOps(truncateList(h.coldList(), g.coldKept)...)
		}
	}
	same := commonPrefix(h.messages, hot)
	values := h.setMessages(hot)
	if len(hot) > threadEntries || h.bytes > threadBytes {
		s.boundThread(h)
		return
	}
	s.step.AddOps(truncateList(h.listName(), same)...)
	if same < len(values) {
		s.step.AddOps(store.Push(h.listName(), values[same:]...))
	}
}

// truncateList returns the operation that keeps the first n values of a list.
func truncateList(list string, n int) []store.Op {
	if n == 0 {
		return []store.Op{store.Drop(list)}
	}
	return []store.Op{store.KeepFirst(list, n)}
}
