package history_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// After any sequence of operations both histories agree, the views are valid requests, and
// a rewind past a summary or a marker restores what was visible before it.
func TestConversations(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		c := newConversation()
		for range rapid.IntRange(1, 60).Draw(r, "steps") {
			c.step(r)
			c.checkInvariants(r)
		}
	})
}

// step performs one of the operations that are possible now.
func (c *conversation) step(r *rapid.T) {
	type action struct {
		name string
		do   func()
	}
	actions := []action{{"other", func() { c.row(wire.UIRow{Say: wire.SayCheckpointSaved}) }}}
	may := func(ok bool, often int, name string, do func()) {
		if ok {
			actions = append(actions, slices.Repeat([]action{{name, do}}, often)...)
		}
	}
	for _, name := range []string{"main", "window"} {
		s := c.agents[name]
		free := s.busy && len(s.open) == 0 && s.unshown == 0 // the model may be called
		_, short := history.CondenseInput(s.all)
		may(len(s.queued)+len(s.steered) < 3, 3, "say", func() { c.tell(r, s) })
		may(free, 1, "think", func() { c.rowOf(s, wire.UIRow{Say: wire.SayReasoning}) })
		may(free, 3, "reply", func() { c.reply(r, s) })
		may(len(s.open) > 0, 6, "tool", func() { c.endTool(s) })
		may(free, 2, "end", func() { s.unshown = c.add(s, c.next, providers.RoleAssistant, words("answer before %d", c.next)) })
		may(s.unshown != 0, 4, "show", func() { c.endTurn(r, s) })
		may(!s.busy && short == nil, 1, "condense", func() { c.condense(r, s) })
		may(len(s.open) == 0 && s.unshown == 0, 1, "truncate", func() { c.truncate(r, s) })
	}
	may(len(c.rows) > 0, 2, "rewind", func() {
		c.rewind(r, rapid.SampledFrom(c.rows).Draw(r, "row"), rapid.Bool().Draw(r, "include"))
	})
	may(len(c.rows) > 0, 1, "edit", func() { c.edit(r) })
	d := actions[rapid.IntRange(0, len(actions)-1).Draw(r, "action")]
	r.Log(d.name, "before row", c.next)
	d.do()
}

// conversation is the model of a user and two agents.
type conversation struct {
	next   wire.RowID
	rows   []wire.UIRow
	agents map[string]*speaker
	calls  int // counter for the ids of calls and summaries

	// said holds rows of users whose message has been in a thread.
	said map[wire.RowID]bool
	// loose holds rows that stayed visible to users although the models' messages for them
	// were removed.
	loose map[wire.RowID]bool
	// seen holds what was visible before a row, where that is certain.
	seen map[wire.RowID]map[string][]string
}

// speaker is an agent with its thread.
type speaker struct {
	name    string
	all     []history.Message
	last    uint64 // highest message id
	busy    bool
	open    []string     // calls without a result
	tools   []wire.RowID // rows of the calls made
	steered []wire.RowID
	queued  []wire.RowID
	unshown uint64 // newest answer without a row

	texts   map[uint64]wire.RowID   // rows of the agent's texts
	results map[uint64][]wire.RowID // rows of tool results
}

func newConversation() *conversation {
	c := &conversation{next: 1, agents: map[string]*speaker{}, said: map[wire.RowID]bool{}, loose: map[wire.RowID]bool{}, seen: map[wire.RowID]map[string][]string{}}
	for _, name := range []string{"main", "window"} {
		c.agents[name] = &speaker{name: name, texts: map[uint64]wire.RowID{}, results: map[uint64][]wire.RowID{}}
	}
	return c
}

func (c *conversation) row(row wire.UIRow) wire.RowID {
	row.ID, row.TS, row.Type = c.next, wire.Millis(7000+3*c.next), wire.RowSay
	c.rows = append(c.rows, row)
	c.next++
	return row.ID
}

// rowOf adds a row of an agent.
func (c *conversation) rowOf(s *speaker, row wire.UIRow) wire.RowID {
	newest := 0
	if n := len(s.all); n > 0 {
		newest = int(history.LastID(s.all))
	}
	row.Thread, row.ConversationHistoryIndex = s.name, &newest
	return c.row(row)
}

func (c *conversation) add(s *speaker, row wire.RowID, role providers.Role, blocks ...providers.Block) uint64 {
	s.last = history.NextID(s.last)
	s.all = append(s.all, history.Message{ID: s.last, Row: row, Entry: providers.Entry{Role: role, Turn: "t", Blocks: blocks}})
	return s.last
}

