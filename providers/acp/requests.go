package acp

import (
	"context"
	"errors"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// handleRequest executes a request of the agent, on a goroutine of its own.
func (b *backend) handleRequest(ctx context.Context, c jsonrpc.Served) (any, error) {
	switch c.Method {
	case "session/request_permission":
		return b.permission(ctx, c)
	case "fs/read_text_file":
		r := decode[fileRequest](c.Params)
		return b.dir.readLines(r.Path, r.Line, r.Limit)
	case "fs/write_text_file":
		return b.writeFile(ctx, c.ID, decode[fileRequest](c.Params))
	default:
		return nil, jsonrpc.NoMethod(c.Method)
	}
}

// option is an answer that an agent offers.
type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// permission asks the users whether the agent may do something.
func (b *backend) permission(ctx context.Context, c jsonrpc.Served) (any, error) {
	p := decode[struct {
		Session string   `json:"sessionId"`
		Call    report   `json:"toolCall"`
		Options []option `json:"options"`
	}](c.Params)
	b.takePrompt()
	call := b.merge(p.Call)
	if call.hub != "" {
		b.startCall(call) // some agents report no other beginning of it
		return selected(p.Options, "allow_once", "allow_always"), nil
	}
	d, ok, err := b.askUsers(ctx, c.ID, call.translate(b.dir))
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return canceled(), nil
	case d.Allow:
		b.allowWrites(call)
		return selected(p.Options, "allow_once"), nil // never for ever
	case d.Stop:
		err := b.notifyCancel(ctx)
		return canceled(), err
	default:
		return selected(p.Options, "reject_once", "reject_always"), nil
	}
}

// askUsers asks the users and waits for the decision; ok is false if the question was withdrawn.
func (b *backend) askUsers(ctx context.Context, question string, c providers.ToolCall) (d providers.Decision, ok bool, err error) {
	decided := make(chan providers.Decision, 1)
	b.mu.Lock()
	if !b.running || b.interrupted {
		b.mu.Unlock()
		return d, false, nil
	}
	b.asked[question] = decided
	b.mu.Unlock()
	b.session.Ask(question, c)
	select {
	case d, ok = <-decided:
		return d, ok, nil
	case <-ctx.Done():
		return d, false, context.Cause(ctx)
	}
}

// selected returns the answer with the first option of these kinds; without one it is canceled.
func selected(options []option, kinds ...string) any {
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == kind {
				return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": o.ID}}
			}
		}
	}
	return canceled()
}

func canceled() any {
	return map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
}

// allowWrites records the changes of files of an approved call.
func (b *backend) allowWrites(c toolCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changes := map[string][]callContent{}
	for _, p := range c.Content {
		if rel, ok := b.dir.inside(p.Path); ok && p.Type == "diff" {
			changes[rel] = append(changes[rel], p)
		}
	}
	for rel, parts := range changes {
		b.approved[rel] = append(b.approved[rel], parts)
	}
}

// isApproved reports whether users have approved that a file gets a text: the parts of an approved call make it of the
// present one, each of them alone or all in a row.
func (b *backend) isApproved(rel, before, after string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, parts := range b.approved[rel] {
		for _, times := range []int{1, -1} {
			text := before
			for _, p := range parts {
				if p.applied(before, times) == after {
					return b.running
				}
				text = p.applied(text, times)
			}
			if text == after {
				return b.running
			}
		}
	}
	return false
}

// applied returns a text after the change, which names the whole text, or a part that is replaced that many times; -1 means
// wherever it occurs.
func (c callContent) applied(text string, times int) string {
	switch c.Old {
	case text:
		return c.New
	case "":
		return text
	default:
		return strings.Replace(text, c.Old, c.New, times)
	}
}

// fileRequest asks for reading or writing a file.
type fileRequest struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Line    int    `json:"line"`
	Limit   int    `json:"limit"`
}

// writeFile writes a file. Users are asked unless they have approved a call that makes this change.
func (b *backend) writeFile(ctx context.Context, question string, r fileRequest) (any, error) {
	rel, ok := b.dir.inside(r.Path)
	if !ok {
		return nil, errOutside
	}
	before, err := b.dir.content(rel)
	if err != nil {
		return nil, err
	}
	if !b.isApproved(rel, before, r.Content) {
		d, ok, err := b.askUsers(ctx, question, providers.ToolCall{
			ID: "write-" + question, Name: "apply_patch", Input: encode(map[string]any{"patch": diff(rel, before, r.Content)}),
		})
		if err != nil || !ok || !d.Allow {
			return nil, errors.Join(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the user did not allow it"}, err)
		}
	}
	if err := b.dir.write(rel, r.Content); err != nil {
		return nil, err
	}
	return map[string]any{}, nil
}
