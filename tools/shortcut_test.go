package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// shortcuts returns the icons as an agent sees them.
func (b *bench) shortcuts() []map[string]any {
	b.t.Helper()
	var list []map[string]any
	if err := json.Unmarshal([]byte(b.must("system_list_shortcuts", `{}`)), &list); err != nil {
		b.t.Fatalf("the list of shortcuts is no JSON: %v", err)
	}
	return list
}

func TestShortcutsAreMadeChangedListedAndRemoved(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	if got := b.must("system_list_shortcuts", `{}`); got != "[]" {
		t.Errorf("a new desktop has the shortcuts %s, want none", got)
	}
	b.must("system_create_shortcut", `{"label":"Docs","icon":"📘","type":"url","target":"https://example.org/docs"}`)
	b.must("system_create_shortcut", `{"label":"Report","icon":"","type":"action","target":"","osActions":"[{\"type\":\"toast.show\",\"id\":\"t\",\"message\":\"hi\"}]"}`)
	list := b.shortcuts()
	if len(list) != 2 {
		t.Fatalf("there are the shortcuts %v, want two", list)
	}
	byLabel := map[any]map[string]any{list[0]["label"]: list[0], list[1]["label"]: list[1]}
	docs, report := byLabel["Docs"]["shortcutId"].(string), byLabel["Report"]["shortcutId"].(string)
	if got := byLabel["Report"]["osActions"]; got != 1.0 {
		t.Errorf("the second shortcut runs %v actions, want 1", got)
	}
	b.must("system_update_shortcut", `{"shortcutId":"`+docs+`","label":"Manual","target":null}`)
	want := map[string]any{"shortcutId": docs, "label": "Manual", "icon": "📘", "type": "url", "target": "https://example.org/docs"}
	b.must("system_remove_shortcut", `{"shortcutId":"`+report+`"}`)
	if got := b.shortcuts(); !cmp.Equal(got, []map[string]any{want}) {
		t.Errorf("the shortcuts are %v, want only %v", got, want)
	}
	if len(b.desktop.begun) != 0 || len(b.desktop.actions) != 4 {
		t.Errorf("the session saw %d begun calls and %d actions, want none and 4: each call is one step", len(b.desktop.begun), len(b.desktop.actions))
	}
}

