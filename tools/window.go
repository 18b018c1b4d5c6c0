package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func windowTools() []tool {
	return []tool{
		{
			name: "window:create", in: everyone, stays: true, repeatable: true, use: with(createWindow),
			about: "Open a window, or replace the one that has the same id. Choose a short, telling id. " +
				"Prefer markdown for text, table for rows and chart for numbers to compare; iframe shows a file of storage or an app, never another site.",
		},
		{
			name: "window:create_component", in: everyone, stays: true, use: with(createComponents),
			about: "Open a window with buttons, inputs and other components. " +
				"When a button is pressed, the agent of the window is told its action and the values of the form.",
		},
		{
			name: "window:update", in: everyone, stays: true, use: with(updateWindow),
			about: "Change what a window shows: append, prepend or insert text, replace everything, or clear it.",
		},
		{
			name: "window:update_component", in: everyone, stays: true, use: with(updateComponents),
			about: "Replace the components of a window.",
		},
		{
			name: "window:move", in: everyone, stays: true, repeatable: true, use: with(moveWindow),
			about: "Move or resize a window. What you leave out stays as it is.",
		},
		{name: "window:close", in: everyone, stays: true, use: with(closeWindow), about: "Close a window."},
		{
			name: "window:lock", in: everyone, use: with(lockWindow),
			about: "Keep other agents from closing a window or changing its content while you work on it. Unlock it when you are done.",
		},
		{name: "window:unlock", in: everyone, use: with(unlockWindow), about: "Lift your own lock of a window."},
		{
			name: "window:list", in: everyone, parallel: true, repeatable: true, use: with(listWindows),
			about: "List the windows of your monitor, from the back to the front.",
		},
		{
			name: "window:view", in: everyone, parallel: true, repeatable: true, use: with(viewWindow),
			about: "Read what a window shows. With includeImage you also get a picture of it.",
		},
	}
}

// renderer names the kind of content of a new window.
type renderer string

// look is the requested variant of a window, and the edge of a panel.
type look struct {
	Variant  wire.WindowVariant `json:"variant,omitempty" jsonschema:"standard by default. A widget lies below the other windows; a panel sticks to an edge."`
	DockEdge wire.DockEdge      `json:"dockEdge,omitempty" jsonschema:"The edge a panel sticks to; bottom by default."`
}

func (l look) drawn() wire.WindowLook {
	return wire.WindowLook{Variant: l.Variant, DockEdge: l.DockEdge}
}

type createInput struct {
	WindowID wire.WindowID `json:"windowId" jsonschema:"Id of the window, such as weather."`
	Title    string        `json:"title" wire:"max=500"`
	Content  struct {
		Renderer renderer        `json:"renderer"`
		Content  json.RawMessage `json:"content" jsonschema:"A string: the text, or for iframe the address /files/PATH of a file in storage or /api/apps/ID/index.html of an app. For table an object with headers (strings) and rows (lists of as many strings); for chart an object with kind (line, bar, area, pie or scatter), labels, series of name and values, and optionally description, xTitle, yTitle, unit and stacked; a scatter chart has series of name and points, pairs of x and y, and no labels; for component an object with components, cols and gap. Each may also come as a string of JSON."`
	} `json:"content"`
	place
	look
	ofApp
	Minimized bool `json:"minimized,omitempty" jsonschema:"Open it out of sight."`
}

// ofApp names the app of a window, as clients of the desktop dialect's tools do.
type ofApp struct {
	AppID wire.AppID `json:"appId,omitempty" jsonschema:"The app that the window shows, if any."`
}

// check refuses an app other than the one at the address of a page.
func (o ofApp) check(c wire.Content) error {
	page, ok := c.(wire.IframeContent)
	if o.AppID == "" || !ok || !strings.HasPrefix(page.Data.URL, appsPath) || strings.HasPrefix(page.Data.URL, appsPath+string(o.AppID)+"/") {
		return nil
	}
	return fmt.Errorf("appId: the address %s is not that of the app %s", page.Data.URL, o.AppID)
}

// refine limits the content to a string or an object; json.RawMessage alone allows anything.
func (createInput) refine(s *jsonschema.Schema) {
	s.Properties["content"].Properties["content"].Types = []string{"string", "object"}
}

type createComponentsInput struct {
	WindowID wire.WindowID `json:"windowId" jsonschema:"Id of the window, such as settings."`
	Title    string        `json:"title" wire:"max=500"`
	JSONFile string        `json:"jsonfile,omitempty" jsonschema:"Path of a file in storage with an object of components, cols and gap, instead of components."`
	layoutInput
	place
	look
	ofApp
	Minimized bool `json:"minimized,omitempty" jsonschema:"Open it out of sight."`
}