func words(format string, args ...any) providers.Block {
	return providers.Block{Kind: providers.BlockText, Text: fmt.Sprintf(format, args...)}
}

// recordVisible remembers what is visible before the next row, unless an unfinished message
// will have a later row.
func (c *conversation) recordVisible(user *speaker) {
	if user != nil && user.busy {
		return
	}
	visible := map[string][]string{}
	for name, s := range c.agents {
		if len(s.steered)+len(s.queued) > 0 || s.unshown != 0 || len(s.tools) > 0 {
			return
		}
		for _, m := range s.all {
			if m.Row == c.next && m.Role == providers.RoleAssistant {
				return
			}
		}
		visible[name] = visibleOf(s.all)
	}
	c.seen[c.next] = visible
}

func visibleOf(all []history.Message) []string {
	out := history.Effective(all)
	for i := range out {
		out[i].CondenseParent, out[i].TruncationParent = "", ""
	}
	return encoded(fataler{}, out)
}

type fataler struct{}

func (fataler) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func (c *conversation) tell(r *rapid.T, s *speaker) {
	c.recordVisible(s)
	row := c.rowOf(s, wire.UIRow{Say: wire.SayUserFeedback})
	switch {
	case !s.busy:
		s.busy = true
		c.take(s, row)
	case rapid.Bool().Draw(r, "steer"):
		s.steered = append(s.steered, row)
	default:
		s.queued = append(s.queued, row)
	}
}

func (c *conversation) take(s *speaker, row wire.RowID) {
	c.add(s, row, providers.RoleUser, words("asked in %d", row))
	c.said[row] = true
}

// reply adds an assistant message that calls tools, with or without a text.
func (c *conversation) reply(r *rapid.T, s *speaker) {
	var blocks []providers.Block
	hasText := rapid.Bool().Draw(r, "has text")
	if hasText {
		blocks = append(blocks, words("let me see"))
	}
	for range rapid.IntRange(1, 2).Draw(r, "calls") {
		c.calls++
		id := fmt.Sprint("call", c.calls)
		s.open = append(s.open, id)
		blocks = append(blocks, providers.Block{Kind: providers.BlockToolCall, Call: id, Tool: "look", Input: json.RawMessage(`{}`)})
	}
	id := c.add(s, c.next, providers.RoleAssistant, blocks...)
	if rapid.Bool().Draw(r, "thinks") {
		c.rowOf(s, wire.UIRow{Say: wire.SayReasoning})
	}
	if hasText {
		s.texts[id] = c.rowOf(s, wire.UIRow{Say: wire.SayText})
	}
}

// endTool completes one call. With the last one the results are added to the thread, and
// the steering messages.
func (c *conversation) endTool(s *speaker) {
	s.tools = append(s.tools, c.rowOf(s, wire.UIRow{Say: wire.SayTool}))
	if len(s.tools) < len(s.open) {
		return
	}
	var blocks []providers.Block
	for _, id := range s.open {
		blocks = append(blocks, providers.Block{Kind: providers.BlockToolResult, Call: id, Tool: "look", Text: "seen"})
	}
	s.results[c.add(s, c.next, providers.RoleUser, blocks...)] = s.tools
	s.open, s.tools = nil, nil
	for _, row := range s.steered {
		c.take(s, row)
	}
	s.steered = nil
}

// endTurn ends the turn and starts the next queued one, condensing the thread if necessary.
func (c *conversation) endTurn(r *rapid.T, s *speaker) {
	s.texts[s.unshown] = c.rowOf(s, wire.UIRow{Say: wire.SayText})
	c.rowOf(s, wire.UIRow{Say: wire.SayAPIReqFinished})
	s.unshown, s.busy = 0, false
	if _, err := history.CondenseInput(s.all); err == nil && rapid.IntRange(0, 4).Draw(r, "full") == 0 {
		c.condense(r, s)
	}
	c.startQueued(s)
}

// startQueued starts the queued messages of an idle agent.
func (c *conversation) startQueued(s *speaker) {
	s.queued = slices.Concat(s.steered, s.queued)
	s.steered = nil
	if !s.busy && len(s.queued) > 0 {
		s.busy = true
		c.take(s, s.queued[0])
		s.queued = s.queued[1:]
	}
}

