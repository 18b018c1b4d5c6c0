package contextpool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	threadTable  = "threads"
	threadPrefix = "api:"
)

// How long a conversation is. When it is longer, its oldest turns go until a
// quarter is free.
const (
	threadEntries = 400
	threadBytes   = 1 << 20
	// entryBytes is the most that is kept of one entry.
	entryBytes = 256 << 10
	// toolBytes is the most that a name in an entry has, and callBytes the id
	// of a call.
	toolBytes = 128
	callBytes = 256
)

// thread is the conversation of an agent that lasts.
type thread struct {
	agent string
	// Provider is who held it last, and ID its own name of it.
	Provider string `json:"provider,omitempty"`
	ID       string `json:"id,omitempty"`
	// Monitor is where the agent is.
	Monitor wire.MonitorID `json:"monitor"`

	entries []providers.Entry
	sizes   []int
	bytes   int
}

func (h *thread) list() string { return threadPrefix + h.agent }

func (h *thread) hasEntries() bool { return h != nil && len(h.entries) > 0 }

// knownTo reports whether a backend keeps the conversation itself.
func (h *thread) knownTo(provider string) bool {
	return h != nil && h.ID != "" && h.Provider == provider
}

// thread is the conversation as a crew needs it. Entries are never changed.
func (h *thread) thread() providers.Thread {
	if h == nil {
		return providers.Thread{}
	}
	return providers.Thread{ID: h.ID, Provider: h.Provider, Entries: slices.Clone(h.entries)}
}

// fork is the conversation for a copy of it. A turn may be under way in it; the
// tools that it waits for are none of the copy's business.
func (h *thread) fork() providers.Thread {
	t := h.thread()
	if n := len(t.Entries); n > 0 && len(openCalls(t.Entries)) > 0 {
		for n > 0 && len(openCalls(t.Entries[:n])) > 0 {
			n--
		}
		t.Entries = t.Entries[:n]
	}
	return t
}

// openCalls are the calls of the newest entry that calls tools which have no
// result.
func openCalls(entries []providers.Entry) []providers.Block {
	var calls []providers.Block
	answered := map[string]bool{}
	for i := len(entries) - 1; i >= 0 && calls == nil; i-- {
		for _, b := range entries[i].Blocks {
			switch b.Kind {
			case providers.BlockToolResult:
				answered[b.Call] = true
			case providers.BlockToolCall:
				calls = append(calls, b)
			}
		}
	}
	return slices.DeleteFunc(calls, func(b providers.Block) bool { return answered[b.Call] })
}

// add takes what is to be remembered and returns what is to be kept.
func (h *thread) add(entries []providers.Entry) []store.Op {
	values := make([][]byte, len(entries))
	for i, e := range entries {
		e, values[i] = settled(e)
		h.entries = append(h.entries, e)
		h.sizes = append(h.sizes, len(values[i]))
		h.bytes += len(values[i])
	}
	if len(h.entries) > threadEntries || h.bytes > threadBytes {
		h.shorten()
		return h.all()
	}
	if len(values) == 0 {
		return nil
	}
	return []store.Op{store.Push(h.list(), values...)}
}

// settled is an entry as it is kept, and its kept form. Free JSON that is none
// and what is too long is replaced, names and ids in any case: there is one of
// each in every block.
func settled(e providers.Entry) (providers.Entry, []byte) {
	e.Blocks = slices.Clone(e.Blocks)
	for i := range e.Blocks {
		b := &e.Blocks[i]
		b.Text = mended(b.Text)
		b.Tool, b.From, b.Call = wholeRunes(b.Tool, toolBytes), wholeRunes(b.From, toolBytes), shortCall(b.Call)
		if len(b.Input) > 0 && !json.Valid(b.Input) {
			b.Input = json.RawMessage("{}")
		}
		if len(b.Opaque) > 0 && !json.Valid(b.Opaque) {
			b.Opaque = json.RawMessage("null")
		}
	}
	data := encode(&e)
	if len(data) <= entryBytes {
		return e, data
	}
	room := entryBytes / (2 * len(e.Blocks))
	for i := range e.Blocks {
		shortenBlock(&e.Blocks[i], room)
	}
	return e, encode(&e)
}

// shortCall is the id of a call, or another for one that is too long: the same for
// the call and for its result.
func shortCall(id string) string {
	if len(id) <= callBytes {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:])
}

// shortenBlock leaves as much of a block as there is room for, and its shape.
func shortenBlock(b *providers.Block, room int) {
	const left = "[left out: it is too long to be remembered]"
	b.Text = cut(b.Text, max(room, 256))
	if len(b.Input) > room {
		b.Input = json.RawMessage(`{"note":"` + left + `"}`)
	}
	if len(b.Opaque) > room || len(b.Signature) > room {
		// A part of it would be worth nothing.
		*b = providers.Block{Kind: providers.BlockText, Text: left}
	}
	size := 0
	for _, i := range b.Images {
		size += len(i.Data)
	}
	if size > room/2 {
		b.Images = nil
		b.Text += "\n" + left
	}
	if b.Image != nil && len(b.Image.Data) > room/2 {
		*b = providers.Block{Kind: providers.BlockText, Text: left}
	}
}

// shorten drops the oldest turns; of a single turn that is too long the oldest
// calls with their results, but not what began it.
func (h *thread) shorten() {
	over := func(n, bytes int) bool { return n > threadEntries*3/4 || bytes > threadBytes*3/4 }
	last := h.entries[len(h.entries)-1].Turn
	from, bytes := 0, h.bytes
	for over(len(h.entries)-from, bytes) && h.entries[from].Turn != last {
		for id := h.entries[from].Turn; h.entries[from].Turn == id; from++ {
			bytes -= h.sizes[from]
		}
	}
	h.cutOut(0, from)
	to := 1
	bytes = h.bytes
	for over(len(h.entries)-(to-1), bytes) && to < len(h.entries)-2 {
		bytes -= h.sizes[to]
		to++
		// A result goes with its call.
		for to < len(h.entries)-2 && h.entries[to].Role == providers.RoleUser {
			bytes -= h.sizes[to]
			to++
		}
	}
	h.cutOut(1, to)
}

// cutOut drops entries.
func (h *thread) cutOut(from, to int) {
	if from >= to {
		return
	}
	for _, n := range h.sizes[from:to] {
		h.bytes -= n
	}
	// Those that are left were given away, in their old place.
	h.entries = slices.Concat(h.entries[:from], h.entries[to:])
	h.sizes = slices.Concat(h.sizes[:from], h.sizes[to:])
}

// all is what makes the kept list this one.
func (h *thread) all() []store.Op { return relist(h.list(), h.entries) }

// restore reads the kept list.
func (h *thread) restore(items [][]byte) (err error) {
	if h.entries, err = unlist[providers.Entry](h.list(), items); err != nil {
		return err
	}
	for _, data := range items {
		h.sizes = append(h.sizes, len(data))
		h.bytes += len(data)
	}
	return nil
}

// threadOf is the conversation of a turn that lasts, which may be a new one.
func (p *Pool) threadOf(t *turn) *thread {
	h := p.threads[t.Agent]
	if h == nil {
		h = &thread{agent: t.Agent, Monitor: t.Monitor}
		p.threads[t.Agent] = h
	}
	return h
}

// forgetThread drops a conversation.
func (p *Pool) forgetThread(agent string) {
	h := p.threads[agent]
	if h == nil {
		return
	}
	delete(p.threads, agent)
	p.stage.Keep(store.Unset(threadTable, agent), store.Drop(h.list()))
}
