package contextpool

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// threadSet holds the threads of lasting agents, which their models read. It appends to them, bounds
// and truncates them, and stores every change.
type threadSet struct {
	*services
	turns *turnSet

	byAgent map[string]*thread
	grown   []string // agents whose threads may exceed their limits now
}

// contextLimits returns the limits for the model that reads a thread next.
func (s *threadSet) contextLimits() history.Limits {
	return history.Limits{
		Window: cmp.Or(s.cfg.Window, s.providers.Caps(s.turns.provider()).Window), Threshold: s.cfg.CondenseAt,
	}
}

// estimateTokens sets the size of a changed thread to an estimate and stores it. No model has
// read the thread in its current form.
func (s *threadSet) estimateTokens(h *thread) {
	h.Tokens = history.Tokens(history.View(h.messages))
	s.store(h)
}

// scaleTokens estimates the size after a change from the size before it and the estimates of
// both. The backend's count includes more than the messages.
func scaleTokens(had, before, after int) int {
	return min(had, int(float64(had)*float64(after)/float64(max(before, 1))))
}

// recordSize stores the size of the thread of a turn that has ended. advance then
// compacts the thread if it is too large.
func (s *threadSet) recordSize(t *turn) {
	h := s.byAgent[t.Agent]
	if !t.Lasting || h == nil || !t.InThread {
		return
	}
	s.grown = append(s.grown, t.Agent)
	if t.Context == 0 {
		s.estimateTokens(h)
		return
	}
	h.Tokens = t.Context
	s.store(h)
}

// truncate hides the older half of the visible messages and reports whether there was
// anything to hide. The agent's next turn begins with the rest.
func (s *threadSet) truncate(h *thread) bool {
	if s.hideOlderHalf(h) == 0 {
		return false
	}
	s.boundThread(h)
	s.resetProviderSession(h)
	return true
}

// resetProviderSession closes the agent's provider session and drops the backend's thread id,
// so that the next turn begins with the current thread.
func (s *threadSet) resetProviderSession(h *thread) {
	h.stale, h.ID = false, ""
	s.store(h)
	s.disposeAgent(h.agent)
}

func (s *threadSet) restore(table map[string][]byte, lists map[string][][]byte) error {
	for agent, data := range table {
		h := &thread{agent: agent}
		if err := decode(data, h); err != nil {
			return fmt.Errorf("conversation of %s: %w", agent, err)
		}
		if err := h.restore(lists[h.listName()]); err != nil {
			return err
		}
		s.byAgent[agent] = h
	}
	return nil
}

// allOps returns the operations that store all threads, without their cold lists.
func (s *threadSet) allOps() (ops []store.Op) {
	for _, agent := range sortedKeys(s.byAgent) {
		ops = append(ops, store.Set(threadTable, agent, encode(s.byAgent[agent])))
		ops = append(ops, s.byAgent[agent].allOps()...)
	}
	return ops
}

// disposeIfStale closes the agent's provider session if the thread has changed without it, so
// that the next turn begins with the current thread.
func (s *threadSet) disposeIfStale(t *turn) {
	if h := s.byAgent[t.Agent]; t.Lasting && h != nil && h.stale {
		h.stale = false
		s.disposeAgent(t.Agent)
	}
}

// closeOpenCalls adds results for the tool calls that a turn leaves without a result in its
// thread. No backend accepts a thread with open calls.
func (s *threadSet) closeOpenCalls(t *turn) {
	h := s.byAgent[t.Agent]
	if !t.InThread || !h.hasMessages() {
		return
	}
	open := openCalls(h.messages)
	if len(open) == 0 {
		return
	}
	results := providers.Entry{Role: providers.RoleUser, Turn: string(t.ID)}
	for _, b := range open {
		r := providers.ToolResult{Text: "The turn was interrupted before this tool was used.", IsError: true}
		if i := slices.IndexFunc(t.calls, func(c *call) bool { return shortCallID(c.ID) == b.Call }); i >= 0 {
			if r = t.calls[i].Result; !t.calls[i].Ended {
				r = providers.ToolResult{Text: mayHaveRun(t.calls[i].Tool), IsError: true}
			}
		}
		results.Blocks = append(results.Blocks, providers.Block{
			Kind: providers.BlockToolResult, Call: b.Call, Tool: b.Tool, Text: r.Text, Images: r.Images, IsError: r.IsError,
		})
	}
	s.appendMessages(h, history.Message{Entry: results, Row: s.rows.NextRowID()})
}

