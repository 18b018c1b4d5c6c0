package agent

import (
	"context"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// maxResult bounds a result of the agent's own tools in the conversation, in bytes.
const maxResult = 64 << 10

// ToolStarted reports a call of a tool, of the agent itself or of the hub.
func (s *Session) ToolStarted(c providers.ToolCall) {
	s.withRunningTurn(func(t *turn) { s.callLocked(t, c) })
}

// ToolEnded reports the result of a call.
func (s *Session) ToolEnded(call string, r providers.ToolResult) {
	if len(r.Text) > maxResult {
		r.Text = strings.ToValidUTF8(r.Text[:maxResult], "") + "…"
	}
	s.withRunningTurn(func(t *turn) { s.resultLocked(t, call, r) })
}

// callLocked adds a call to the conversation, once; mu is held.
func (s *Session) callLocked(t *turn, c providers.ToolCall) {
	if t.known[c.ID] {
		return
	}
	t.known[c.ID], t.open[c.ID] = true, c.Name
	block := providers.Block{Kind: providers.BlockToolCall, Call: c.ID, Tool: c.Name, Input: providers.WholeInput(c.Input), Origin: t.id}
	blocks := []providers.Block{block}
	if text := t.text.String(); strings.TrimSpace(text) != "" {
		blocks = []providers.Block{{Kind: providers.BlockText, Text: text}, block}
	}
	t.text.Reset()
	s.entries.add(t.id, s.ownLocked(), providers.RoleAssistant, blocks...)
}

// resultLocked adds the result of an open call. Results of calls that run at once are added to the
// conversation together, because all calls without a result have to be at its end; mu is held.
func (s *Session) resultLocked(t *turn, call string, r providers.ToolResult) {
	tool, ok := t.open[call]
	if !ok {
		return
	}
	delete(t.open, call)
	t.results = append(t.results, providers.Block{
		Kind: providers.BlockToolResult, Call: call, Tool: tool, Text: r.Text, Images: r.Images, IsError: r.IsError,
	})
	if len(t.open) == 0 {
		s.entries.add(t.id, s.ownLocked(), providers.RoleUser, t.results...)
		t.results = nil
	}
}

// Call executes a tool of the hub for the agent, on the caller's goroutine. It ends with the turn
// and with the context.
func (s *Session) Call(ctx context.Context, c providers.ToolCall) providers.ToolResult {
	c.Input = providers.WholeInput(c.Input)
	s.mu.Lock()
	t := s.turn
	if t == nil || t.ending || s.state != open {
		s.mu.Unlock()
		return providers.ToolResult{Text: "The turn is over.", IsError: true}
	}
	s.announceLocked(t)
	s.takeLocked(t, t.id)
	s.callLocked(t, c)
	r := s.executeLocked(ctx, t, c)
	s.resultLocked(t, c.ID, r)
	s.mu.Unlock()
	return r
}

// executeLocked executes a tool after its call was delivered. It releases mu meanwhile.
func (s *Session) executeLocked(ctx context.Context, t *turn, c providers.ToolCall) providers.ToolResult {
	delivered := make(chan struct{})
	s.out.push(nil, delivered)
	s.wg.Add(1)
	defer s.wg.Done()
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-delivered:
	case <-t.ctx.Done():
		return providers.ToolResult{Text: "The turn is over.", IsError: true}
	}
	tool, ok := s.tools[c.Name]
	if !ok || s.spec.Call == nil {
		return providers.ToolResult{Text: "There is no tool " + c.Name + ".", IsError: true}
	}
	if tool.Parallel {
		s.toolLock.RLock()
		defer s.toolLock.RUnlock()
	} else {
		s.toolLock.Lock()
		defer s.toolLock.Unlock()
	}
	// The end of the turn must end it at once, so it is the parent.
	during, cancel := context.WithCancel(t.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if during.Err() != nil {
		return providers.ToolResult{Text: "The turn is over.", IsError: true}
	}
	return s.spec.Call(during, c)
}

// resume continues the unfinished turn at the end of the conversation.
func (s *Session) resume(m providers.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := providers.Corrected(s.from, providers.CorrectOptions{Open: true})
	if s.state == open && s.turn == nil && len(from) == 0 {
		return invalid("there is no turn to continue")
	}
	t, err := s.beginLocked(m.ID)
	if err != nil {
		return err
	}
	s.announceLocked(t)
	last := from[len(from)-1]
	calls, results := newestCalls(from)
	if last.Role == providers.RoleAssistant && len(calls) == 0 {
		s.finishLocked(t, providers.Completed, nil)
		return nil
	}
	for _, c := range calls {
		t.known[c.Call] = true
		if _, done := results[c.Call]; !done {
			t.open[c.Call] = c.Tool
		}
	}
	s.wg.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		var all []providers.Block
		for _, c := range calls {
			all = append(all, s.completeLocked(t, c, results, m.Done))
		}
		switch {
		case s.turn != t:
			return
		case t.ending:
			s.finishLocked(t, providers.Interrupted, nil)
			return
		}
		s.mu.Unlock()
		_ = s.sendToAgent(t.ctx, t, providers.Message{ID: m.ID, Mode: providers.Continue, Text: continuation(all)}) // an error has ended the session
		s.mu.Lock()
	})
	return nil
}

// completeLocked returns the result of a call of the unfinished turn: the one that the conversation
// or the hub has, or that of executing it now.
func (s *Session) completeLocked(t *turn, c providers.Block, results map[string]providers.Block, done map[string]providers.ToolResult) providers.Block {
	if b, ok := results[c.Call]; ok {
		return b
	}
	r, ok := done[c.Call]
	if !ok {
		r = providers.ToolResult{Text: "The turn is over.", IsError: true}
		if s.turn == t && !t.ending {
			r = s.executeLocked(t.ctx, t, providers.ToolCall{ID: c.Call, Name: c.Tool, Input: providers.WholeInput(c.Input)})
		}
	}
	if s.turn == t {
		s.resultLocked(t, c.Call, r)
	}
	return providers.Block{Kind: providers.BlockToolResult, Call: c.Call, Text: r.Text, IsError: r.IsError}
}
