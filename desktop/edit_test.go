package desktop_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// showing returns a state with one window, win, on the first monitor.
func showing(c wire.Content) *desktop.State {
	s := desktop.New("ses-1")
	s.Apply(wire.Event{Session: "ses-1", At: wire.Position{Epoch: 1, Seq: 1}, Data: wire.Actions{
		MonitorID: "monitor-0", Actions: []wire.Action{wire.WindowCreate{WindowID: "win", Content: c}},
	}})
	return s
}

// The page applies the same file to what it shows before the hub answers.
func TestEditsOfUsersChangeContentAsTheVectorsSay(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../web/core/testdata/edits.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, About         string
		Before, Edit, After json.RawMessage
		Refused             *wire.ReasonCode
	}
	if err := json.Unmarshal(file, &cases); err != nil {
		t.Fatal(err)
	}
	contents, actions := wire.FormatOf[wire.Content](), wire.FormatOf[wire.Action]()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			before, err := contents.Decode(c.Before)
			if err != nil {
				t.Fatalf("before: %v", err)
			}
			edit, err := actions.Decode([]byte(`{"type":"window.edit","windowId":"win",` + string(c.Edit[1:])))
			if err != nil {
				t.Fatalf("edit: %v", err)
			}
			s := showing(before)
			set, about, why := s.Edited("monitor-0", edit.(wire.WindowEdit)) //nolint:forcetypeassert // a failure is a panic with the type
			if c.Refused != nil {
				if why == nil || why.ReasonCode != *c.Refused {
					t.Errorf("got the content %+v and the refusal %+v, want a refusal with the code %q", set.Content, why, *c.Refused)
				}
				return
			}
			if why != nil {
				t.Fatalf("refused: %v", why)
			}
			want, err := contents.Decode(c.After)
			if err != nil {
				t.Fatalf("after: %v", err)
			}
			if got, want := contents.Append(nil, &set.Content), contents.Append(nil, &want); !bytes.Equal(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if about != c.About {
				t.Errorf("the sentence is %q, want %q", about, c.About)
			}
			w, _ := s.Window("monitor-0", "win")
			if got, want := contents.Append(nil, &w.Content), contents.Append(nil, &before); !bytes.Equal(got, want) {
				t.Errorf("the content that is shown became %s, want %s: only the event changes it", got, want)
			}
		})
	}
}

func TestEditsOfUsersIgnoreLocks(t *testing.T) {
	t.Parallel()
	s := showing(wire.TextContent{Data: "one"})
	s.Apply(wire.Event{Session: "ses-1", At: wire.Position{Epoch: 1, Seq: 2}, Data: wire.Actions{
		MonitorID: "monitor-0", Actions: []wire.Action{wire.WindowLock{WindowID: "win", AgentID: "main-monitor-0"}},
	}})
	set, _, why := s.Edited("monitor-0", wire.WindowEdit{WindowID: "win", Op: wire.EditText, Was: "one", Text: "two"})
	if why != nil {
		t.Fatalf("refused: %v", why)
	}
	s.Apply(wire.Event{Session: "ses-1", At: wire.Position{Epoch: 1, Seq: 3}, Data: wire.Actions{MonitorID: "monitor-0", Actions: []wire.Action{set}}})
	if w, _ := s.Window("monitor-0", "win"); w.Content != (wire.TextContent{Data: "two"}) {
		t.Errorf("the window shows %+v, want two", w.Content)
	}
}

func TestOnlyEditedTakesEdits(t *testing.T) {
	t.Parallel()
	s := showing(wire.TextContent{Data: "one"})
	edit := wire.WindowEdit{WindowID: "win", Op: wire.EditText, Was: "one", Text: "two"}
	for name, why := range map[string]*desktop.Refusal{
		"agent": s.Check("monitor-0", edit), "user": s.CheckUser("monitor-0", edit),
		"several": s.CheckAll("monitor-0", []wire.Action{wire.WindowFocus{WindowID: "win"}, edit}),
	} {
		if why == nil || why.Code != wire.CodeInvalidMessage {
			t.Errorf("%s: got %+v, want code %s", name, why, wire.CodeInvalidMessage)
		}
	}
	if _, _, why := s.Edited("monitor-0", wire.WindowEdit{WindowID: "other", Op: wire.EditText}); why == nil {
		t.Error("an edit of a window that does not exist is allowed, want a refusal")
	}
}

// Whatever users send, the content stays one that the decoder accepts, so it can be shown and restored.
func TestContentStaysValidAfterAnyEdits(t *testing.T) {
	t.Parallel()
	contents := wire.FormatOf[wire.Content]()
	texts := rapid.SampledFrom([]string{"", "a", "b", "a\tb", " x ", "\xff", strings.Repeat("é", desktop.MaxItemText), strings.Repeat("é", desktop.MaxItemText+1)})
	small := rapid.IntRange(-1, 4)
	item := rapid.Custom(func(t *rapid.T) wire.ChecklistItem {
		return wire.ChecklistItem{Text: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "item")}
	})
	rapid.Check(t, func(t *rapid.T) {
		items := rapid.SliceOfN(item, 0, 4).Draw(t, "items")
		if rapid.IntRange(0, 9).Draw(t, "full") == 0 {
			items = make([]wire.ChecklistItem, desktop.MaxChecklistItems)
		}
		cards := make([]wire.KanbanCard, rapid.SampledFrom([]int{0, 1, desktop.MaxKanbanCards}).Draw(t, "cards"))
		s := showing(rapid.SampledFrom([]wire.Content{
			wire.TextContent{Data: "a"},
			wire.TableContent{Data: wire.Table{Headers: []string{"h", "i"}, Rows: [][]string{{"a"}, {"a", "b", "c"}, {}}}},
			wire.ComponentContent{Data: wire.Layout{Components: []wire.Component{
				wire.ChecklistComponent{Items: items},
				wire.KanbanComponent{Columns: []wire.KanbanColumn{{Title: "x", Cards: cards}, {Title: "y", Cards: []wire.KanbanCard{{Text: "a"}}}}},
				wire.TextComponent{Content: "a"},
			}}},
		}).Draw(t, "content"))
		for n := range rapid.IntRange(1, 8).Draw(t, "edits") {
			e := wire.WindowEdit{
				WindowID: "win", Component: small.Draw(t, "component"), Column: small.Draw(t, "column"), Item: small.Draw(t, "item"),
				Op:  wire.EditOp(rapid.SampledFrom([]string{"check", "add", "rename", "remove", "move", "cell", "text", "?"}).Draw(t, "op")),
				Was: texts.Draw(t, "was"), Text: texts.Draw(t, "text"), Done: rapid.Bool().Draw(t, "done"),
				ToColumn: small.Draw(t, "toColumn"), ToItem: small.Draw(t, "toItem"),
			}
			set, about, why := s.Edited("monitor-0", e)
			if why != nil {
				continue
			}
			if about == "" {
				t.Fatalf("%+v has no sentence", e)
			}
			if _, err := contents.Decode(contents.Append(nil, &set.Content)); err != nil {
				t.Fatalf("after %+v the content is refused by the decoder: %v", e, err)
			}
			s.Apply(wire.Event{Session: "ses-1", At: wire.Position{Epoch: 1, Seq: uint64(n) + 2}, Data: wire.Actions{MonitorID: "monitor-0", Actions: []wire.Action{set}}})
		}
	})
}