func (c *conversation) condense(r *rapid.T, s *speaker) {
	c.recordVisible(nil)
	c.calls++
	id := fmt.Sprint("s", c.calls)
	s.last = history.NextID(s.last)
	var err error
	if s.all, _, err = history.Condensed(s.all, history.Summary{ID: s.last, Row: c.next, CondenseID: id, Text: "so far"}); err != nil {
		r.Fatal(err)
	}
	if visible := history.Effective(s.all); len(visible) != 1 || visible[0].CondenseID != id {
		r.Fatalf("a summary leaves %s, want only the summary", short(visible))
	}
	c.rowOf(s, wire.UIRow{Say: wire.SayCondenseContext, ContextCondense: &wire.ContextCondense{CondenseID: id}})
}

func (c *conversation) truncate(r *rapid.T, s *speaker) {
	c.calls++
	id := fmt.Sprint("t", c.calls)
	out, removed := history.Truncated(s.all, rapid.SampledFrom([]float64{0.5, 0.5, 0.9, 1}).Draw(r, "share"),
		history.Marker{ID: history.NextID(s.last), Row: c.next, TruncationID: id})
	if removed == 0 {
		return
	}
	if a, b := history.Tokens(history.View(s.all)), history.Tokens(history.View(out)); removed > 4 && b >= a {
		r.Fatalf("%d left out, but %d tokens became %d, want fewer", removed, a, b)
	}
	for i := range out[1:] {
		if call, result := out[i], out[i+1]; len(s.results[result.ID]) > 0 && call.TruncationParent != result.TruncationParent {
			r.Fatalf("a call and its result are truncated apart, want both or none: %s", short(out))
		}
	}
	c.recordVisible(nil)
	s.all, s.last = out, max(s.last, history.LastID(out))
	c.rowOf(s, wire.UIRow{Say: wire.SaySlidingWindowTruncation, ContextTruncation: &wire.ContextTruncation{TruncationID: id}})
}

func (c *conversation) edit(r *rapid.T) {
	row, ok := history.UserRowAt(c.rows, rapid.SampledFrom(c.rows).Draw(r, "row").TS)
	if !ok {
		return
	}
	c.rewind(r, row, false)
	s := c.agents[row.Thread]
	if !s.busy && len(s.queued) == 0 {
		c.tell(r, s)
	}
}

// rewind rewinds and compares the result with the recorded states.
func (c *conversation) rewind(r *rapid.T, target wire.UIRow, include bool) {
	threads := map[string][]history.Message{}
	for name, s := range c.agents {
		threads[name] = s.all
	}
	got, err := history.Rewind(history.Conversation{Rows: c.rows, Threads: threads}, history.Target{TS: target.TS, Include: include})
	if err != nil {
		r.Fatal(err)
	}
	gone := map[wire.RowID]bool{}
	for _, row := range got.Removed {
		gone[row.ID] = true
		if row.ID < target.ID {
			r.Fatalf("row %d is removed, want only rows from %d on", row.ID, target.ID)
		}
	}
	for _, row := range c.rows {
		stays := slices.ContainsFunc(got.Kept, func(k wire.UIRow) bool { return k.ID == row.ID })
		if want := row.ID > target.ID && !stays || row.ID == target.ID && !include; want != gone[row.ID] {
			r.Fatalf("row %d is removed: %v, want %v", row.ID, gone[row.ID], want)
		}
	}
	c.rows = slices.DeleteFunc(c.rows, func(row wire.UIRow) bool { return gone[row.ID] })
	if include {
		c.loose[target.ID] = true
	}
	for name, s := range c.agents {
		cut := got.Threads[name]
		c.compare(r, s, cut, target.ID)
		s.all = cut.Messages
		c.abortTurn(s, gone)
	}
	want, known := c.seen[target.ID]
	maps.DeleteFunc(c.seen, func(id wire.RowID, _ map[string][]string) bool { return id >= target.ID })
	if !known {
		return
	}
	for name, s := range c.agents {
		if visible := visibleOf(s.all); !slices.Equal(visible, want[name]) {
			r.Fatalf("%s sees after the rewind to row %d\n%s\nwant what it saw before it\n%s", name, target.ID, visible, want[name])
		}
	}
}

