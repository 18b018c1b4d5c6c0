package desktop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// actionCase is one action after some others. Its name begins with the type of
// the action.
type actionCase struct {
	before []wire.Action
	action wire.Action
	want   wire.SessionState
}

func windowCases() map[string]actionCase {
	minimized := func(w *wire.WindowState) { w.Minimized = true }
	minimizedWindow := open("a")
	minimizedWindow.Minimized = true
	widget, panel := open("g"), open("p")
	widget.Variant, panel.Variant = wire.VariantWidget, wire.VariantPanel
	isWidget := func(w *wire.WindowState) { w.Variant = wire.VariantWidget }
	isPanel := func(w *wire.WindowState) { w.Variant = wire.VariantPanel }
	other := open("a")
	other.Title = "new"
	lock := func(w *wire.WindowState) { w.Lock = "main-1" }
	big := &wire.Bounds{X: 1, Y: 2, W: 3, H: 4}
	return map[string]actionCase{
		"window.create": {
			action: open("a"), want: windows(at("a", front)),
		},
		"window.create in front of others": {
			before: []wire.Action{open("b")}, action: open("a"), want: windows(at("b", front), at("a", front+1)),
		},
		"window.create replaces": {
			before: []wire.Action{open("a"), open("b"), wire.WindowLock{WindowID: "a", AgentID: "main-1"}},
			action: other,
			want:   windows(at("b", front+1), at("a", front+2, func(w *wire.WindowState) { w.Title = "new" })),
		},
		"window.create below standard windows": {
			before: []wire.Action{open("a")}, action: widget, want: windows(at("g", 1, isWidget), at("a", front)),
		},
		"window.create outside the order": {
			before: []wire.Action{open("a")}, action: panel, want: windows(at("p", 0, isPanel), at("a", front)),
		},
		"window.create by pointer": {
			action: new(open("a")), want: windows(at("a", front)),
		},
		"window.close": {
			before: []wire.Action{open("a"), open("b")}, action: wire.WindowClose{WindowID: "b"}, want: windows(at("a", front)),
		},
		"window.close of another monitor's": {
			before: []wire.Action{open("a")}, action: wire.WindowClose{WindowID: "monitor-0/a"},
		},
		"window.focus": {
			before: []wire.Action{minimizedWindow, open("b")}, action: wire.WindowFocus{WindowID: "a"},
			want: windows(at("b", front+1), at("a", front+2)),
		},
		"window.focus of the one in front": {
			before: []wire.Action{open("a"), open("b")}, action: wire.WindowFocus{WindowID: "b"},
			want: windows(at("a", front), at("b", front+1)),
		},
		"window.minimize": {
			before: []wire.Action{open("a")}, action: wire.WindowMinimize{WindowID: "a"}, want: windows(at("a", front, minimized)),
		},
		"window.minimize of a widget": {
			before: []wire.Action{widget}, action: wire.WindowMinimize{WindowID: "g"}, want: windows(at("g", 1, isWidget)),
		},
		"window.maximize": {
			before: []wire.Action{open("a")}, action: wire.WindowMaximize{WindowID: "a"},
			want: windows(at("a", front, func(w *wire.WindowState) { w.Maximized, w.RestoreBounds = true, big })),
		},
		"window.maximize twice": {
			before: []wire.Action{open("a"), wire.WindowMaximize{WindowID: "a"}, wire.WindowMove{WindowID: "a", X: 9, Y: 9}},
			action: wire.WindowMaximize{WindowID: "a"},
			want: windows(at("a", front, func(w *wire.WindowState) {
				w.Maximized, w.RestoreBounds, w.Bounds.X, w.Bounds.Y = true, big, 9, 9
				w.Placed = true
			})),
		},
		"window.restore": {
			before: []wire.Action{
				open("a"), wire.WindowMaximize{WindowID: "a"}, wire.WindowMove{WindowID: "a", X: 9, Y: 9}, wire.WindowMinimize{WindowID: "a"},
			},
			action: wire.WindowRestore{WindowID: "a"}, want: windows(at("a", front, func(w *wire.WindowState) { w.Placed = true })),
		},
		"window.move": {
			before: []wire.Action{open("a")}, action: wire.WindowMove{WindowID: "a", X: 10, Y: -20},
			want: windows(at("a", front, func(w *wire.WindowState) { w.Bounds, w.Placed = wire.Bounds{X: 10, Y: -20, W: 3, H: 4}, true })),
		},
		"window.move by an agent": {
			before: []wire.Action{open("a"), wire.WindowMove{WindowID: "a", X: 1}},
			action: wire.WindowMove{WindowID: "a", X: 10, Y: -20, ActionMeta: wire.ActionMeta{AgentID: "main-1"}},
			want:   windows(at("a", front, func(w *wire.WindowState) { w.Bounds = wire.Bounds{X: 10, Y: -20, W: 3, H: 4} })),
		},
		"window.resize": {
			before: []wire.Action{open("a")}, action: wire.WindowResize{WindowID: "a", W: 10, H: 20},
			want: windows(at("a", front, func(w *wire.WindowState) { w.Bounds, w.Placed = wire.Bounds{X: 1, Y: 2, W: 10, H: 20}, true })),
		},
		"window.setTitle": {
			before: []wire.Action{open("a")}, action: wire.WindowSetTitle{WindowID: "a", Title: "new"},
			want: windows(at("a", front, func(w *wire.WindowState) { w.Title = "new" })),
		},
		"window.setContent": {
			before: []wire.Action{open("a")}, action: wire.WindowSetContent{WindowID: "a", Content: wire.HTMLContent{Data: "<p>"}},
			want: windows(at("a", front, func(w *wire.WindowState) { w.Content = wire.HTMLContent{Data: "<p>"} })),
		},
		"window.setContent of a window that is gone": {
			before: []wire.Action{open("a"), wire.WindowSetContent{WindowID: "a", Content: text("b")}, wire.WindowClose{WindowID: "a"}},
			action: wire.WindowSetContent{WindowID: "a", Content: text("c")},
		},
		"window.setContent of a window that is there again": {
			before: []wire.Action{open("a"), wire.WindowSetContent{WindowID: "a", Content: text("b")}, wire.WindowClose{WindowID: "a"}, open("a")},
			action: wire.WindowSetContent{WindowID: "a", Content: text("c")},
			want:   windows(at("a", front, func(w *wire.WindowState) { w.Content = text("c") })),
		},
		"window.updateContent": {
			before: []wire.Action{open("a")},
			action: wire.WindowUpdateContent{WindowID: "a", Operation: wire.UpdateAppend{Data: json.RawMessage(`"d"`)}},
			want:   windows(at("a", front, func(w *wire.WindowState) { w.Content = text("abcd") })),
		},
		"window.updateContent of nothing": {
			action: wire.WindowUpdateContent{WindowID: "a", Operation: wire.UpdateClear{}},
		},
		"window.lock": {
			before: []wire.Action{open("a")}, action: wire.WindowLock{WindowID: "a", AgentID: "main-1"}, want: windows(at("a", front, lock)),
		},
		"window.unlock": {
			before: []wire.Action{open("a"), wire.WindowLock{WindowID: "a", AgentID: "main-1"}},
			action: wire.WindowUnlock{WindowID: "a", AgentID: "main-1"}, want: windows(at("a", front)),
		},
		"window.edit": { // which the hub resolves before it is logged
			before: []wire.Action{open("a")}, action: wire.WindowEdit{WindowID: "a", Op: wire.EditText, Text: "b"}, want: windows(at("a", front)),
		},
		"window.capture": {
			before: []wire.Action{open("a")}, action: wire.WindowCapture{WindowID: "a"}, want: windows(at("a", front)),
		},
	}
}

