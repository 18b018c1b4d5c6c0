package tools_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

func TestWindowsOpenAndChange(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	if got := b.must("window_create", `{"windowId":"w1","title":"One","content":{"renderer":"markdown","content":"# hi"}}`); got != `Opened window "w1".` {
		t.Errorf("create returns %q, want window w1 opened", got)
	}
	w := b.window("w1")
	want := wire.WindowState{
		WindowID: "w1", MonitorID: "monitor-0", Title: "One", Content: wire.MarkdownContent{Data: "# hi"},
		Bounds: wire.Bounds{X: 16, Y: 16, W: 460, H: 320}, Z: w.Z,
	}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("window w1 (-want +got):\n%s", diff)
	}
	b.must("window:create", `{"windowId":"w2","title":"Two","content":{"renderer":"text","content":"a"},"x":7,"width":300,"minimized":true}`)
	if w := b.window("w2"); w.Bounds != (wire.Bounds{X: 7, Y: 16, W: 300, H: 320}) || !w.Minimized {
		t.Errorf("second window %+v, want it minimized at 7, 16 with 300x320", w)
	}
	b.must("window_create_component", `{"windowId":"w3","title":"","components":[{"type":"text","content":"x"}],"variant":"panel","dockEdge":"top"}`)
	if w := b.window("w3"); w.Variant != wire.VariantPanel || w.DockEdge != wire.DockTop {
		t.Errorf("third window %+v, want a panel at the top", w)
	}
	b.must("window_create", `{"windowId":"w3","title":"","content":{"renderer":"text","content":"a"},"variant":"widget"}`)
	if w := b.window("w3"); w.Variant != wire.VariantWidget || w.DockEdge != "" {
		t.Errorf("third window %+v, want a widget without an edge", w)
	}
	b.must("window_update", `{"windowId":"w2","operation":"append","content":"c"}`)
	b.must("window_update", `{"windowId":"w2","operation":"prepend","content":"<"}`)
	b.must("window_update", `{"windowId":"monitor-0/w2","operation":"insertAt","position":2,"content":"b"}`)
	if got := b.window("w2").Content; got != (wire.TextContent{Data: "<abc"}) {
		t.Errorf(`content %+v, want "<abc"`, got)
	}
	b.must("window_update", `{"windowId":"w2","operation":"replace","content":"new"}`)
	if got := b.window("w2").Content; got != (wire.TextContent{Data: "new"}) {
		t.Errorf(`content %+v, want "new"`, got)
	}
	b.must("window_update", `{"windowId":"w2","operation":"clear"}`)
	if got := b.window("w2").Content; got != (wire.TextContent{}) {
		t.Errorf("content %+v, want an empty text", got)
	}
	b.must("window_create", `{"windowId":"w1","title":"Again","content":{"renderer":"table","content":{"headers":["a"],"rows":[["1"]]}},"x":null}`)
	if w := b.window("w1"); w.Bounds.X != 16 || w.Title != "Again" {
		t.Errorf(`a replaced window is %+v, want "Again" at the same place`, w)
	}
	b.must("window_close", `{"windowId":"w1"}`)
	if _, ok := b.desktop.state.Window("monitor-0", "w1"); ok {
		t.Error("window w1 is open after its close, want it gone")
	}
	for _, a := range b.desktop.actions {
		if wire.AgentID("main-monitor-0-m1") != agentOf(t, a) {
			t.Errorf("%T is of %s, want the caller main-monitor-0-m1", a, agentOf(t, a))
		}
	}
	for _, told := range b.desktop.acted {
		if !strings.HasPrefix(told.call.Tool, "window:") || told.result.Text == "" {
			t.Errorf("the session received %+v, want a window tool with a result", told)
		}
	}
	if len(b.desktop.acted) != b.calls || len(b.desktop.begun) != 0 {
		t.Errorf("%d calls made %d plans and %d others, want a plan each", b.calls, len(b.desktop.acted), len(b.desktop.begun))
	}
}

// agentOf returns the agent id of an action.
func agentOf(t *testing.T, a wire.Action) wire.AgentID {
	t.Helper()
	switch a := a.(type) {
	case wire.WindowCreate:
		return a.AgentID
	case wire.WindowUpdateContent:
		return a.AgentID
	case wire.WindowClose:
		return a.AgentID
	}
	t.Fatalf("action %T is unknown here, want one of a window", a)
	return ""
}