func TestWrongShortcutsAreRefused(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	b.must("system_create_shortcut", `{"label":"Docs","icon":"d","type":"url","target":"https://example.org/"}`)
	id := b.shortcuts()[0]["shortcutId"].(string)
	with := func(actions string) string {
		return `{"label":"L","icon":"i","type":"action","target":"x","osActions":` + actions + `}`
	}
	nested := `[{"type":"desktop.createShortcut","shortcut":{"id":"n","label":"L","icon":"","type":"action","target":"x","createdAt":1}}]`
	for _, tt := range []struct{ tool, input, want string }{
		{"system_create_shortcut", `{"icon":"i","type":"url","target":"https://x.org"}`, "label"},
		{"system_create_shortcut", `{"label":"  ","icon":"i","type":"url","target":"https://x.org"}`, "label: "},
		{"system_create_shortcut", `{"label":"` + strings.Repeat("x", 101) + `","icon":"i","type":"url","target":"https://x.org"}`, "label: "},
		{"system_create_shortcut", `{"label":"L","icon":"i","type":"door","target":"x"}`, "type"},
		{"system_create_shortcut", `{"label":"L","icon":"i","iconType":"svg","type":"file","target":"x"}`, "iconType"},
		{"system_create_shortcut", `{"label":"L","icon":"i","type":"url","target":"javascript:alert(1)"}`, "target: "},
		{"system_create_shortcut", `{"label":"L","icon":"i","type":"url","target":"//x.org"}`, "target: "},
		{"system_create_shortcut", `{"label":"L","icon":"i","type":"file","target":" "}`, "target: "},
		{"system_create_shortcut", with(`"no json"`), "osActions: "},
		{"system_create_shortcut", with(`{"type":"toast.show"}`), "osActions: "},
		{"system_create_shortcut", with(`[{"type":"toast.show","id":"t"}]`), "osActions"},
		{"system_create_shortcut", with(`[{"type":"explode"}]`), "osActions"},
		{"system_create_shortcut", with(`[{"type":"dialog.confirm","id":"d","title":"t","message":"m"}]`), "cannot ask"},
		{"system_create_shortcut", with(`[{"type":"window.lock","windowId":"w","agentId":"a"}]`), "lock"},
		{"system_create_shortcut", with(nested), "shortcuts"},
		{"system_create_shortcut", with(`[{"type":"window.create","windowId":"w","title":"t","bounds":{"x":1,"y":1,"w":9,"h":9},"content":{"renderer":"iframe","data":{"url":"https://x.org/","sandbox":"allow-same-origin"}}}]`), "sandbox"},
		{"system_create_shortcut", with(`[` + strings.Repeat(`{"type":"toast.dismiss","id":"t"},`, 20) + `{"type":"toast.dismiss","id":"t"}]`), "at most 20"},
		{"system_create_shortcut", with(`[{"type":"toast.show","id":"t","message":"` + strings.Repeat("x", 65<<10) + `"}]`), "at most 65536"},
		{"system_update_shortcut", `{"shortcutId":"nothing","label":"L"}`, "There is no shortcut"},
		{"system_update_shortcut", `{"shortcutId":"` + id + `","target":"ftp://x.org"}`, "target: "},
		{"system_update_shortcut", `{"shortcutId":"` + id + `","label":" "}`, "label: "},
		{"system_update_shortcut", `{"shortcutId":"` + id + `","osActions":` + nested + `}`, "shortcuts"},
		{"system_remove_shortcut", `{"shortcutId":"nothing"}`, "There is no shortcut"},
	} {
		if r := b.call(tt.tool, tt.input); !r.IsError || !strings.Contains(r.Text, tt.want) || len(r.Text) > 3000 {
			t.Errorf("%s %.160s gives %.300q, error %v, want an error with %q", tt.tool, tt.input, r.Text, r.IsError, tt.want)
		}
	}
	if got := b.shortcuts(); len(got) != 1 || got[0]["label"] != "Docs" {
		t.Errorf("after refused calls the shortcuts are %v, want only the first", got)
	}
}

func TestHooksCannotHideActionsInShortcuts(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	ask := `[{"type":"dialog.confirm","id":"d","title":"t","message":"m"}]`
	for _, payload := range []string{
		`{"type":"desktop.createShortcut","shortcut":{"id":"n","label":"L","icon":"","type":"action","target":"x","createdAt":1,"osActions":` + ask + `}}`,
		`{"type":"desktop.updateShortcut","shortcutId":"n","updates":{"osActions":` + ask + `}}`,
	} {
		r := b.call("system_set_config", `{"section":"hooks","event":"launch","action":{"type":"os_action","payload":`+payload+`}}`)
		if !r.IsError || !strings.Contains(r.Text, "cannot ask") {
			t.Errorf("a hook with %s gives %+v, want an error about what a click can do", payload, r)
		}
	}
}

func TestShortcutsAreBounded(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	actions := make([]wire.Action, desktop.MaxShortcuts)
	for i := range actions {
		actions[i] = wire.CreateShortcut{Shortcut: wire.Shortcut{ID: wire.ShortcutID(fmt.Sprint("s", i)), Label: "L", Type: wire.ShortcutURL}}
	}
	if r := b.desktop.act(b.caller(), actions); r != nil {
		t.Fatal(r)
	}
	if r := b.call("system_create_shortcut", `{"label":"L","icon":"i","type":"url","target":"https://x.org"}`); !r.IsError || !strings.Contains(r.Text, "already") {
		t.Errorf("one shortcut too many gives %+v, want an error", r)
	}
}