func otherCases() map[string]actionCase {
	note := wire.Notification{ID: "n", Title: "t", Body: "b"}
	toast := wire.Toast{ID: "t", Message: "m"}
	prompt := wire.Prompt{ID: "p", Title: "t", Options: []wire.PromptOption{{Value: "1", Label: "one"}}}
	shortcut := wire.Shortcut{ID: "s", Label: "l", Icon: "i", Type: wire.ShortcutURL, Target: "https://example.org", CreatedAt: 5}
	renamed := shortcut
	renamed.Label, renamed.IconType, renamed.OSActions = "", wire.IconEmoji, []wire.Action{wire.RefreshApps{}}
	renamed.Icon, renamed.Target, renamed.Type = "j", "x", wire.ShortcutFile
	return map[string]actionCase{
		"notification.show": {
			action: wire.NotificationShow{Notification: note},
			want: wire.SessionState{
				Notifications: []wire.ShownNotification{{Notification: note, Since: 1_000_000, MonitorID: "monitor-0"}},
			},
		},
		"notification.dismiss": {
			before: []wire.Action{wire.NotificationShow{Notification: note}}, action: wire.NotificationDismiss{ID: "n"},
		},
		"toast.show": {
			action: wire.ToastShow{Toast: toast},
			want:   wire.SessionState{Toasts: []wire.ShownToast{{Toast: toast, Since: 1_000_000, MonitorID: "monitor-0"}}},
		},
		"toast.dismiss": {
			before: []wire.Action{wire.ToastShow{Toast: toast}}, action: wire.ToastDismiss{ID: "t"},
		},
		"dialog.confirm": {
			action: wire.DialogConfirm{ID: "d", Title: "t", Message: "m", ActionMeta: wire.ActionMeta{AgentID: "main-1"}},
			want: wire.SessionState{Dialogs: []wire.ApprovalRequest{{
				DialogID: "d", Title: "t", Message: "m", Deadline: 1_060_000, AgentID: "main-1", MonitorID: "monitor-0",
			}}},
		},
		"user.prompt.show": {
			action: wire.PromptShow{Prompt: prompt},
			want: wire.SessionState{
				Prompts: []wire.OpenPrompt{{Prompt: prompt, Deadline: 1_300_000, MonitorID: "monitor-0"}},
			},
		},
		"user.prompt.dismiss": {
			before: []wire.Action{wire.PromptShow{Prompt: prompt}}, action: wire.PromptDismiss{ID: "p"},
		},
		"app.badge": {
			before: []wire.Action{wire.AppBadge{AppID: "b", Count: 1}}, action: wire.AppBadge{AppID: "a", Count: 2},
			want: wire.SessionState{Badges: wire.Object[wire.AppID, uint64]{{Key: "a", Value: 2}, {Key: "b", Value: 1}}},
		},
		"app.badge of 0": {
			before: []wire.Action{wire.AppBadge{AppID: "a", Count: 1}}, action: wire.AppBadge{AppID: "a"},
		},
		"desktop.refreshApps": {
			action: wire.RefreshApps{},
		},
		"desktop.createShortcut": {
			action: wire.CreateShortcut{Shortcut: shortcut}, want: wire.SessionState{Shortcuts: []wire.Shortcut{shortcut}},
		},
		"desktop.removeShortcut": {
			before: []wire.Action{wire.CreateShortcut{Shortcut: shortcut}}, action: wire.RemoveShortcut{ShortcutID: "s"},
		},
		"desktop.updateShortcut": {
			before: []wire.Action{wire.CreateShortcut{Shortcut: shortcut}},
			action: wire.UpdateShortcut{ShortcutID: "s", Updates: wire.ShortcutPatch{
				Label: new(""), Icon: new("j"), Target: new("x"), IconType: wire.IconEmoji, Type: wire.ShortcutFile,
				OSActions: new([]wire.Action{wire.RefreshApps{}}),
			}},
			want: wire.SessionState{Shortcuts: []wire.Shortcut{renamed}},
		},
		"desktop.updateShortcut of nothing": {
			action: wire.UpdateShortcut{ShortcutID: "s"},
		},
	}
}