func TestComponents(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("window_create_component", `{"windowId":"f","title":"Form","components":[
		{"type":"input","name":"who","formId":"f1"},{"type":"button","label":"Save","action":"save","submitForm":"f1","parallel":false}],"cols":[2,1],"gap":"sm"}`)
	want := wire.ComponentContent{Data: wire.Layout{
		Components: []wire.Component{
			wire.InputComponent{Name: "who", FormID: "f1"},
			wire.ButtonComponent{Label: "Save", Action: "save", SubmitForm: "f1", Parallel: new(false)},
		},
		Cols: &wire.Columns{Ratio: []float64{2, 1}}, Gap: wire.GapSmall,
	}}
	if diff := cmp.Diff(wire.Content(want), b.window("f").Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	b.must("window_update_component", `{"windowId":"f","components":[{"type":"progress","value":50}],"cols":1}`)
	if got, ok := b.window("f").Content.(wire.ComponentContent); !ok || len(got.Data.Components) != 1 {
		t.Errorf("content %+v, want one component", b.window("f").Content)
	}
	for input, says := range map[string]string{
		`{"windowId":"f","title":"","components":[{"type":"progress","value":101}]}`:              "components[0].value",
		`{"windowId":"f","title":"","components":[{"type":"slider"}]}`:                            "components[0]",
		`{"windowId":"f","title":"","components":[{"type":"button","label":"x"}]}`:                "action",
		`{"windowId":"f","title":"","components":[]}`:                                             "components",
		`{"windowId":"f","title":""}`:                                                             "components",
		`{"windowId":"f","title":"","components":[{"type":"text","content":"x"}],"cols":0}`:       "cols",
		`{"windowId":"f","title":"","components":[{"type":"text","content":"x"}],"gap":"huge"}`:   "gap",
		`{"windowId":"f","title":"","components":[{"type":"text","content":"x"}],"colour":"red"}`: "colour",
		`{"windowId":"f","title":"","jsonfile":"../x.json"}`:                                      "../x.json",
		`{"windowId":"f","title":"","jsonfile":"none.json"}`:                                      "none.json",
	} {
		if r := b.call("window_create_component", input); !r.IsError || !strings.Contains(r.Text, says) {
			t.Errorf("%s: %+v, want an error about %s", input, r, says)
		}
	}
}

func TestComponentsFromAFile(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.mustAs(b.worker(), "storage_write", `{"path":"ui/form.json","content":"{\"components\":[{\"type\":\"text\",\"content\":\"hi\"}],\"cols\":2}"}`)
	b.must("window_create_component", `{"windowId":"f","title":"F","jsonfile":"ui/form.json"}`)
	want := wire.ComponentContent{Data: wire.Layout{Components: []wire.Component{wire.TextComponent{Content: "hi"}}, Cols: &wire.Columns{Count: 2}}}
	if diff := cmp.Diff(wire.Content(want), b.window("f").Content); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	b.mustAs(b.worker(), "storage_write", `{"path":"bad.json","content":"{\"components\":[{\"type\":\"text\"}]}"}`)
	if r := b.call("window_create_component", `{"windowId":"f","title":"F","jsonfile":"bad.json"}`); !r.IsError || !strings.Contains(r.Text, "content") {
		t.Errorf("a broken file gives %+v, want an error about content", r)
	}
}

func TestMovedWindowsKeepWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("window_create", `{"windowId":"w","title":"","x":10,"y":20,"width":300,"height":200,"content":{"renderer":"text","content":"x"}}`)
	b.must("window_move", `{"windowId":"w","x":40,"height":250}`)
	if got, want := b.window("w").Bounds, (wire.Bounds{X: 40, Y: 20, W: 300, H: 250}); got != want {
		t.Errorf("bounds are %+v, want %+v", got, want)
	}
	if r := b.call("window_move", `{"windowId":"w"}`); !r.IsError || !strings.Contains(r.Text, "at least one is needed") {
		t.Errorf("a move to nowhere gives %+v, want an error that names the fields", r)
	}
}

func TestLocksBelongToCaller(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("window_create", `{"windowId":"w","title":"","content":{"renderer":"text","content":"x"}}`)
	b.must("window_lock", `{"windowId":"w","agentId":"another-agent"}`)
	if got := b.window("w").Lock; got != "main-monitor-0-m1" {
		t.Errorf("locked by %q, want the caller main-monitor-0-m1", got)
	}
	other := b.worker()
	for tool, input := range map[string]string{
		"window_update": `{"windowId":"w","operation":"clear"}`,
		"window_close":  `{"windowId":"w"}`,
		"window_unlock": `{"windowId":"w","agentId":"main-monitor-0-m1"}`,
		"window_create": `{"windowId":"w","title":"","content":{"renderer":"text","content":"y"}}`,
	} {
		if r := b.callAs(other, tool, input); !r.IsError || !strings.Contains(r.Text, "locked by main-monitor-0-m1") {
			t.Errorf("%s of another agent gives %+v, want an error that it is locked", tool, r)
		}
	}
	b.must("window_unlock", `{"windowId":"w"}`)
	if got := b.window("w").Lock; got != "" {
		t.Errorf("locked by %q, want no agent", got)
	}
	b.mustAs(other, "window_close", `{"windowId":"w"}`)
}

