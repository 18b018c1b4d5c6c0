package demo

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/everdesk/everdesk/providers"
)

// pastWindow is a window as the conversation shows it.
type pastWindow struct {
	// tool and in are the call that would open the window as it is.
	tool   string
	in     object
	closed bool
}

// body returns the renderer and the content of a window.
func (p pastWindow) body() (renderer string, content any) {
	if p.tool == "window_create_component" {
		return "component", p.in["components"]
	}
	inner, _ := p.in["content"].(object)
	renderer, _ = inner["renderer"].(string)
	return renderer, inner["content"]
}

// withFields returns the window with other fields; the window itself stays as it is.
func (p pastWindow) withFields(fields object) pastWindow {
	p.in = maps.Clone(p.in)
	maps.Copy(p.in, fields)
	return p
}

// pastTurn is a turn of the conversation.
type pastTurn struct {
	// begin is the index of its first entry.
	begin int
	text  string
	calls []pastCall
}

// pastCall is a call that succeeded, and its result.
type pastCall struct {
	tool, window string
	in           object
	result       string
}

// turns returns the turns of a conversation, each with its message and the calls that succeeded.
func turns(entries []providers.Entry) (out []pastTurn) {
	results := map[string]providers.Block{}
	for _, e := range entries {
		for _, b := range e.Blocks {
			if b.Kind == providers.BlockToolResult {
				results[b.Call] = b
			}
		}
	}
	for n, e := range entries {
		if n == 0 || e.Turn != entries[n-1].Turn {
			out = append(out, pastTurn{begin: n})
		}
		t := &out[len(out)-1]
		for _, b := range e.Blocks {
			switch {
			case b.Kind == providers.BlockText && e.Role == providers.RoleUser && t.text == "":
				t.text = b.Text
			case b.Kind == providers.BlockToolCall:
				if r, ok := results[b.Call]; !ok || r.IsError {
					continue
				}
				c := pastCall{tool: b.Tool, result: results[b.Call].Text}
				if json.Unmarshal(b.Input, &c.in) == nil {
					c.window, _ = c.in["windowId"].(string)
					t.calls = append(t.calls, c)
				}
			}
		}
	}
	return out
}

// recollect returns the windows that turns left, by id, and the ids in the order of their last use.
func recollect(past []pastTurn) (windows map[string]pastWindow, order []string) {
	windows = map[string]pastWindow{}
	for _, t := range past {
		for _, c := range t.calls {
			if c.window == "" {
				continue
			}
			old, known := windows[c.window]
			switch c.tool {
			case "window_create", "window_create_component":
				next := pastWindow{tool: c.tool, in: c.in}
				for _, field := range []string{"x", "y", "width", "height"} {
					if _, ok := next.in[field]; !ok && known && !old.closed && old.in[field] != nil {
						next = next.withFields(object{field: old.in[field]})
					}
				}
				windows[c.window] = next
			case "window_update":
				if known {
					windows[c.window] = updated(old, c.in)
				}
			case "window_update_component":
				if known {
					windows[c.window] = old.withFields(fieldsOf(c.in, "components", "cols", "gap"))
				}
			case "window_move":
				if known {
					windows[c.window] = old.withFields(fieldsOf(c.in, "x", "y", "width", "height"))
				}
			case "window_close":
				if known {
					old.closed = true
					windows[c.window] = old
				}
			default:
				continue
			}
			order = append(slices.DeleteFunc(order, func(id string) bool { return id == c.window }), c.window)
		}
	}
	return windows, order
}

// updated returns a window after a call of window_update.
func updated(p pastWindow, in object) pastWindow {
	renderer, content := p.body()
	switch in["operation"] {
	case "replace":
		content = in["content"]
	case "clear":
		content = ""
	case "append", "prepend":
		old, _ := content.(string)
		more, _ := in["content"].(string)
		if in["operation"] == "append" {
			content = old + more
		} else {
			content = more + old
		}
	}
	return p.withFields(object{"content": object{"renderer": renderer, "content": content}})
}

func fieldsOf(in object, names ...string) object {
	out := object{}
	for _, name := range names {
		if v, ok := in[name]; ok {
			out[name] = v
		}
	}
	return out
}
