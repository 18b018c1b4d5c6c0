package contextpool

import (
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

// thread is the stored conversation of a lasting agent, as its model reads it.
type thread struct {
	agent string
	// Provider is the provider of the last turn, and ID the backend's own id of the
	// conversation, if it has one.
	Provider string `json:"provider,omitempty"`
	ID       string `json:"id,omitempty"`
	// Monitor is the agent's monitor.
	Monitor wire.MonitorID `json:"monitor"`
	// Top is the highest message id ever used in the thread; that message may be gone.
	Top uint64 `json:"top,omitempty"`
	// Tokens is the approximate size of the visible messages; 0 means unknown. Tried says that
	// a summary was attempted since the last turn began.
	Tokens int  `json:"tokens,omitempty"`
	Tried  bool `json:"tried,omitempty"`
	// Cold describes the messages in the cold list, the oldest first; see boundThread.
	Cold []chunk `json:"cold,omitempty"`

	messages []history.Message
	sizes    []int
	bytes    int
	// stale says that an open provider session does not have the current messages.
	stale bool
}

func (h *thread) listName() string { return threadPrefix + h.agent }

// isMain reports whether it is the thread of a main agent.
func (h *thread) isMain() bool { return h.agent == mainAgent(h.Monitor) }

func (h *thread) hasMessages() bool { return h != nil && len(h.messages) > 0 }

// heldBy reports whether the provider's backend holds the conversation itself.
func (h *thread) heldBy(provider string) bool {
	return h != nil && h.ID != "" && h.Provider == provider
}

// highestID returns the highest message id ever used in the thread.
func (h *thread) highestID() uint64 {
	if h == nil {
		return 0
	}
	if n := len(h.messages); n > 0 {
		return max(h.Top, h.messages[n-1].ID)
	}
	return h.Top
}

// newestAnswer returns the id of the agent's newest message, or 0 if there is none.
func (h *thread) newestAnswer() uint64 {
	for _, m := range slices.Backward(h.messages) {
		if m.Role == providers.RoleAssistant {
			return m.ID
		}
	}
	return 0
}

// providerThread returns the thread for a run. With open the newest tool calls still need
// results. Blocks are shared and must not be changed.
func (h *thread) providerThread(open bool) providers.Thread {
	if h == nil {
		return providers.Thread{}
	}
	view := history.View
	if open {
		view = history.OpenView
	}
	return providers.Thread{ID: h.ID, Provider: h.Provider, Entries: view(h.messages)}
}

// forkThread returns the thread for a copy. If a turn is under way in it, messages with open
// tool calls are left out.
func (h *thread) forkThread() providers.Thread {
	if h == nil {
		return providers.Thread{}
	}
	return providers.Thread{ID: h.ID, Provider: h.Provider, Entries: history.View(h.closedMessages())}
}

// closedMessages returns the messages up to the last point at which the newest tool calls all have
// results.
func (h *thread) closedMessages() []history.Message {
	all := h.messages
	for len(all) > 0 && len(openCalls(all)) > 0 {
		all = all[:len(all)-1]
	}
	return all
}

// openCalls returns the tool calls without a result in the newest message that has tool calls.
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

// setMessages replaces the messages of the thread, which are ordered by id, and returns their
// encoded form.
func (h *thread) setMessages(all []history.Message) (values [][]byte) {
	h.messages, h.sizes, h.bytes = all, make([]int, len(all)), 0
	values = make([][]byte, len(all))
	for i := range all {
		values[i] = encode(&all[i])
		h.sizes[i] = len(values[i])
		h.bytes += len(values[i])
	}
	return values
}

// allOps returns the operations that write the whole list.
func (h *thread) allOps() []store.Op { return rewriteList(h.listName(), h.messages) }

// restore loads the stored list. Messages stored before ids were introduced get the next free
// ones.
func (h *thread) restore(items [][]byte) (err error) {
	if h.messages, err = decodeList[history.Message](h.listName(), items); err != nil {
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