// Agents can only access the windows of their own monitor, however they spell the id.
func TestMonitorsAreIsolated(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	there := b.caller()
	there.Monitor, there.Agent = "monitor-1", "main-monitor-1-m9"
	b.mustAs(there, "window_create", `{"windowId":"secret","title":"S","content":{"renderer":"text","content":"hidden"}}`)
	b.must("window_create", `{"windowId":"mine","title":"M","content":{"renderer":"text","content":"x"}}`)
	if got := b.must("window_list", `{}`); strings.Contains(got, "secret") || !strings.Contains(got, `"windowId":"mine"`) {
		t.Errorf("list shows %s, want mine and nothing of monitor-1", got)
	}
	for _, id := range []string{"secret", "monitor-1/secret"} {
		for tool, input := range map[string]string{
			"window_view":      `{"windowId":"` + id + `"}`,
			"window_close":     `{"windowId":"` + id + `"}`,
			"window_lock":      `{"windowId":"` + id + `"}`,
			"window_update":    `{"windowId":"` + id + `","operation":"clear"}`,
			"window_app_query": `{"windowId":"` + id + `","stateKey":"manifest"}`,
		} {
			r := b.call(tool, input)
			if !r.IsError || !strings.Contains(r.Text, "mine") || strings.Contains(r.Text, "hidden") {
				t.Errorf("%s of %s gives %+v, want an error that names mine and shows nothing of the window", tool, id, r)
			}
		}
	}
	if r := b.call("window_create", `{"windowId":"monitor-1/secret","title":"","content":{"renderer":"text","content":"x"}}`); !r.IsError {
		t.Errorf("a window was opened on another monitor: %s, want an error", r.Text)
	}
	if w, ok := b.desktop.state.Window("monitor-1", "secret"); !ok || w.Lock != "" || w.Content != (wire.TextContent{Data: "hidden"}) {
		t.Errorf("the other monitor's window is now %+v, want it unchanged", w)
	}
}

func TestIframeWaitsForTheTab(t *testing.T) {
	t.Parallel()
	const create = `{"windowId":"w","title":"","content":{"renderer":"iframe","content":"https://example.org/"}}`
	for name, tt := range map[string]struct {
		feedback wire.RenderingFeedback
		answered bool
		err      error
		says     string
		isError  bool
	}{
		"failure":      {feedback: wire.RenderingFeedback{Success: false, Error: "refused to connect"}, answered: true, says: "refused to connect", isError: true},
		"success":      {feedback: wire.RenderingFeedback{Success: true}, answered: true, says: `Opened window "w".`},
		"no answer":    {says: `Opened window "w".`},
		"turn is over": {err: errors.New("the turn is over"), says: "The turn is over.", isError: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.desktop.show = func(wire.Action) (wire.RenderingFeedback, bool, error) { return tt.feedback, tt.answered, tt.err }
			r := b.call("window_create", create)
			if r.IsError != tt.isError || !strings.Contains(r.Text, tt.says) {
				t.Errorf("result %+v, want error %v with %q", r, tt.isError, tt.says)
			}
			a, ok := b.desktop.shown[0].(wire.WindowCreate)
			if !ok || a.RequestID != "req-1" || a.AgentID != "main-monitor-0-m1" || b.desktop.waits[0] != 2*time.Second {
				t.Errorf("shown are %+v, waited was %v, want the window of the caller with a request id for 2s", b.desktop.shown, b.desktop.waits)
			}
			if len(b.desktop.begun) != 1 || len(b.desktop.ended) != 1 || b.desktop.ended[0].result.Text != r.Text || !b.desktop.begun[0].call.Repeatable {
				t.Errorf("the session received %+v, %+v, want one repeatable call and its end with %q", b.desktop.begun, b.desktop.ended, r.Text)
			}
		})
	}
}

