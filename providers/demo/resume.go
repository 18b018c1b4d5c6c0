package demo

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// finished is the suffix of the origin of text emitted after the named step was done. No step
// id ends with it.
const finished = "."

// origin returns the current position in the script for new text and calls. A turn that
// continues finds its position by it.
func (t *turn) origin() string {
	if t.stepDone {
		return t.at + finished
	}
	return t.at
}

// progress is the state of a turn that was cut off, read from the conversation.
type progress struct {
	// entries is the whole conversation; those from begin on belong to the turn. Each user entry
	// holds one message or consecutive tool results.
	entries []providers.Entry
	begin   int
	// place is the origin of the newest text or call.
	place string
	// calls holds the calls by the step that made them. Older versions did not record the step;
	// their calls are in unnamed.
	calls   map[string][]providers.ToolCall
	unnamed []providers.ToolCall
	results map[string]providers.ToolResult
}

// readProgress finds the turn that a message began, which is the newest of the conversation.
func readProgress(entries []providers.Entry, message string) *progress {
	p := &progress{
		entries: splitMessages(entries), begin: -1,
		calls: map[string][]providers.ToolCall{}, results: map[string]providers.ToolResult{},
	}
	for n, e := range p.entries {
		if isMessage(e) && e.Blocks[0].Origin == message {
			p.begin = n
		}
	}
	if p.begin < 0 { // the message was left out, or written by an older version
		p.begin = len(p.entries)
		for p.begin > 0 && p.entries[p.begin-1].Turn == p.entries[len(p.entries)-1].Turn {
			p.begin--
		}
	}
	for _, e := range p.entries[p.begin:] {
		for _, b := range e.Blocks {
			p.addBlock(e.Role, b)
		}
	}
	return p
}

// splitMessages splits joined user entries: each message, and each run of tool results, becomes an
// entry of its own.
func splitMessages(entries []providers.Entry) (out []providers.Entry) {
	for _, e := range entries {
		blocks := e.Blocks
		for e.Role == providers.RoleUser && len(blocks) > 0 {
			n := 1
			for n < len(blocks) && blocks[n].Origin == blocks[0].Origin && isResult(blocks[n]) == isResult(blocks[0]) {
				n++
			}
			e.Blocks = blocks[:n:n]
			out, blocks = append(out, e), blocks[n:]
		}
		if e.Role != providers.RoleUser {
			out = append(out, e)
		}
	}
	return out
}

func isResult(b providers.Block) bool { return b.Kind == providers.BlockToolResult }

// isMessage reports whether an entry is a message of a user.
func isMessage(e providers.Entry) bool {
	return e.Role == providers.RoleUser && len(e.Blocks) > 0 && !isResult(e.Blocks[0])
}

// addBlock records a block of the turn.
func (p *progress) addBlock(role providers.Role, b providers.Block) {
	if role == providers.RoleAssistant && b.Origin != "" {
		p.place = b.Origin
	}
	switch b.Kind {
	case providers.BlockToolCall:
		c := providers.ToolCall{ID: b.Call, Name: b.Tool, Input: b.Input}
		if b.Origin == "" {
			p.unnamed = append(p.unnamed, c)
			break
		}
		p.calls[b.Origin] = append(p.calls[b.Origin], c)
	case providers.BlockToolResult:
		p.results[b.Call] = providers.ToolResult{Text: b.Text, Images: b.Images, IsError: b.IsError}
	}
}

// beginning returns the text of the message that began the turn.
func (p *progress) beginning() (text string) {
	if p.begin < len(p.entries) {
		for _, b := range p.entries[p.begin].Blocks {
			if isMessage(p.entries[p.begin]) && b.Kind == providers.BlockText {
				text = b.Text
			}
		}
	}
	return text
}

// planMessages returns one script for each message of the turn, and the ids of the messages.
// Older versions did not record ids; if others have one, an entry without an id is no message:
// it was injected, or replaces what was left out.
func (p *progress) planMessages(s *session) (scripts [][]step, messages []string) {
	named := slices.ContainsFunc(p.entries[p.begin:], func(e providers.Entry) bool { return isMessage(e) && e.Blocks[0].Origin != "" })
	for n, e := range p.entries[p.begin:] {
		if !isMessage(e) || named && e.Blocks[0].Origin == "" {
			continue
		}
		id := e.Blocks[0].Origin
		if !named {
			id = fmt.Sprintf("%s#%d", e.Turn, len(messages))
		}
		scripts = append(scripts, withStepIDs(id, s.plan(p.entries[:p.begin+n], e)))
		messages = append(messages, id)
	}
	return scripts, messages
}

