package tools

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/everdesk/everdesk/wire"
)

// Hooks are actions that a user wants to happen automatically: when a desktop is created or
// reset, or when an agent uses a tool.

type (
	hookEvent      string
	hookActionType string
)

// Events and actions of hooks.
const (
	hookLaunch  hookEvent = "launch"
	hookToolUse hookEvent = "tool_use"

	hookInteraction hookActionType = "interaction"
	hookOSAction    hookActionType = "os_action"
)

// Bounds of hooks.
const (
	maxHooks       = 50
	maxHookPayload = 4 << 10 // the user sees all of it before a hook is added
	maxHookActions = 20
)

// firstMonitor is the monitor of hooks whose caller has none.
const firstMonitor wire.MonitorID = "monitor-0"

type hook struct {
	ID        string      `json:"id"`
	Event     hookEvent   `json:"event"`
	Filter    *hookFilter `json:"filter,omitempty"`
	Action    hookAction  `json:"action"`
	Label     string      `json:"label"`
	Enabled   bool        `json:"enabled"`
	CreatedAt wire.Millis `json:"createdAt"`
}

type hookFilter struct {
	ToolName json.RawMessage `json:"toolName,omitempty" jsonschema:"A tool or a list of tools, such as window:create."`
}

type hookAction struct {
	Type    hookActionType  `json:"type"`
	Payload json.RawMessage `json:"payload" jsonschema:"For interaction the message to send; for os_action a desktop action or a list of them."`
}

type hooks struct {
	Hooks     []hook `json:"hooks"`
	IDCounter int    `json:"idCounter"`
}

// tools returns the names of the tools that a hook applies to; none means all.
func (f *hookFilter) tools() ([]string, error) {
	if f == nil || len(f.ToolName) == 0 || string(f.ToolName) == "null" {
		return nil, nil
	}
	var one string
	if json.Unmarshal(f.ToolName, &one) == nil {
		return []string{one}, nil
	}
	var some []string
	if err := json.Unmarshal(f.ToolName, &some); err != nil {
		return nil, errors.New("filter.toolName: it is a name or a list of names")
	}
	return some, nil
}

// hookActions decodes the desktop actions of a hook.
func (e *Executor) hookActions(a hookAction) ([]wire.Action, error) {
	payload := strings.TrimSpace(string(a.Payload))
	if strings.HasPrefix(payload, "[") {
		some, err := e.forms.actions.Decode([]byte(payload))
		if err == nil && len(some) == 0 {
			err = errors.New("there must be at least one action")
		}
		return some, err
	}
	one, err := e.forms.action.Decode([]byte(payload))
	if err != nil {
		return nil, err
	}
	return []wire.Action{one}, nil
}

// checkHook validates a hook.
func (e *Executor) checkHook(h hook) error {
	names, err := h.Filter.tools()
	if err != nil {
		return err
	}
	for _, name := range names {
		if e.tools.byName[name] == nil {
			return fmt.Errorf("filter.toolName: there is no tool %q", truncate(name, 100))
		}
	}
	switch {
	case h.Event == "":
		return errors.New("event: a hook needs one")
	case h.Action.Type == "":
		return errors.New("action: a hook needs one")
	case len(names) > 0 && h.Event != hookToolUse:
		return errors.New("filter: only hooks of tool_use have one")
	case h.Event == hookToolUse && h.Action.Type != hookOSAction:
		return errors.New("action.type: hooks of tool_use can only do os_action")
	case len(h.Action.Payload) > maxHookPayload:
		return fmt.Errorf("action.payload: it has %d bytes, at most %d are allowed", len(h.Action.Payload), maxHookPayload)
	}
	if h.Action.Type == hookInteraction {
		var message string
		if json.Unmarshal(h.Action.Payload, &message) != nil || strings.TrimSpace(message) == "" {
			return errors.New("action.payload: an interaction is a message, a string that is not empty")
		}
		return nil
	}
	actions, err := e.hookActions(h.Action)
	if err != nil {
		return fmt.Errorf("action.payload: %w", fieldError(err))
	}
	if len(actions) > maxHookActions {
		return fmt.Errorf("action.payload: %d actions, at most %d are allowed", len(actions), maxHookActions)
	}
	if err := checkActions(actions); err != nil {
		return fmt.Errorf("action.payload: %w", err)
	}
	return nil
}