type layoutInput struct {
	Components []wire.Component `json:"components,omitempty" jsonschema:"The components, in reading order."`
	Cols       *wire.Columns    `json:"cols,omitempty" jsonschema:"A number of equal columns, or a list of their relative widths."`
	Gap        wire.Gap         `json:"gap,omitempty" jsonschema:"The space between components; md by default."`
}

// windowCall is a call that reads or changes windows.
type windowCall struct{ *use }

// raw returns a window's id without the prefix "<monitor>/" of the caller's monitor, which models
// sometimes add.
func (u windowCall) raw(id wire.WindowID) wire.WindowID {
	if raw, ok := strings.CutPrefix(string(id), string(u.Monitor)+"/"); ok && raw != "" {
		return wire.WindowID(raw)
	}
	return id
}

// foreign reports whether an id has the prefix of another existing monitor.
func (u windowCall) foreign(s *desktop.State, id wire.WindowID) bool {
	monitor, _, ok := strings.Cut(string(id), "/")
	return ok && monitor != string(u.Monitor) && s.HasMonitor(wire.MonitorID(monitor))
}

// find returns a window of the caller's monitor. The error lists the open windows.
func (u windowCall) find(s *desktop.State, id wire.WindowID) (wire.WindowState, error) {
	w, ok := s.Window(u.Monitor, u.raw(id))
	if ok && w.MonitorID == u.Monitor {
		return w, nil
	}
	ids := make([]string, 0, 8)
	for _, w := range s.Windows(u.Monitor) {
		ids = append(ids, string(w.WindowID))
	}
	if len(ids) == 0 {
		return w, fmt.Errorf("there is no window %q; no window is open on this monitor", id)
	}
	return w, fmt.Errorf("there is no window %q; open are: %s", id, truncate(strings.Join(ids, ", "), 2000))
}

// change executes an action on an existing window; did is the verb of the result.
func (u windowCall) change(ctx context.Context, id wire.WindowID, did string, action func(wire.WindowState) wire.Action) providers.ToolResult {
	return u.act(ctx, func(s *desktop.State) Plan {
		w, err := u.find(s, id)
		if err != nil {
			return Plan{Result: fail(sentence(err.Error()))}
		}
		return Plan{Actions: []wire.Action{action(w)}, Result: textf("%s window %q.", did, w.WindowID)}
	})
}

// opening completes the action that opens a window with the id, bounds and agent, and returns it
// with the text of the result.
func (u windowCall) opening(s *desktop.State, a wire.WindowCreate, p place) (wire.WindowCreate, string, error) {
	if u.foreign(s, a.WindowID) {
		return a, "", fmt.Errorf("the id %q names another monitor; windows open on your own", a.WindowID)
	}
	a.WindowID = u.raw(a.WindowID)
	a.Bounds = p.bounds(s, u.Caller, a)
	a.AgentID = u.Agent
	did := "Opened"
	if _, ok := s.Window(u.Monitor, a.WindowID); ok {
		did = "Replaced"
	}
	return a, fmt.Sprintf("%s window %q.", did, a.WindowID), nil
}

// open opens a window or replaces the one with the same id. source, unless empty, names where its content
// comes from.
func (u windowCall) open(ctx context.Context, a wire.WindowCreate, p place, source string) providers.ToolResult {
	return u.act(ctx, func(s *desktop.State) Plan {
		a, said, err := u.opening(s, a, p)
		if err != nil {
			return Plan{Result: fail(sentence(err.Error()))}
		}
		return Plan{Actions: []wire.Action{a}, Result: providers.ToolResult{Text: said, Source: source}}
	})
}

// iframeTimeout bounds the wait for a tab's report whether it can show a page. Without a report the
// page counts as shown.
const iframeTimeout = 2 * time.Second

func createWindow(ctx context.Context, u *use, in createInput) providers.ToolResult {
	content, err := windowCall{u}.content(in.Content.Renderer, in.Content.Content)
	if err == nil {
		err = in.check(content)
	}
	if err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	a := wire.WindowCreate{WindowID: in.WindowID, Title: in.Title, Content: content, WindowLook: in.drawn(), Minimized: in.Minimized}
	if in.Content.Renderer != "iframe" {
		return windowCall{u}.open(ctx, a, in.place, "")
	}
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		var said string
		var wrong error
		if err := u.Desktop.Steps.View(ctx, func(s *desktop.State) { a, said, wrong = windowCall{u}.opening(s, a, in.place) }); err != nil {
			return providers.ToolResult{}, err
		}
		if wrong != nil {
			return providers.ToolResult{}, wrong
		}
		f, answered, err := u.Desktop.Tabs.Show(ctx, u.Caller, func(id wire.RequestID) wire.Action {
			a.RequestID = id
			return a
		}, iframeTimeout)
		switch {
		case err != nil:
			return providers.ToolResult{}, err
		case answered && !f.Success:
			return failf("Window %q is open, but the page could not be shown: %s.",
				a.WindowID, cmp.Or(truncate(f.Error, 1000), "no reason was given")), nil
		}
		return text(said), nil
	})
}