// outcomes returns all calls with their results, if any, and the calls without a result.
func (p *progress) outcomes(calls []providers.ToolCall) (all []outcome, open []providers.ToolCall) {
	for _, c := range calls {
		r, ok := p.results[c.ID]
		if !ok {
			open = append(open, c)
		}
		all = append(all, outcome{c, r})
	}
	return all, open
}

// identifyCalls assigns the oldest unnamed calls to a step if they are equal to its calls.
func (p *progress) identifyCalls(st step) {
	for _, c := range st.calls {
		if len(p.unnamed) > 0 && p.unnamed[0].Name == c.Name && sameInput(p.unnamed[0].Input, c.Input) {
			p.calls[st.id] = append(p.calls[st.id], p.unnamed[0])
			p.unnamed = p.unnamed[1:]
		}
	}
}

func sameInput(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// resume continues the turn. It plans the script again and skips everything before the newest
// step that produced text or calls: finished work is recognized by its id, whatever else the
// conversation has or lacks.
func (t *turn) resume() error {
	p := readProgress(t.s.entries, t.first.ID)
	for _, e := range p.entries[p.begin:] {
		for _, b := range e.Blocks {
			if e.Role == providers.RoleAssistant && b.Kind == providers.BlockText && b.Text != "" {
				t.spoken, t.ends = true, b.Text[len(b.Text)-1]
			}
		}
	}
	scripts, messages := p.planMessages(t.s)
	now, rest, found := p.findStep(slices.Concat(scripts...))
	calls := p.calls[now.id]
	switch isDone := strings.HasSuffix(p.place, finished); {
	case found && len(calls) > 0 && !isDone:
		t.script = withoutPastHangs(rest, messages)
		return t.continueStep(p, now, calls)
	case found && !isDone:
		rest = append([]step{now}, rest...)
	case found:
	case p.place == "" && len(p.unnamed) > 0: // only the remaining calls are known
		return t.continueStep(p, step{after: tellResults}, p.unnamed)
	case p.place == "" && p.isOpen():
		rest = slices.Concat(scripts...) // no step was done
	case p.place != "":
		rest = slices.Concat(scripts[p.doneMessages(messages, t.first.ID):]...)
	}
	t.script = withoutPastHangs(rest, messages)
	return nil
}

// continueStep continues a step whose calls are in the conversation: it makes the calls without a
// result, and emits the text about the results.
func (t *turn) continueStep(p *progress, st step, calls []providers.ToolCall) (err error) {
	t.at = st.id
	if outcomes, open := p.outcomes(calls); len(open) > 0 {
		err = t.finishCalls(open, t.first.Done, st)
	} else {
		err = t.emitResults(st, outcomes)
	}
	t.stepDone = err == nil
	return err
}

// isOpen reports whether the last entry is the user's.
func (p *progress) isOpen() bool {
	return len(p.entries) > 0 && p.entries[len(p.entries)-1].Role == providers.RoleUser
}

// findStep returns the current step of the turn and the steps after it, including those caused
// by earlier results.
func (p *progress) findStep(script []step) (now step, rest []step, found bool) {
	place := strings.TrimSuffix(p.place, finished)
	for rest = script; len(rest) > 0; {
		now, rest = rest[0], rest[1:]
		had := len(p.unnamed)
		if now.kind == stepCall && len(p.calls[now.id]) == 0 {
			p.identifyCalls(now)
		}
		found = now.id == place || p.place == "" && had > 0 && len(p.unnamed) == 0
		if found && !strings.HasSuffix(p.place, finished) {
			return now, rest, true
		}
		if outcomes, _ := p.outcomes(p.calls[now.id]); now.then != nil && len(outcomes) > 0 {
			rest = append(withStepIDs(now.id, now.then(outcomes)), rest...)
		}
		if found {
			return now, rest, true
		}
	}
	return step{}, nil, false
}

// doneMessages returns the number of finished messages of a turn whose current step was not
// found: those up to the message of the step. If that message is missing in the conversation,
// it came after the first message, if that is present, and before all others.
func (p *progress) doneMessages(messages []string, first string) int {
	for n, id := range slices.Backward(messages) {
		if strings.HasPrefix(p.place, id+"/") {
			return n + 1
		}
	}
	if len(messages) > 0 && messages[0] == first {
		return 1
	}
	return 0
}

// withoutPastHangs removes the /hang steps of messages that were followed by others.
func withoutPastHangs(script []step, messages []string) []step {
	return slices.DeleteFunc(script, func(st step) bool {
		return st.kind == stepHang && !strings.HasPrefix(st.id, messages[len(messages)-1]+"/")
	})
}