func TestActions(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, cases := range []map[string]actionCase{windowCases(), otherCases()} {
		for name, c := range cases {
			kind, _, _ := strings.Cut(name, " ")
			tested[kind] = true
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newScript()
				s.act(c.before...)
				s.act(c.action)
				checkParts(t, s, c.want)
			})
		}
	}
	for _, v := range wire.FormatOf[wire.Action]().Shape().Variants {
		if !tested[v.Name] {
			t.Errorf("%s has no test, want one for every action", v.Name)
		}
	}
}

func TestUpdateContent(t *testing.T) {
	t.Parallel()
	table := wire.TableContent{Data: wire.Table{Headers: []string{"h"}}}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for name, c := range map[string]struct {
		content  wire.Content
		op       wire.UpdateOperation
		renderer string
		want     wire.Content
	}{
		"prepend":                    {text("abc"), wire.UpdatePrepend{Data: raw(`"x"`)}, "", text("xabc")},
		"insert counts UTF-16":       {text("a𝛀b"), wire.UpdateInsertAt{Position: 3, Data: raw(`"x"`)}, "", text("a𝛀xb")},
		"insert within a character":  {text("a𝛀b"), wire.UpdateInsertAt{Position: 2, Data: raw(`"x"`)}, "", text("ax𝛀b")},
		"insert behind the end":      {text("ab"), wire.UpdateInsertAt{Position: 9, Data: raw(`"x"`)}, "", text("abx")},
		"by pointer":                 {text("ab"), &wire.UpdateAppend{Data: raw(`"x"`)}, "", text("abx")},
		"append with a renderer":     {text("ab"), wire.UpdateAppend{Data: raw(`"x"`)}, "markdown", wire.MarkdownContent{Data: "abx"}},
		"append to what is no text":  {table, wire.UpdateAppend{Data: raw(`"x"`)}, "html", wire.HTMLContent{Data: "x"}},
		"append what is no text":     {text("ab"), wire.UpdateAppend{Data: raw(`1`)}, "", text("ab")},
		"append falls back":          {table, wire.UpdateAppend{Data: raw(`{"headers":["g"],"rows":[]}`)}, "", wire.TableContent{Data: wire.Table{Headers: []string{"g"}}}},
		"append that does not fit":   {table, wire.UpdateAppend{Data: raw(`"x"`)}, "", table},
		"replace":                    {text("ab"), wire.UpdateReplace{Data: raw(`"x"`)}, "", text("x")},
		"replace with a renderer":    {text("ab"), wire.UpdateReplace{Data: raw(`{"n": 1}`)}, "globe", wire.OtherContent{Renderer: "globe", Data: raw(`{"n":1}`)}},
		"replace that does not fit":  {text("ab"), wire.UpdateReplace{Data: raw(`{}`)}, "", text("ab")},
		"replace by what is no JSON": {text("ab"), wire.UpdateReplace{Data: raw(`{`)}, "globe", wire.OtherContent{Renderer: "globe", Data: raw(`null`)}},
		"clear":                      {text("ab"), wire.UpdateClear{}, "", text("")},
		"clear a table":              {table, wire.UpdateClear{}, "", wire.TableContent{}},
		"clear into components":      {text("ab"), wire.UpdateClear{}, "component", wire.ComponentContent{}},
		"clear into a page":          {text("ab"), wire.UpdateClear{}, "iframe", wire.IframeContent{}},
		"clear something else":       {wire.OtherContent{Renderer: "globe", Data: raw(`1`)}, wire.UpdateClear{}, "", wire.OtherContent{Renderer: "globe", Data: raw(`""`)}},
		"no operation":               {text("ab"), nil, "", text("ab")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript()
			w := open("a")
			w.Content = c.content
			s.act(w, wire.WindowUpdateContent{WindowID: "a", Operation: c.op, Renderer: c.renderer})
			checkParts(t, s, windows(at("a", front, func(w *wire.WindowState) { w.Content = c.want })))
		})
	}
}