// content decodes the content of a new window for a renderer.
func (u windowCall) content(r renderer, data json.RawMessage) (wire.Content, error) {
	const field = "content.content"
	switch r {
	case "table":
		t, err := u.table(field, data)
		return wire.TableContent{Data: t}, err
	case "chart":
		c, err := u.forms.chart.Decode(structured(data))
		if err != nil {
			return nil, within(field, "a chart is an object with kind, labels and series", err)
		}
		if len(c.Series) == 0 {
			return nil, errors.New(field + ".series: there must be at least one")
		}
		return wire.ChartContent{Data: c}, nil
	case "component":
		l, err := u.forms.layout.Decode(structured(data))
		if err != nil {
			return nil, within(field, "components are an object with components, cols and gap", err)
		}
		if len(l.Components) == 0 {
			return nil, errors.New(field + ".components: there must be at least one")
		}
		return wire.ComponentContent{Data: l}, nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s: %s takes a string", field, r)
	}
	switch r {
	case "markdown":
		return wire.MarkdownContent{Data: s}, nil
	case "html":
		return wire.HTMLContent{Data: s}, nil
	case "iframe":
		if s == "" {
			return nil, errors.New(field + ": iframe takes an address")
		}
		return wire.IframeContent{Data: wire.IframeSource{URL: s}}, nil
	default:
		return wire.TextContent{Data: s}, nil
	}
}

// checkActions refuses actions that set the sandbox of an iframe: agents and hooks must not choose
// the permissions of a page. The same holds for what a click on their shortcuts runs.
func checkActions(actions []wire.Action) error {
	for _, action := range actions {
		var content wire.Content
		var data json.RawMessage
		switch a := action.(type) {
		case wire.WindowCreate:
			content = a.Content
		case wire.WindowSetContent:
			content = a.Content
		case wire.WindowUpdateContent:
			data = dataOf(a.Operation)
		case wire.CreateShortcut:
			if err := checkClickActions(a.Shortcut.OSActions); err != nil {
				return err
			}
		case wire.UpdateShortcut:
			if a.Updates.OSActions == nil {
				continue
			}
			if err := checkClickActions(*a.Updates.OSActions); err != nil {
				return err
			}
		}
		if page, ok := content.(wire.IframeContent); ok && page.Data.Frame != nil && page.Data.Frame.Sandbox != "" || namesSandbox(data) {
			return errors.New("agents do not choose what a page may do: leave out sandbox")
		}
	}
	return nil
}

func dataOf(op wire.UpdateOperation) json.RawMessage {
	switch op := op.(type) {
	case wire.UpdateAppend:
		return op.Data
	case wire.UpdatePrepend:
		return op.Data
	case wire.UpdateInsertAt:
		return op.Data
	case wire.UpdateReplace:
		return op.Data
	}
	return nil
}

func namesSandbox(data json.RawMessage) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil {
		return false
	}
	_, ok := fields["sandbox"]
	return ok
}

// layout returns the content of a window with components.
func (in layoutInput) layout() (wire.ComponentContent, error) {
	if len(in.Components) == 0 {
		return wire.ComponentContent{}, errors.New("components: there must be at least one")
	}
	return wire.ComponentContent{Data: wire.Layout{Components: in.Components, Cols: in.Cols, Gap: in.Gap}}, nil
}

func createComponents(ctx context.Context, u *use, in createComponentsInput) providers.ToolResult {
	content, err := in.layout()
	source := ""
	if in.JSONFile != "" && len(in.Components) == 0 {
		content, err = windowCall{u}.layoutFile(ctx, in.JSONFile)
		source = fileSource(in.JSONFile)
	}
	if err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	return windowCall{u}.open(ctx, wire.WindowCreate{
		WindowID: in.WindowID, Title: in.Title, Content: content, WindowLook: in.drawn(), Minimized: in.Minimized,
	}, in.place, source)
}