func TestOnlyPagesAreFramed(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.show = func(wire.Action) (wire.RenderingFeedback, bool, error) { return wire.RenderingFeedback{}, false, nil }
	for _, address := range []string{"javascript:alert(1)", "data:text/html,x", "", "file:///etc/passwd", "JaVaScRiPt:x", "\u0001javascript:x", "java\nscript:x"} {
		input := `{"windowId":"w","title":"","content":{"renderer":"iframe","content":` + string(quote(address)) + `}}`
		if r := b.call("window_create", input); !r.IsError {
			t.Errorf("%q was framed, want an error", address)
		}
	}
	for _, address := range []string{"/api/files/x.html", "http://localhost:3000", "https://example.org/a?b#c"} {
		b.must("window_create", `{"windowId":"w","title":"","content":{"renderer":"iframe","content":`+string(quote(address))+`}}`)
	}
}

// Agents cannot set the permissions of a page, and no address is code.
func TestPagesStayPages(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.show = func(wire.Action) (wire.RenderingFeedback, bool, error) { return wire.RenderingFeedback{}, false, nil }
	b.must("window_create", `{"windowId":"w","title":"","content":{"renderer":"iframe","content":"https://example.org/"}}`)
	before := b.window("w")
	for _, content := range []string{
		`"javascript:alert(1)"`, `{"url":"javascript:alert(1)"}`, `{"url":"https://example.org/","sandbox":"allow-same-origin"}`,
	} {
		if r := b.call("window_update", `{"windowId":"w","operation":"replace","content":`+content+`}`); !r.IsError {
			t.Errorf("%s was shown, want an error", content)
		}
		hook := `{"section":"hooks","event":"launch","action":{"type":"os_action","payload":{"type":"window.updateContent","windowId":"w","operation":{"op":"replace","data":` + content + `}}}}`
		if strings.Contains(content, "sandbox") {
			if r := b.call("system_set_config", hook); !r.IsError || !strings.Contains(r.Text, "sandbox") {
				t.Errorf("a hook with %s gives %+v, want an error about sandbox", content, r)
			}
		}
	}
	if got := b.window("w"); !cmp.Equal(got, before) {
		t.Errorf("the window is %+v, want %+v unchanged", got, before)
	}
	b.must("window_update", `{"windowId":"w","operation":"replace","content":"/app.html"}`)
}

func TestListAndView(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	if got := b.must("window_list", ``); got != "[]" {
		t.Errorf("an empty desktop lists %s, want []", got)
	}
	if r := b.call("window_view", `{"windowId":"x"}`); !r.IsError || !strings.Contains(r.Text, "no window is open") {
		t.Errorf("a view of no window gives %+v, want an error that none is open", r)
	}
	b.must("window_create", `{"windowId":"w","title":"A \"title\"","content":{"renderer":"markdown","content":"some <b>text</b>"}}`)
	b.must("window_create", `{"windowId":"t","title":"T","content":{"renderer":"table","content":{"headers":["h"],"rows":[["cell"]]}}}`)
	if got, want := b.must("window_list", `{}`), `[{"windowId":"w","title":"A \"title\"","renderer":"markdown","bounds":{"x":16,"y":16,"w":460,"h":320}},`+
		`{"windowId":"t","title":"T","renderer":"table","bounds":{"x":492,"y":16,"w":360,"h":220},"focused":true}]`; got != want {
		t.Errorf("list\n%s\nwant\n%s", got, want)
	}
	if got := b.must("window_view", `{"windowId":"w"}`); !strings.HasSuffix(got, "\n\nsome <b>text</b>") || !strings.Contains(got, "renderer markdown") {
		t.Errorf("view %q, want the text of a markdown window", got)
	}
	if got := b.must("window_view", `{"windowId":"t"}`); !strings.HasSuffix(got, `{"headers":["h"],"rows":[["cell"]]}`) {
		t.Errorf("view %q, want the table as JSON", got)
	}
	b.must("window_create", `{"windowId":"m","title":"","content":{"renderer":"html","content":"<p>"},"minimized":true}`)
	b.must("window_lock", `{"windowId":"m"}`)
	if got := b.must("window_view", `{"windowId":"m"}`); !strings.Contains(got, ", minimized, locked by main-monitor-0-m1\n\n<p>") {
		t.Errorf("view %q, want it minimized and locked", got)
	}
	b.must("window_update", `{"windowId":"w","operation":"replace","content":`+string(quote(strings.Repeat("é", 60_000)))+`}`)
	if got := b.must("window_view", `{"windowId":"w"}`); len([]rune(got)) > 50_100 || !strings.Contains(got, "[cut: this is 50000 of ") {
		t.Errorf("a long view has %d characters, want at most 50100 and where it was cut", len([]rune(got)))
	}
}

