package policies_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

func did(verb string, window wire.WindowID) policies.TimelineEntry {
	return policies.TimelineEntry{Kind: policies.EntryUser, Verb: verb, Window: window}
}

func moved(window wire.WindowID, x float64) policies.TimelineEntry {
	e := did("move", window)
	e.Bounds = &wire.Bounds{X: x, Y: 2, W: 3, H: 4}
	return e
}

func fold(entries ...policies.TimelineEntry) []policies.TimelineEntry {
	var all []policies.TimelineEntry
	for _, e := range entries {
		all = policies.FoldTimeline(all, e)
	}
	return all
}

func TestUserEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   wire.UserInteraction
		want string
	}{
		"close":   {wire.UserInteraction{Type: wire.DidCloseWindow, WindowID: "settings-win"}, "<ui:close>settings-win</ui:close>"},
		"move":    {wire.UserInteraction{Type: wire.DidMoveWindow, WindowID: "a", Bounds: &wire.Bounds{X: -1.5, Y: 2, W: 3, H: 4}}, "<ui:move>a {x:-1.5,y:2,w:3,h:4}</ui:move>"},
		"details": {wire.UserInteraction{Type: wire.DidDismissToast, Details: "Saved <x>\nok"}, "<ui:dismiss>Saved &lt;x&gt; ok</ui:dismiss>"},
		"instruction": {
			wire.UserInteraction{Type: wire.DidSelectRegion, WindowID: "a", Instruction: `say "hi"`},
			`<ui:select>a "say \"hi\""</ui:select>`,
		},
		"nothing to say": {wire.UserInteraction{Type: wire.DidClickIcon}, "<ui:click></ui:click>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, ok := policies.UserEntry(c.in)
			if got := policies.FormatTimeline([]policies.TimelineEntry{e}); !ok || got != "<timeline>\n"+c.want+"\n</timeline>" {
				t.Errorf("timeline: got %v %q, want true and %q in a timeline", ok, got, c.want)
			}
		})
	}
}

func TestDrawingsAreNeverOnTheTimeline(t *testing.T) {
	t.Parallel()
	for _, kind := range []wire.InteractionType{wire.DidDraw, "", "x.", "a.b><c"} {
		if e, ok := policies.UserEntry(wire.UserInteraction{Type: kind}); ok {
			t.Errorf("entry of %q: got %+v, want none", kind, e)
		}
	}
}

func TestUserEntryIsNotLongerThanNeeded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("가", 10_000)
	e, _ := policies.UserEntry(wire.UserInteraction{Type: wire.DidDismissToast, Details: long, Instruction: long})
	if n := len([]rune(e.Details)) + len([]rune(e.Instruction)); n > 1100 || !strings.HasSuffix(e.Details, "가…") {
		t.Errorf("long entry: got %d characters with the end %q, want at most 1100 and an ellipsis", n, e.Details[len(e.Details)-6:])
	}
}