func mayHaveRun(tool string) string { return fmt.Sprintf("tool %s may or may not have run", tool) }

// turnRow returns a row about a turn.
func (s *threadSet) turnRow(t *turn, say wire.Say, text string) wire.UIRow {
	r := wire.UIRow{
		Type: wire.RowSay, Say: say, Text: text, MonitorID: t.Monitor, AgentID: t.Role, MessageID: t.messageID(), WindowID: t.Window,
	}
	if h := s.byAgent[t.Agent]; t.Lasting && h != nil {
		h.linkRow(&r)
	}
	return r
}

// appendMessages adds messages to a thread and sets their ids and times. If the thread exceeds
// its bounds, the older half is hidden from the agent and hidden messages move to the cold
// list.
func (s *threadSet) appendMessages(h *thread, added ...history.Message) {
	if len(added) == 0 {
		return
	}
	values := make([][]byte, len(added))
	for i := range added {
		m := &added[i]
		m.ID, m.TS = history.NextID(h.highestID()), wire.Millis(s.step.Now().UnixMilli())
		values[i] = normalizeMessage(m)
		h.messages = append(h.messages, *m)
		h.sizes = append(h.sizes, len(values[i]))
		h.bytes += len(values[i])
	}
	if len(h.messages) <= threadEntries && h.bytes <= threadBytes {
		s.step.AddOps(store.Push(h.listName(), values...))
		return
	}
	s.boundThread(h)
}

// appendEntries adds the entries reported by a run to the thread and links each to its row.
func (s *threadSet) appendEntries(t *turn, h *thread, entries []providers.Entry) {
	added := make([]history.Message, len(entries))
	var said []int // indexes of the user's messages
	for i, e := range entries {
		added[i] = history.Message{Entry: e, Row: s.rows.NextRowID()}
		if e.Role == providers.RoleUser && !slices.ContainsFunc(e.Blocks, isToolResult) {
			said = append(said, i)
		}
	}
	if !t.InThread && len(said) > 0 {
		added[said[0]].Row = cmp.Or(t.Row, added[said[0]].Row)
		said = said[1:]
	}
	n := min(len(said), len(t.PendingRows))
	for i, row := range t.PendingRows[len(t.PendingRows)-n:] {
		at := said[len(said)-n+i]
		added[at].Row = cmp.Or(row, added[at].Row)
	}
	if n > 0 {
		t.PendingRows = nil
	}
	for i, known := 0, slices.Clip(h.messages); i < len(added); i++ {
		added[i].Entry = history.Repair(known, withShortCallIDs(added[i].Entry))
		if i+1 < len(added) {
			known = append(known, added[i])
		}
	}
	s.appendMessages(h, added...)
}

// withShortCallIDs returns an entry with call ids as the thread stores them.
func withShortCallIDs(e providers.Entry) providers.Entry {
	if slices.ContainsFunc(e.Blocks, func(b providers.Block) bool { return b.Call != shortCallID(b.Call) }) {
		e.Blocks = slices.Clone(e.Blocks)
		for i := range e.Blocks {
			e.Blocks[i].Call = shortCallID(e.Blocks[i].Call)
		}
	}
	return e
}

func isToolResult(b providers.Block) bool { return b.Kind == providers.BlockToolResult }

// threadOf returns the thread of a lasting agent's turn and creates it if necessary.
func (s *threadSet) threadOf(t *turn) *thread {
	h := s.byAgent[t.Agent]
	if h == nil {
		h = &thread{agent: t.Agent, Monitor: t.Monitor}
		s.byAgent[t.Agent] = h
	}
	return h
}

// store stores the fields of a thread besides its messages.
func (s *threadSet) store(h *thread) { s.step.AddOps(store.Set(threadTable, h.agent, encode(h))) }

// delete deletes a thread.
func (s *threadSet) delete(agent string) {
	h := s.byAgent[agent]
	if h == nil {
		return
	}
	delete(s.byAgent, agent)
	s.step.AddOps(store.Unset(threadTable, agent), store.Drop(h.listName()))
	if len(h.Cold) > 0 {
		s.step.AddOps(store.Drop(h.coldList()))
	}
}
