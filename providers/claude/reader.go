package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/jsonline"
)

// read handles the lines of the program until it ends.
func (b *backend) read() {
	defer close(b.ended)
	defer b.cancel()
	for {
		raw, err := b.process.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var l line
		if err == nil {
			err = json.Unmarshal(raw, &l)
		}
		if err != nil { // a line too long, or none of the protocol: the rest may still make sense
			if errors.Is(err, jsonline.ErrLineTooLong) {
				b.session.Text(fmt.Sprintf("\n(%v)\n", err))
			}
			continue
		}
		b.handleLine(&l)
	}
	<-b.process.Done()
	b.session.Exited(b.process.Err())
}

// handleLine handles a line. It does not block, except while the session has too much to deliver.
func (b *backend) handleLine(l *line) {
	switch l.Type {
	case "control_response":
		if l.Response != nil {
			b.mu.Lock()
			reply := b.replies[l.Response.RequestID]
			delete(b.replies, l.Response.RequestID)
			b.mu.Unlock()
			if reply != nil {
				reply <- *l.Response
			}
		}
	case "control_request":
		if l.Request != nil {
			b.request(l.RequestID, l.Request)
		}
	case "control_cancel_request":
		b.mu.Lock()
		delete(b.asked, l.RequestID)
		b.mu.Unlock()
		b.session.Withdraw(l.RequestID)
	case "command_lifecycle":
		b.lifecycle(l)
	case "stream_event":
		if l.Event != nil && l.Parent == nil {
			b.stream(l.Event)
		}
	case "assistant":
		if l.Message != nil && l.Parent == nil && l.Message.Model != synthetic {
			b.assistant(l.Message)
		}
	case "user":
		if l.Message != nil && l.Parent == nil {
			b.results(l.Message)
		}
	case "system":
		if l.Subtype == "api_retry" {
			b.session.Retrying(providers.Event{
				Text: fmt.Sprintf("the model server answers with status %d", l.ErrorStatus),
				Wait: time.Duration(l.RetryDelay) * time.Millisecond,
			})
		}
	case "result":
		b.result(l)
	}
}

// lifecycle handles the progress of a message.
func (b *backend) lifecycle(l *line) {
	b.mu.Lock()
	m := b.messages[l.Command]
	over := false
	if m != nil {
		switch {
		case l.State == "started":
			m.started = true
		case l.State == "cancelled" && !m.started: // no result follows; one that was started has one
			delete(b.messages, l.Command)
			over = len(b.messages) == 0
		}
	}
	b.mu.Unlock()
	switch {
	case over:
		b.session.Ended(providers.Interrupted, nil)
	case m != nil && l.State == "started":
		b.session.Taken(m.id)
	}
}

// stream handles a piece of a reply.
func (b *backend) stream(e *streamEvent) {
	switch {
	case e.Type == "content_block_start":
		b.streamed = 0
	case e.Type == "content_block_delta" && e.Delta.Type == "text_delta":
		b.streamed += len(e.Delta.Text)
		b.session.Text(e.Delta.Text)
	case e.Type == "content_block_delta" && e.Delta.Type == "thinking_delta":
		b.session.Thinking(e.Delta.Thinking)
	}
}

// assistant handles finished blocks of a reply. Text that was not streamed is published now.
func (b *backend) assistant(m *message) {
	for _, c := range m.Content {
		switch c.Type {
		case "text":
			if len(c.Text) > b.streamed {
				b.session.Text(c.Text[b.streamed:])
			}
			b.streamed = 0
		case "tool_use":
			b.session.ToolStarted(providers.ToolCall{ID: c.ID, Name: strings.TrimPrefix(c.Name, toolPrefix), Input: c.Input})
		}
	}
}

// results handles the results of tools.
func (b *backend) results(m *message) {
	for _, c := range m.Content {
		if c.Type == "tool_result" {
			b.session.ToolEnded(c.ToolUseID, providers.ToolResult{Text: c.Content.text(), IsError: c.IsError})
		}
	}
}

// result handles the end of a part of the turn: of the messages that it has taken. The turn is over
// when no other message is left, or when it was interrupted or failed.
func (b *backend) result(l *line) {
	outcome, err := l.outcome()
	b.mu.Lock()
	if len(l.Messages) > 0 && !slices.ContainsFunc(l.Messages, func(uuid string) bool { return b.messages[uuid] != nil }) {
		b.mu.Unlock()
		return // of an earlier turn
	}
	for uuid, m := range b.messages {
		if m.started {
			delete(b.messages, uuid)
		}
	}
	for _, uuid := range l.Messages {
		delete(b.messages, uuid)
	}
	cut := !l.IsError && strings.HasPrefix(l.Reason, "aborted_") // by a steered message, which follows
	over := len(b.messages) == 0 && !cut
	if outcome == providers.Interrupted {
		over = true
		clear(b.messages)
	}
	usd := l.TotalUSD - b.usd
	b.usd = l.TotalUSD
	b.mu.Unlock()
	b.streamed = 0
	if u := l.Usage; u != nil && u.Input+u.Output+u.CacheRead+u.CacheWrite > 0 {
		b.session.Usage(providers.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, USD: max(0, usd)})
	}
	if over {
		b.session.Ended(outcome, err)
	}
}