func TestViewWithAPicture(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n and more")
	for name, tt := range map[string]struct {
		feedback wire.RenderingFeedback
		answered bool
		images   []providers.Image
		says     string
	}{
		"picture":       {wire.RenderingFeedback{Success: true, ImageData: base64.StdEncoding.EncodeToString(png)}, true, []providers.Image{{MediaType: "image/png", Data: png}}, "hello"},
		"no browser":    {wire.RenderingFeedback{}, false, nil, "no browser shows the window"},
		"failed":        {wire.RenderingFeedback{Error: "tainted"}, true, nil, "tainted"},
		"not base64":    {wire.RenderingFeedback{Success: true, ImageData: "???"}, true, nil, "something else"},
		"not a picture": {wire.RenderingFeedback{Success: true, ImageData: base64.StdEncoding.EncodeToString([]byte("hi"))}, true, nil, "something else"},
		"far too large": {wire.RenderingFeedback{Success: true, ImageData: strings.Repeat("A", 8<<20)}, true, nil, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t)
			b.must("window_create", `{"windowId":"w","title":"","content":{"renderer":"text","content":"hello"}}`)
			b.desktop.show = func(wire.Action) (wire.RenderingFeedback, bool, error) { return tt.feedback, tt.answered, nil }
			r := b.call("window_view", `{"windowId":"w","includeImage":true}`)
			if r.IsError || !strings.Contains(r.Text, "hello") || !strings.Contains(r.Text, tt.says) {
				t.Errorf("result %.300q, want the text and %q", r.Text, tt.says)
			}
			if diff := cmp.Diff(tt.images, r.Images); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
			if a, ok := b.desktop.shown[0].(wire.WindowCapture); !ok || a.RequestID != "req-1" || b.desktop.waits[0] != 5*time.Second {
				t.Errorf("shown are %+v, waited was %v, want a capture with a request id for 5s", b.desktop.shown, b.desktop.waits)
			}
		})
	}
	b := setUp(t)
	if r := b.call("window_view", `{"windowId":"w","includeImage":true}`); !r.IsError || len(b.desktop.shown) != 0 {
		t.Errorf("a picture of a window that is not there gives %+v, want an error and nothing shown", r)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("window_show_notification", `{"id":"n1","title":"T","body":"B","icon":"🔔"}`)
	if n, ok := b.desktop.state.Notices().Notification("n1"); !ok || n.Title != "T" || n.Body != "B" || n.Icon != "🔔" {
		t.Errorf("notification %+v, want T with its body and icon", n)
	}
	b.must("window_dismiss_notification", `{"id":"n1"}`)
	if r := b.call("window_dismiss_notification", `{"id":"n1"}`); !r.IsError {
		t.Error("a notification was dismissed twice, want an error")
	}
	b.must("window_show_toast", `{"id":"t1","message":"Saved","variant":"success","duration":60000}`)
	if n, ok := b.desktop.state.Notices().Toast("t1"); !ok || n.Message != "Saved" || n.Variant != wire.NoticeSuccess || n.Duration != 60000 {
		t.Errorf(`toast %+v, want "Saved" as success for 60000 ms`, n)
	}
	b.must("window_dismiss_toast", `{"id":"t1"}`)
	one, two := b.must("window_show_toast", `{"message":"a"}`), b.must("window_show_toast", `{"message":"b"}`)
	if one == two || len(b.desktop.state.Notices().Toasts()) != 2 {
		t.Errorf("toasts without an id give %s and %s, want two toasts", one, two)
	}
	if r := b.call("window_show_toast", `{"message":"a","variant":"loud"}`); !r.IsError || !strings.Contains(r.Text, "variant") {
		t.Errorf("an unknown variant gives %+v, want an error about it", r)
	}
}

// Clients of these tools name the app of a window. It is the one at the address, or there is none.
func TestWindowNamesItsApp(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.desktop.show = func(wire.Action) (wire.RenderingFeedback, bool, error) { return wire.RenderingFeedback{}, false, nil }
	const create = `{"windowId":"w","title":"","appId":"todo","content":{"renderer":"%s","content":"%s"}}`
	for _, good := range [][2]string{{"iframe", "/api/apps/todo/index.html"}, {"iframe", "https://example.org/"}, {"text", "of an app"}} {
		b.must("window_create", fmt.Sprintf(create, good[0], good[1]))
	}
	got := b.call("window_create", fmt.Sprintf(create, "iframe", "/api/apps/todo-2/index.html"))
	if !got.IsError || !strings.Contains(got.Text, "appId") {
		t.Errorf("address of another app: got %+v, want an error that names appId", got)
	}
	b.must("window_create_component", `{"windowId":"c","title":"","appId":"todo","components":[{"type":"text","content":"x"}]}`)
}
