package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/jsonrpc"
)

// maxFile bounds a file that an agent reads through the hub, in bytes.
const maxFile = 8 << 20

// serve executes a request of the agent, on a goroutine of its own.
func (b *backend) serve(ctx context.Context, c jsonrpc.Served) (any, error) {
	switch c.Method {
	case "session/request_permission":
		return b.permission(ctx, c)
	case "fs/read_text_file":
		return b.readFile(decode[fileRequest](c.Params))
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
	call := b.merge(p.Call)
	if call.hub != "" {
		b.startCall(call) // some agents report no other beginning of it
		return selected(p.Options, "allow_once", "allow_always"), nil
	}
	d, ok, err := b.ask(ctx, c.ID, b.translate(call))
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

// ask asks the users and waits for the decision; ok is false if the question was withdrawn.
func (b *backend) ask(ctx context.Context, question string, c providers.ToolCall) (d providers.Decision, ok bool, err error) {
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

// allowWrites remembers the files that an approved call changes.
func (b *backend) allowWrites(c toolCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range c.Content {
		if rel, ok := b.inside(p.Path); ok && p.Type == "diff" {
			b.writable[rel] = true
		}
	}
}

// fileRequest asks for reading or writing a file.
type fileRequest struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Line    int    `json:"line"`
	Limit   int    `json:"limit"`
}

// errOutside refuses a file that the agent may not touch through the hub.
var errOutside = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the file is not in the working directory"}

// inside returns the path of a file relative to the working directory. Whether symbolic links lead
// out of that is checked when the file is opened.
func (b *backend) inside(path string) (string, bool) {
	dirs := []string{b.dir}
	if target, err := filepath.EvalSymlinks(b.dir); err == nil {
		dirs = append(dirs, target)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(b.dir, path)
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// readFile reads a file, or some lines of it.
func (b *backend) readFile(r fileRequest) (any, error) {
	rel, ok := b.inside(r.Path)
	if !ok {
		return nil, errOutside
	}
	f, err := b.root.Open(rel)
	if err != nil {
		return nil, fileError(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "it is not a file"}
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fileError(err)
	case len(raw) > maxFile:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("the file has more than %d bytes", maxFile)}
	}
	return map[string]any{"content": section(string(raw), r.Line, r.Limit)}, nil
}

// section returns the lines from a line on, which counts from 1, at most limit ones; 0 means all.
func section(text string, line, limit int) string {
	if line <= 1 && limit <= 0 {
		return text
	}
	all := strings.SplitAfter(text, "\n")
	all = all[min(max(line-1, 0), len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return strings.Join(all, "")
}

// writeFile writes a file. Users are asked unless they have approved the call that does so.
func (b *backend) writeFile(ctx context.Context, question string, r fileRequest) (any, error) {
	rel, ok := b.inside(r.Path)
	if !ok {
		return nil, errOutside
	}
	b.mu.Lock()
	approved := b.running && b.writable[rel]
	b.mu.Unlock()
	if !approved {
		before := ""
		if raw, err := b.root.ReadFile(rel); err == nil {
			before = string(raw)
		}
		d, ok, err := b.ask(ctx, question, providers.ToolCall{
			ID: "write-" + question, Name: "apply_patch", Input: encode(map[string]any{"patch": diff(rel, before, r.Content)}),
		})
		if err != nil || !ok || !d.Allow {
			return nil, errors.Join(&jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "the user did not allow it"}, err)
		}
	}
	err := b.root.MkdirAll(filepath.Dir(rel), 0o700)
	if err == nil {
		err = b.root.WriteFile(rel, []byte(r.Content), 0o600)
	}
	if err != nil {
		return nil, fileError(err)
	}
	return map[string]any{}, nil
}

// fileError returns an error of a file without the place of the working directory.
func fileError(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		err = fmt.Errorf("%s %s: %w", p.Op, p.Path, p.Err)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: err.Error()}
}