// visible replaces unprintable characters with escapes, so that no part of the text is hidden
// from the user.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// visibleCode returns code with its lines, in which nothing is hidden from the user. No line is empty: what the hub adds to
// a question begins behind an empty line, and code must not look like it.
func visibleCode(code string) string {
	lines := strings.Split(strings.ReplaceAll(code, "\r\n", "\n"), "\n")
	for i, line := range lines {
		lines[i] = cmp.Or(visible(strings.ReplaceAll(line, "\t", "    ")), " ")
	}
	return strings.Join(lines, "\n")
}

// matches reports whether a hook applies to a tool, given by its registry name.
func (e *Executor) matches(h hook, tool string) bool {
	names, err := h.Filter.tools()
	if err != nil {
		return false
	}
	return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
		t := e.tools.byName[n]
		return t != nil && t.name == tool
	})
}

// hooksTimeout bounds loading the hooks, so that a slow store does not delay tools for long.
const hooksTimeout = 2 * time.Second

// hooksOf returns the enabled hooks of a user for an event. If they cannot be loaded, it logs
// that and returns none.
func (e *Executor) hooksOf(ctx context.Context, user string, event hookEvent) []hook {
	if user == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hooksTimeout)
	defer cancel()
	all, _, err := load[hooks](ctx, e, hookCollection, user)
	if err != nil {
		e.cfg.Logger.Warn("hooks not loaded", "user", user, "error", err)
		return nil
	}
	return slices.DeleteFunc(all.Hooks, func(h hook) bool { return !h.Enabled || h.Event != event })
}

// fire runs the hooks of the tool, at most once per use. It is called after the session has
// accepted the call. Failures of hooks do not affect the call.
func (u *use) fire(ctx context.Context) {
	if !u.fires {
		return
	}
	u.fires = false
	for _, h := range u.hooksOf(ctx, u.User, hookToolUse) {
		if u.matches(h, u.call.Tool) {
			// The id is derived from the call: if the next owner repeats the call, the session
			// drops the message as a duplicate.
			u.launch(ctx, u.Caller, h, wire.MessageID(u.id(h.ID)))
		}
	}
}

// Launch runs the launch hooks of the caller's user. Failures are logged.
func (e *Executor) Launch(ctx context.Context, c Caller) {
	defer func() {
		if v := recover(); v != nil {
			e.panicked("launch", v)
		}
	}()
	for _, h := range e.hooksOf(ctx, c.User, hookLaunch) {
		e.launch(ctx, c, h, wire.MessageID(h.ID+"-"+rand.Text()))
	}
}

// launch submits the message or the actions of a hook to the session under the given id.
func (e *Executor) launch(ctx context.Context, c Caller, h hook, id wire.MessageID) {
	m := wire.Message{Session: c.Session, ID: id}
	monitor := cmp.Or(c.Monitor, firstMonitor)
	err := id.Validate()
	switch {
	case err != nil:
	case h.Action.Type == hookInteraction:
		var content string
		err = json.Unmarshal(h.Action.Payload, &content)
		m.Data = wire.UserMessage{MessageID: id, Content: content, MonitorID: monitor}
	default:
		var actions []wire.Action
		actions, err = e.hookActions(h.Action)
		m.Data = wire.Emit{MessageID: id, Actions: actions, MonitorID: monitor}
	}
	if err == nil {
		err = c.Desktop.Mailbox.Submit(ctx, c.User, m)
	}
	if err != nil {
		e.cfg.Logger.Warn("hook not run", "session", c.Session, "hook", h.ID, "error", err)
	}
}
