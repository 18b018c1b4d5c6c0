package contextpool

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

const (
	threadTable  = "threads"
	threadPrefix = "api:"
)

// thread is the conversation of an agent that lasts.
type thread struct {
	agent string
	// Provider is who held it last, and ID its own name of it.
	Provider string `json:"provider,omitempty"`
	ID       string `json:"id,omitempty"`
	// Monitor is where the agent is.
	Monitor wire.MonitorID `json:"monitor"`
	// Top is the highest id that a message had which may be gone.
	Top uint64 `json:"top,omitempty"`
	// Tokens is about how many tokens the agent reads of it; 0 means that nobody
	// knows. Tried says that it was tried to sum it up since its last turn began.
	Tokens int  `json:"tokens,omitempty"`
	Tried  bool `json:"tried,omitempty"`
	// Cold are the messages that moved away, the oldest first; see [Pool.tidy].
	Cold []chunk `json:"cold,omitempty"`

	messages []history.Message
	sizes    []int
	bytes    int
	// stale says that what an agent has open of it is not what it is any more.
	stale bool
}

func (h *thread) list() string { return threadPrefix + h.agent }

// isMain reports whether it is the conversation of a main agent.
func (h *thread) isMain() bool { return h.agent == mainAgent(h.Monitor) }

func (h *thread) hasEntries() bool { return h != nil && len(h.messages) > 0 }

// knownTo reports whether a backend keeps the conversation itself.
func (h *thread) knownTo(provider string) bool {
	return h != nil && h.ID != "" && h.Provider == provider
}

// newest is the highest id that a message has or had.
func (h *thread) newest() uint64 {
	if h == nil {
		return 0
	}
	if n := len(h.messages); n > 0 {
		return max(h.Top, h.messages[n-1].ID)
	}
	return h.Top
}

// thread is the conversation as a session runner needs it. With open its newest calls are
// still to be made. Blocks are never changed.
func (h *thread) thread(open bool) providers.Thread {
	if h == nil {
		return providers.Thread{}
	}
	view := history.View
	if open {
		view = history.OpenView
	}
	return providers.Thread{ID: h.ID, Provider: h.Provider, Entries: view(h.messages)}
}

// fork is the conversation for a copy of it. A turn may be under way in it; the
// tools that it waits for are none of the copy's business.
func (h *thread) fork() providers.Thread {
	if h == nil {
		return providers.Thread{}
	}
	return providers.Thread{ID: h.ID, Provider: h.Provider, Entries: history.View(h.settled())}
}

// settled are the messages up to the first that has calls without results.
func (h *thread) settled() []history.Message {
	all := h.messages
	for len(all) > 0 && len(openCalls(all)) > 0 {
		all = all[:len(all)-1]
	}
	return all
}