// compare fails if anything before the target has changed.
func (c *conversation) compare(r *rapid.T, s *speaker, cut history.RewoundThread, target wire.RowID) {
	if !slices.Equal(encoded(r, s.all[:cut.Same]), encoded(r, cut.Messages[:cut.Same])) {
		r.Fatalf("the first %d of %s are not the same, want them unchanged", cut.Same, s.name)
	}
	left, tags := map[uint64]history.Message{}, map[string]bool{"": true}
	for _, m := range cut.Messages {
		left[m.ID] = m
		tags[m.CondenseID], tags[m.TruncationID] = true, true
	}
	for _, m := range cut.Messages {
		if !tags[m.CondenseParent] || !tags[m.TruncationParent] {
			r.Fatalf("a tag names no message, want its summary or marker: %s", short(cut.Messages))
		}
	}
	for _, m := range s.all {
		l, stays := left[m.ID]
		if !stays {
			if m.Row < target && s.texts[m.ID] < target && s.unshown != m.ID {
				r.Fatalf("message %d of row %d was removed with row %d, want it kept", m.ID, m.Row, target)
			}
			continue
		}
		l.CondenseParent, l.TruncationParent = m.CondenseParent, m.TruncationParent
		if !slices.Equal(encoded(r, []history.Message{m}), encoded(r, []history.Message{l})) {
			r.Fatalf("message %d has changed, want it unchanged", m.ID)
		}
	}
}

// abortTurn ends the turn of an agent when its conversation is rewound.
func (c *conversation) abortTurn(s *speaker, gone map[wire.RowID]bool) {
	away := func(id wire.RowID) bool { return gone[id] || c.loose[id] }
	s.steered = slices.DeleteFunc(s.steered, away)
	s.queued = slices.DeleteFunc(s.queued, away)
	s.busy, s.open, s.tools, s.unshown = false, nil, nil, 0
	c.startQueued(s)
}

// checkInvariants fails unless the invariants hold.
func (c *conversation) checkInvariants(r *rapid.T) {
	there := map[wire.RowID]wire.UIRow{}
	for _, row := range c.rows {
		there[row.ID] = row
	}
	has := map[string]bool{} // ids of summaries and markers
	asked := map[wire.RowID]bool{}
	for _, s := range c.agents {
		c.reload(r, s)
		if err := providers.Check(history.View(s.all)); err != nil {
			r.Fatalf("%s: %v\n%s", s.name, err, short(s.all))
		}
		present := map[uint64]bool{}
		for i, m := range s.all {
			present[m.ID] = true
			has[m.CondenseID], has[m.TruncationID] = true, true
			if i > 0 && m.ID <= s.all[i-1].ID {
				r.Fatalf("ids of %s are not in order: %s, want ascending ids", s.name, short(s.all))
			}
			if c.said[m.Row] && m.Role == providers.RoleUser && len(m.Blocks) == 1 && m.Blocks[0].Kind == providers.BlockText && !m.IsSummary && !m.IsTruncationMarker {
				asked[m.Row] = true
				if _, ok := there[m.Row]; !ok {
					r.Fatalf("models have the message of row %d, and the user interface does not", m.Row)
				}
			}
			if row, ok := s.texts[m.ID]; ok && there[row].ID == 0 {
				r.Fatalf("models have the text of row %d, and the user interface does not", row)
			}
			for _, row := range s.results[m.ID] {
				if there[row].ID == 0 {
					r.Fatalf("models have the result of row %d, and the user interface does not", row)
				}
			}
		}
		for id, row := range s.texts {
			if there[row].ID != 0 && !present[id] && !c.loose[row] {
				r.Fatalf("the user interface has the text of row %d, and models do not", row)
			}
		}
	}
	for id, row := range there {
		switch {
		case c.loose[id]:
		case row.Say == wire.SayUserFeedback && c.said[id] && !asked[id]:
			r.Fatalf("the user interface has the message of row %d, and models do not", id)
		case row.ContextCondense != nil && !has[row.ContextCondense.CondenseID],
			row.ContextTruncation != nil && !has[row.ContextTruncation.TruncationID]:
			r.Fatalf("row %d names a removed summary or marker, want it removed, too", id)
		}
	}
}

// reload decodes a thread from its stored form, as the next owner does.
func (c *conversation) reload(r *rapid.T, s *speaker) {
	again := make([]history.Message, len(s.all))
	for i, data := range encoded(r, s.all) {
		if err := json.Unmarshal([]byte(data), &again[i]); err != nil {
			r.Fatal(err)
		}
	}
	if !slices.Equal(encoded(r, again), encoded(r, s.all)) {
		r.Fatalf("%s is read as %s, want the same", short(s.all), short(again))
	}
	s.all = again
}
