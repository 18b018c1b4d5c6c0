package contextpool

import (
	"slices"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// LoadThreads decodes the threads of lasting agents from the stored tables and lists of a
// session, with the messages of their cold lists, which cold reads. windows are the open
// windows; threads of window agents without an open window are left out.
func LoadThreads(
	tables map[string]map[string][]byte, lists map[string][][]byte, windows []wire.WindowState, cold func(list string) ([][]byte, error),
) ([]history.Thread, error) {
	stored := threadSet{byAgent: map[string]*thread{}}
	groups := windowGroups{connection: policies.NewWindowConnection()}
	if err := stored.restore(tables[threadTable], lists); err != nil {
		return nil, err
	}
	if err := groups.restore(tables); err != nil {
		return nil, err
	}
	shared := map[string][]wire.WindowID{}
	for _, w := range windows {
		agent := groups.agentOf(w.MonitorID, w.WindowID)
		shared[agent] = append(shared[agent], w.WindowID)
	}
	var out []history.Thread
	for _, agent := range sortedKeys(stored.byAgent) {
		h := stored.byAgent[agent]
		t := history.Thread{
			Agent: agent, Provider: h.Provider, ID: h.ID, Monitor: h.Monitor, Windows: shared[agent], Messages: h.messages,
		}
		if len(h.Cold) > 0 {
			items, err := cold(h.coldList())
			if err != nil {
				return nil, err
			}
			all, err := h.mergeCold(items)
			if err != nil {
				return nil, err
			}
			t.Messages = all.byID
		}
		if agent != mainAgent(h.Monitor) && len(t.Windows) == 0 {
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

// ImportOps returns the operations that fill a session without agents with threads, and with
// the tape of its rows, the oldest first. The launch hooks count as having run.
func ImportOps(provider string, threads []history.Thread, rows []wire.UIRow) []store.Op {
	groups := policies.NewWindowConnection()
	var ops []store.Op
	for i := range threads {
		t := &threads[i]
		agent := mainAgent(t.Monitor)
		if len(t.Windows) > 0 {
			root := policies.Key{Monitor: t.Monitor, Window: t.Windows[0]}
			for _, w := range t.Windows[1:] {
				groups.Connect(root, policies.Key{Monitor: t.Monitor, Window: w})
			}
			agent = windowAgent(t.Monitor, groups.AgentKey(root))
		}
		h := &thread{agent: agent, Provider: t.Provider, Monitor: t.Monitor}
		if len(t.Messages) > 0 {
			ops = append(ops, store.Set(outsideTable, string(t.Monitor), encode([]string{importedSource})))
		}
		ops = append(ops, h.fillThread(slices.Clone(t.Messages))...)
	}
	var tape Tape
	for i := range rows {
		if s, ok := tapeMessageOf(&rows[i]); ok {
			tape.Append(s)
		}
	}
	about := poolState{Provider: provider, Launched: true, Turns: uint64(len(rows))} // new turns must not reuse the task ids of the imported ones
	return append(ops, slices.Concat(tape.AllOps(), []store.Op{
		store.Set(groupTable, groupField, encode(groups.Pairs())),
		store.Set(aboutTable, aboutField, encode(&about)),
	})...)
}

// tapeMessageOf returns the tape's message for a row, if the row shows text of the user or of
// an agent.
func tapeMessageOf(r *wire.UIRow) (TapeMessage, bool) {
	s := TapeMessage{Text: r.Text, Time: r.TS, Row: r.ID, Monitor: r.MonitorID, Window: r.WindowID}
	switch {
	case r.Text == "":
		return s, false
	case r.Say == wire.SayUserFeedback:
		s.By = policies.SpeakerUser
	case r.Say == wire.SayText:
		s.By = policies.SpeakerAssistant
	default:
		return s, false
	}
	return s, true
}

// fillThread sets the messages of an empty thread and returns the operations that store it.
func (h *thread) fillThread(all []history.Message) []store.Op {
	for i := range all {
		normalizeMessage(&all[i])
	}
	values := h.setMessages(all)
	h.Tokens = history.Tokens(history.View(h.messages))
	var ops []store.Op
	if len(all) > threadEntries || h.bytes > threadBytes {
		values, ops = h.moveHiddenToCold(values)
	}
	return append(ops, store.Push(h.listName(), values...), store.Set(threadTable, h.agent, encode(h)))
}
