package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent"
	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// update is a notification about the conversation, of any kind.
type update struct {
	Kind string `json:"sessionUpdate"`
	// Content is a block for pieces of text.
	Content json.RawMessage `json:"content"`
	Entries []planEntry     `json:"entries"`
	Cost    *struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	} `json:"cost"`
}

// planEntry is a part of the agent's plan.
type planEntry struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

// block is a piece of content.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	URI      string `json:"uri"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

// text returns what can be read of a block.
func (c block) text() string {
	switch c.Type {
	case "text":
		return c.Text
	case "resource_link":
		return c.URI
	case "resource":
		return c.Resource.URI + "\n" + c.Resource.Text
	case "":
		return ""
	default:
		return "(" + c.Type + ")"
	}
}

// notified handles a notification.
func (b *backend) notified(method string, params json.RawMessage) {
	if method != "session/update" {
		return
	}
	n := decode[struct {
		Session string          `json:"sessionId"`
		Update  json.RawMessage `json:"update"`
	}](params)
	b.mu.Lock()
	foreign := b.id == "" || n.Session != b.id || !b.running // of a sub-agent, or of a conversation that is being loaded
	b.mu.Unlock()
	u := decode[update](n.Update)
	if u.Kind == "usage_update" {
		b.mu.Lock()
		b.costs.add(u)
		b.mu.Unlock()
	}
	if foreign {
		return
	}
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan":
		b.takePrompt()
	}
	switch u.Kind {
	case "agent_message_chunk":
		b.session.Text(decode[block](u.Content).text())
	case "agent_thought_chunk":
		b.session.Thinking(decode[block](u.Content).text())
	case "tool_call", "tool_call_update":
		b.updateCall(decode[report](n.Update))
	case "plan":
		b.reportPlan(u.Entries)
	}
}

// reportPlan reports a plan, when it changes, as a call of a tool that writes it down.
func (b *backend) reportPlan(entries []planEntry) {
	input := encode(map[string]any{"todos": entries})
	b.mu.Lock()
	same := b.plan == string(input)
	b.plan = string(input)
	b.plans++
	id := fmt.Sprintf("plan-%s-%d", b.id, b.plans)
	b.mu.Unlock()
	if same {
		return
	}
	b.session.ToolStarted(providers.ToolCall{ID: id, Name: "update_todo_list", Input: input})
	b.session.ToolEnded(id, providers.ToolResult{Text: "noted"})
}

// costs counts the cost of a conversation, which the agent reports as a sum in US dollars.
type costs struct {
	sum     float64 // newest sum that the agent has reported
	known   bool    // the agent has reported one
	resumed bool    // the conversation has earlier turns, which the first sum contains
	pending float64 // cost since the last flush
}

// add counts what a new sum adds to the one before. The first sum of a conversation that was resumed
// counts nothing.
func (c *costs) add(u update) {
	if u.Cost == nil || u.Cost.Currency != "USD" {
		return
	}
	if c.known || !c.resumed {
		c.pending += max(0, u.Cost.Amount-c.sum)
	}
	c.sum, c.known = u.Cost.Amount, true
}

// flush returns the cost since the last call.
func (c *costs) flush() float64 {
	cost := c.pending
	c.pending = 0
	return cost
}

// promptResult is the answer to a prompt.
type promptResult struct {
	Reason string `json:"stopReason"`
	Usage  *struct {
		Input      int `json:"inputTokens"`
		Output     int `json:"outputTokens"`
		CacheRead  int `json:"cachedReadTokens"`
		CacheWrite int `json:"cachedWriteTokens"`
	} `json:"usage"`
}

// reportUsage reports the usage of a prompt, if the agent has reported it.
func (b *backend) reportUsage(r promptResult) {
	b.mu.Lock()
	u := providers.Usage{USD: b.costs.flush()}
	b.mu.Unlock()
	if r.Usage != nil {
		u.Input, u.Output, u.CacheRead, u.CacheWrite = r.Usage.Input, r.Usage.Output, r.Usage.CacheRead, r.Usage.CacheWrite
		u.Unpriced = u.USD == 0
	}
	if u != (providers.Usage{}) {
		b.session.Usage(u)
	}
}

// outcome returns how the turn ended, given the error of the prompt.
func (r promptResult) outcome(err error) (providers.Outcome, error) {
	if err != nil {
		return providers.Failed, failure(err)
	}
	switch r.Reason {
	case "end_turn", "":
		return providers.Completed, nil
	case "cancelled":
		return providers.Interrupted, nil
	case "refusal":
		return providers.Failed, &providers.Failure{Class: providers.Refused, Err: errors.New("the agent refuses to go on")}
	default: // max_tokens, max_turn_requests
		return providers.Failed, &providers.Failure{Class: providers.Invalid, Err: errors.New("the agent stopped: " + r.Reason)}
	}
}

// statusNumber matches the status of a failed HTTP request in a text.
var statusNumber = regexp.MustCompile(`\b[45][0-9][0-9]\b`)

// failure classifies the error of a prompt. Agents put the error of the model server into the text,
// the data or the code of theirs.
func failure(err error) *providers.Failure {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok {
		return &providers.Failure{Class: providers.Transport, Err: err}
	}
	text := e.Message
	if len(e.Data) > 0 && string(e.Data) != "null" {
		text += ": " + string(e.Data)
	}
	var status int
	switch {
	case e.Code == codeAuth:
		status = http.StatusUnauthorized
	case e.Code >= 400 && e.Code < 600:
		status = e.Code
	case e.Code == jsonrpc.CodeInvalidParams, e.Code == jsonrpc.CodeInvalidRequest:
		status = http.StatusBadRequest
	default:
		status, _ = strconv.Atoi(statusNumber.FindString(text)) // 0 if there is none
	}
	return agent.HTTPFailure(status, strings.TrimSpace(text))
}