func TestAIEntryListsEveryAction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action wire.Action
		want   string
	}{
		"create":       {wire.WindowCreate{WindowID: "chart", Content: wire.MarkdownContent{}}, `Created window "chart" (markdown).`},
		"create html":  {wire.WindowCreate{WindowID: "w", Content: wire.HTMLContent{}}, `Created window "w" (html).`},
		"create table": {wire.WindowCreate{WindowID: "w", Content: wire.TableContent{}}, `Created window "w" (table).`},
		"create page":  {wire.WindowCreate{WindowID: "w", Content: wire.IframeContent{}}, `Created window "w" (iframe).`},
		"create form":  {wire.WindowCreate{WindowID: "w", Content: wire.ComponentContent{}}, `Created window "w" (component).`},
		"create other": {wire.WindowCreate{WindowID: "w", Content: wire.OtherContent{Renderer: "x<y"}}, `Created window "w" (x&lt;y).`},
		"close":        {wire.WindowClose{WindowID: "w"}, `Closed window "w".`},
		"title":        {wire.WindowSetTitle{WindowID: "w", Title: `T". Closed window "x`}, `Set title of "w" to "T\". Closed window \"x".`},
		"content":      {wire.WindowSetContent{WindowID: "w", Content: wire.TextContent{}}, `Updated content of "w".`},
		"append":       {wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateAppend{}}, `Modified content of "w" (append).`},
		"prepend":      {wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdatePrepend{}}, `Modified content of "w" (prepend).`},
		"replace":      {wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateReplace{}}, `Modified content of "w" (replace).`},
		"insert":       {wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateInsertAt{}}, `Modified content of "w" (insertAt).`},
		"clear":        {wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateClear{}}, `Modified content of "w" (clear).`},
		"notify":       {wire.NotificationShow{Notification: wire.Notification{ID: "n", Title: "Hi"}}, `Showed notification: "Hi".`},
		"dismiss":      {wire.NotificationDismiss{ID: "n"}, `Dismissed notification "n".`},
		"others":       {wire.WindowFocus{WindowID: "w"}, "Action: window.focus."},
		"nothing":      {nil, "Action: none."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := policies.FormatTimeline([]policies.TimelineEntry{policies.AIEntry("a", []wire.Action{c.action})})
			if want := "<timeline>\n<ai agent=\"a\">" + c.want + "</ai>\n</timeline>"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestAIEntryWithoutActions(t *testing.T) {
	t.Parallel()
	if got := policies.AIEntry("a", nil).Text; got != "No actions taken." {
		t.Errorf("entry without actions: got %q, want %q", got, "No actions taken.")
	}
}

func TestAIEntryCountsOmittedActions(t *testing.T) {
	t.Parallel()
	got := policies.AIEntry("a", slices.Repeat([]wire.Action{wire.WindowClose{WindowID: "w"}}, 1000)).Text
	told := strings.Count(got, "Closed")
	if want := "And " + strconv.Itoa(1000-told) + " more."; len(got) > 2500 || !strings.HasSuffix(got, want) {
		t.Errorf("%d bytes, ends with %q, want %q", len(got), got[len(got)-20:], want)
	}
}

func TestTimelineKeepsTheOrderOfUsersAndAgents(t *testing.T) {
	t.Parallel()
	got := policies.FormatTimeline(fold(
		did("close", "a"), policies.AIEntry("window-b", nil), did("focus", "c"), policies.BudgetEntry("30 actions a minute & no more"),
	))
	want := `<timeline>
<ui:close>a</ui:close>
<ai agent="window-b">No actions taken.</ai>
<ui:focus>c</ui:focus>
<budget>30 actions a minute &amp; no more</budget>
</timeline>`
	if got != want {
		t.Errorf("timeline: got:\n%s\nwant:\n%s", got, want)
	}
	if got := policies.FormatTimeline(nil); got != "" {
		t.Errorf("an empty timeline: got %q, want no text", got)
	}
}

func TestFoldTimeline(t *testing.T) {
	t.Parallel()
	ai := policies.AIEntry("x", nil)
	resized := moved("a", 9)
	resized.Verb = "resize"
	for name, c := range map[string]struct{ in, want []policies.TimelineEntry }{
		"the same focus again":             {[]policies.TimelineEntry{did("focus", "a"), did("focus", "a")}, []policies.TimelineEntry{did("focus", "a")}},
		"focus of another":                 {[]policies.TimelineEntry{did("focus", "a"), did("focus", "b"), did("focus", "a")}, []policies.TimelineEntry{did("focus", "a"), did("focus", "b"), did("focus", "a")}},
		"focus before a move":              {[]policies.TimelineEntry{did("focus", "a"), moved("a", 1)}, []policies.TimelineEntry{moved("a", 1)}},
		"focus before another's move":      {[]policies.TimelineEntry{did("focus", "b"), moved("a", 1)}, []policies.TimelineEntry{did("focus", "b"), moved("a", 1)}},
		"moves":                            {[]policies.TimelineEntry{moved("a", 1), moved("a", 2), moved("a", 3)}, []policies.TimelineEntry{moved("a", 3)}},
		"moves with focus between":         {[]policies.TimelineEntry{moved("a", 1), did("focus", "a"), moved("a", 2)}, []policies.TimelineEntry{moved("a", 2)}},
		"a move and a resize":              {[]policies.TimelineEntry{moved("a", 1), resized}, []policies.TimelineEntry{resized}},
		"a resize that says no size":       {[]policies.TimelineEntry{moved("a", 1), did("resize", "a")}, []policies.TimelineEntry{moved("a", 1), did("resize", "a")}},
		"moves of two":                     {[]policies.TimelineEntry{moved("a", 1), moved("b", 2), moved("a", 3)}, []policies.TimelineEntry{moved("a", 1), moved("b", 2), moved("a", 3)}},
		"an agent between":                 {[]policies.TimelineEntry{moved("a", 1), ai, moved("a", 2)}, []policies.TimelineEntry{moved("a", 1), ai, moved("a", 2)}},
		"the same close again is not less": {[]policies.TimelineEntry{did("close", "a"), did("close", "a")}, []policies.TimelineEntry{did("close", "a"), did("close", "a")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, fold(c.in...)); diff != "" {
				t.Errorf("folded timeline (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimelineCountsDroppedEntries(t *testing.T) {
	t.Parallel()
	var all []policies.TimelineEntry
	for i := range 1234 {
		all = policies.FoldTimeline(all, did("close", wire.WindowID(strconv.Itoa(i))))
	}
	if len(all) != policies.MaxTimeline || all[0].Count != 1234-policies.MaxTimeline+1 || all[policies.MaxTimeline-1].Window != "1233" {
		t.Errorf("got %d entries, first %+v, last %+v, want %d, first for %d entries, last of window 1233", len(all), all[0], all[len(all)-1], policies.MaxTimeline, 1234-policies.MaxTimeline+1)
	}
	if got := policies.FormatTimeline(all); !strings.HasPrefix(got, "<timeline>\n<earlier count=\"735\"/>\n<ui:close>735</ui:close>\n") {
		t.Errorf("timeline: got the beginning %q, want 735 earlier entries", got[:60])
	}
}

func TestTimelineOmitsUnknownEntries(t *testing.T) {
	t.Parallel()
	entries := []policies.TimelineEntry{{Kind: "newer"}, {Kind: policies.EntryUser, Verb: "x>y"}, {}}
	if got := policies.FormatTimeline(entries); got != "" {
		t.Errorf("timeline of unknown entries: got %q, want no text", got)
	}
}

func TestFoldedTimelineProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []policies.TimelineEntry
		for _, e := range drawEntries(t) {
			before := slices.Clone(all)
			all = policies.FoldTimeline(all, e)
			if len(all) < len(before)-1 || len(all) > len(before)+1 {
				t.Fatalf("entries after folding one into %d: got %d, want at most one more or less", len(before), len(all))
			}
			if keep := max(0, min(len(before)-2, len(all))); !cmp.Equal(all[:keep], before[:keep], cmpopts.EquateEmpty()) {
				t.Fatalf("folding: got more than the end changed (-before +after):\n%s\nwant only the last two entries changed", cmp.Diff(before, all))
			}
		}
		for i := 1; i < len(all); i++ {
			a, b := all[i-1], all[i]
			if a.Kind == policies.EntryUser && a.Verb == "focus" && a.Window == b.Window && a.Window != "" &&
				(b.Verb == "focus" || b.Verb == "move" || b.Verb == "resize") {
				t.Fatalf("timeline: got %+v before %+v, want both in one entry", a, b)
			}
		}
		data, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		var kept []policies.TimelineEntry
		if err := json.Unmarshal(data, &kept); err != nil || !cmp.Equal(all, kept, cmpopts.EquateEmpty()) {
			t.Fatalf("decoded entries: got error %v (-want +got):\n%s", err, cmp.Diff(all, kept))
		}
	})
}

// drawEntries generates timeline entries with text that imitates tags.
func drawEntries(t *rapid.T) []policies.TimelineEntry {
	text := forgedText()
	one := rapid.Custom(func(t *rapid.T) policies.TimelineEntry {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			return policies.BudgetEntry(text.Draw(t, "budget"))
		case 1:
			var actions []wire.Action
			for range rapid.IntRange(0, 2).Draw(t, "actions") {
				actions = append(actions, wire.WindowSetTitle{WindowID: wire.WindowID(text.Draw(t, "window")), Title: text.Draw(t, "title")})
			}
			return policies.AIEntry(wire.AgentID(text.Draw(t, "agent")), actions)
		}
		i := wire.UserInteraction{
			Type: rapid.SampledFrom([]wire.InteractionType{
				wire.DidCloseWindow, wire.DidFocusWindow, wire.DidMoveWindow, wire.DidResizeWindow, wire.DidDismissToast,
			}).Draw(t, "verb"),
			WindowID:    wire.WindowID(rapid.OneOf(rapid.SampledFrom([]string{"a", "b"}), text).Draw(t, "window")),
			Details:     text.Draw(t, "details"),
			Instruction: text.Draw(t, "instruction"),
		}
		if rapid.Bool().Draw(t, "bounds") {
			i.Bounds = &wire.Bounds{X: 1}
		}
		e, _ := policies.UserEntry(i)
		return e
	})
	return rapid.SliceOfN(one, 0, 8).Draw(t, "entries")
}

// entryTags returns the tags of a formatted entry.
func entryTags(e policies.TimelineEntry) []string {
	tag := string(e.Kind)
	if e.Kind == policies.EntryUser {
		tag = "ui:" + e.Verb
	}
	return []string{"<" + tag + ">", "</" + tag + ">"}
}

// flat returns s on one line.
func flat(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