// openCalls are the calls of the newest message that calls tools which have no
// result.
func openCalls(all []history.Message) []providers.Block {
	var calls []providers.Block
	answered := map[string]bool{}
	for i := len(all) - 1; i >= 0 && calls == nil; i-- {
		for _, b := range all[i].Blocks {
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

// put makes the thread one of other messages, which are in the order of their ids.
func (h *thread) put(all []history.Message) (values [][]byte) {
	h.messages, h.sizes, h.bytes = all, make([]int, len(all)), 0
	values = make([][]byte, len(all))
	for i := range all {
		values[i] = encode(&all[i])
		h.sizes[i] = len(values[i])
		h.bytes += len(values[i])
	}
	return values
}

// all is what makes the kept list this one.
func (h *thread) all() []store.Op { return relist(h.list(), h.messages) }

// restore reads the kept list. What is older than ids gets those that come next.
func (h *thread) restore(items [][]byte) (err error) {
	if h.messages, err = unlist[history.Message](h.list(), items); err != nil {
		return err
	}
	last := uint64(0)
	for i, data := range items {
		m := &h.messages[i]
		if m.ID == 0 {
			m.ID = history.NextID(last)
		}
		last = m.ID
		h.sizes = append(h.sizes, len(data))
		h.bytes += len(data)
	}
	return nil
}

// extend adds messages to a thread. They get their ids and times here. When there is
// more than a thread holds, the older half is left out of what the agent sees, and
// what it does not see moves away.
func (p *Pool) extend(h *thread, added ...history.Message) {
	if len(added) == 0 {
		return
	}
	values := make([][]byte, len(added))
	for i := range added {
		m := &added[i]
		m.ID, m.TS = history.NextID(h.newest()), wire.Millis(p.step.Now().UnixMilli())
		values[i] = settle(m)
		h.messages = append(h.messages, *m)
		h.sizes = append(h.sizes, len(values[i]))
		h.bytes += len(values[i])
	}
	if len(h.messages) <= threadEntries && h.bytes <= threadBytes {
		p.step.Keep(store.Push(h.list(), values...))
		return
	}
	p.tidy(h)
}

// learn adds to a thread what a turn says it has become, each message with the row
// that it belongs to. If people said something in between, it returns the message of
// the agent that is right before that, if there is one.
func (p *Pool) learn(t *turn, h *thread, entries []providers.Entry) (before uint64) {
	added := make([]history.Message, len(entries))
	var said []int // what people said
	for i, e := range entries {
		added[i] = history.Message{Entry: e, Row: p.step.NextRow()}
		if e.Role == providers.RoleUser && !slices.ContainsFunc(e.Blocks, isResult) {
			said = append(said, i)
		}
	}
	if !t.Remembered && len(said) > 0 {
		added[said[0]].Row = cmp.Or(t.Row, added[said[0]].Row)
		said = said[1:]
	}
	n := min(len(said), len(t.Heard))
	for i, row := range t.Heard[len(t.Heard)-n:] {
		at := said[len(said)-n+i]
		added[at].Row = cmp.Or(row, added[at].Row)
	}
	if n > 0 {
		t.Heard = nil
	}
	var last history.Message
	if len(h.messages) > 0 {
		last = h.messages[len(h.messages)-1]
	}
	for i, so := 0, slices.Clip(h.messages); i < len(added); i++ {
		added[i].Entry = history.Repair(so, knownCalls(added[i].Entry))
		if i+1 < len(added) {
			so = append(so, added[i])
		}
	}
	p.extend(h, added...)
	if len(said) > 0 && said[0] > 0 {
		last = added[said[0]-1]
	}
	if len(said) > 0 && last.Role == providers.RoleAssistant {
		before = last.ID
	}
	return before
}

// knownCalls is a message with the ids of calls as a conversation has them.
func knownCalls(e providers.Entry) providers.Entry {
	if slices.ContainsFunc(e.Blocks, func(b providers.Block) bool { return b.Call != shortCall(b.Call) }) {
		e.Blocks = slices.Clone(e.Blocks)
		for i := range e.Blocks {
			e.Blocks[i].Call = shortCall(e.Blocks[i].Call)
		}
	}
	return e
}

func isResult(b providers.Block) bool { return b.Kind == providers.BlockToolResult }

// threadOf is the conversation of a turn that lasts, which may be a new one.
func (p *Pool) threadOf(t *turn) *thread {
	h := p.threads[t.Agent]
	if h == nil {
		h = &thread{agent: t.Agent, Monitor: t.Monitor}
		p.threads[t.Agent] = h
	}
	return h
}

// keepThread keeps what is known of a thread besides its messages.
func (p *Pool) keepThread(h *thread) { p.step.Keep(store.Set(threadTable, h.agent, encode(h))) }

// forgetThread drops a conversation.
func (p *Pool) forgetThread(agent string) {
	h := p.threads[agent]
	if h == nil {
		return
	}
	delete(p.threads, agent)
	p.step.Keep(store.Unset(threadTable, agent), store.Drop(h.list()))
	if len(h.Cold) > 0 {
		p.step.Keep(store.Drop(h.cold()))
	}
}