// layoutFile reads components from storage.
func (u windowCall) layoutFile(ctx context.Context, name string) (wire.ComponentContent, error) {
	data, err := fileCall(u).readAll(ctx, name, desktop.MaxContent)
	if err != nil {
		return wire.ComponentContent{}, fmt.Errorf("jsonfile: %w", err)
	}
	l, err := u.forms.layout.Decode(data)
	if err != nil {
		return wire.ComponentContent{}, fmt.Errorf("jsonfile: %q: %w", name, fieldError(err))
	}
	return layoutInput{l.Components, l.Cols, l.Gap}.layout()
}

// operation is the kind of a content update.
type operation string

type updateInput struct {
	WindowID  wire.WindowID   `json:"windowId"`
	Operation operation       `json:"operation"`
	Content   json.RawMessage `json:"content,omitempty" jsonschema:"A string; for replace in a table or chart window the object of its content, or a string of its JSON. Not needed for clear."`
	Position  int             `json:"position,omitempty" jsonschema:"Where insertAt puts the text, in characters from the beginning." wire:"min=0"`
}

// refine limits the content to a string or an object; json.RawMessage alone allows anything.
func (updateInput) refine(s *jsonschema.Schema) {
	s.Properties["content"].Types = []string{"string", "object"}
}

func updateWindow(ctx context.Context, u *use, in updateInput) providers.ToolResult {
	if len(in.Content) == 0 && in.Operation != "clear" {
		return u.refuse(ctx, "content: %s needs it.", in.Operation)
	}
	var op wire.UpdateOperation
	switch in.Operation {
	case "append":
		op = wire.UpdateAppend{Data: in.Content}
	case "prepend":
		op = wire.UpdatePrepend{Data: in.Content}
	case "insertAt":
		op = wire.UpdateInsertAt{Data: in.Content, Position: in.Position}
	case "replace":
		op = wire.UpdateReplace{Data: in.Content}
	default:
		op = wire.UpdateClear{}
	}
	return u.act(ctx, func(s *desktop.State) Plan {
		w, err := windowCall{u}.find(s, in.WindowID)
		if err != nil {
			return Plan{Result: fail(sentence(err.Error()))}
		}
		fitting, err := windowCall{u}.structured(w.Content, op)
		if err != nil {
			return Plan{Result: fail(sentence(err.Error()))}
		}
		var a wire.Action = wire.WindowUpdateContent{WindowID: w.WindowID, Operation: fitting, ActionMeta: u.meta()}
		if replace, ok := fitting.(wire.UpdateReplace); ok && wire.RendererOf(w.Content) == "chart" {
			// The whole content, since desktops that draw no charts have a table instead.
			content, err := windowCall{u}.content("chart", replace.Data)
			if err != nil {
				return Plan{Result: fail(sentence(err.Error()))}
			}
			a = wire.WindowSetContent{WindowID: w.WindowID, Content: content, ActionMeta: u.meta()}
		}
		return Plan{Actions: []wire.Action{a}, Result: textf("Updated window %q.", w.WindowID)}
	})
}

type updateComponentsInput struct {
	WindowID wire.WindowID `json:"windowId"`
	layoutInput
}

func updateComponents(ctx context.Context, u *use, in updateComponentsInput) providers.ToolResult {
	content, err := in.layout()
	if err != nil {
		return u.refuse(ctx, "%s", sentence(err.Error()))
	}
	return windowCall{u}.change(ctx, in.WindowID, "Updated", func(w wire.WindowState) wire.Action {
		return wire.WindowSetContent{WindowID: w.WindowID, Content: content, ActionMeta: u.meta()}
	})
}

type windowInput struct {
	WindowID wire.WindowID `json:"windowId"`
}

func closeWindow(ctx context.Context, u *use, in windowInput) providers.ToolResult {
	return windowCall{u}.change(ctx, in.WindowID, "Closed", func(w wire.WindowState) wire.Action {
		return wire.WindowClose{WindowID: w.WindowID, ActionMeta: u.meta()}
	})
}

// lockInput accepts an agent id for compatibility with other hubs and ignores it: locks always
// belong to the caller.
type lockInput struct {
	WindowID wire.WindowID   `json:"windowId"`
	AgentID  json.RawMessage `json:"agentId,omitempty" jsonschema:"Not needed: the lock is yours."`
}

func lockWindow(ctx context.Context, u *use, in lockInput) providers.ToolResult {
	return windowCall{u}.change(ctx, in.WindowID, "Locked", func(w wire.WindowState) wire.Action {
		return wire.WindowLock{WindowID: w.WindowID, AgentID: u.Agent}
	})
}

func unlockWindow(ctx context.Context, u *use, in lockInput) providers.ToolResult {
	return windowCall{u}.change(ctx, in.WindowID, "Unlocked", func(w wire.WindowState) wire.Action {
		return wire.WindowUnlock{WindowID: w.WindowID, AgentID: u.Agent}
	})
}
