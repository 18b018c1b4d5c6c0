package desktop_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	s := newScript()
	table := open("table")
	table.Content = wire.TableContent{}
	full := open("full")
	full.Content = text(strings.Repeat("x", desktop.MaxContent))
	s.act(open("a"), table, full, open("locked"), wire.WindowLock{WindowID: "locked", AgentID: "main-1"})
	s.actOn("monitor-1", open("b"))
	by := func(agent wire.AgentID) wire.ActionMeta { return wire.ActionMeta{AgentID: agent} }
	more := wire.UpdateAppend{Data: json.RawMessage(`"x"`)}
	sized := func(v float64) wire.WindowCreate {
		w := open("new")
		w.Bounds.W = v
		return w
	}
	filled := func(c wire.Content) wire.WindowCreate {
		w := open("new")
		w.Content = c
		return w
	}
	page := func(address string, object bool) wire.IframeContent {
		if object {
			return wire.IframeContent{Data: wire.IframeSource{Frame: &wire.Iframe{URL: address}}}
		}
		return wire.IframeContent{Data: wire.IframeSource{URL: address}}
	}
	stolen := open("locked")
	stolen.AgentID = "main-2"
	huge := wire.OtherContent{Renderer: "globe", Data: json.RawMessage(`"` + strings.Repeat("x", desktop.MaxContent) + `"`)}
	const ok wire.Code = 0
	for name, c := range map[string]struct {
		action wire.Action
		want   wire.Code
	}{
		"nothing":                 {nil, wire.CodeInvalidMessage},
		"create":                  {open("new"), ok},
		"create without id":       {open(""), wire.CodeInvalidMessage},
		"create without content":  {filled(nil), wire.CodeInvalidMessage},
		"frame a page":            {filled(page("https://example.org/", false)), ok},
		"frame a file":            {filled(page("/files/a b%.html?javascript:x", false)), ok},
		"frame an object":         {filled(page("HTTP://example.org/", true)), ok},
		"frame code":              {filled(page("javascript:alert(1)", false)), wire.CodeInvalidMessage},
		"frame an object of code": {filled(page("javascript:alert(1)", true)), wire.CodeInvalidMessage},
		"frame hidden code":       {filled(page("\x01 jAva\nscr\tipt:alert(1)", false)), wire.CodeInvalidMessage},
		"frame data":              {filled(page("data:text/html,x", false)), wire.CodeInvalidMessage},
		"set code":                {wire.WindowSetContent{WindowID: "a", Content: page("javascript:x", false)}, wire.CodeInvalidMessage},
		"replace by code": {wire.WindowUpdateContent{
			WindowID: "a", Renderer: "iframe", Operation: wire.UpdateReplace{Data: json.RawMessage(`"javascript:x"`)},
		}, wire.CodeInvalidMessage},
		"clear a page":             {wire.WindowUpdateContent{WindowID: "a", Renderer: "iframe", Operation: wire.UpdateClear{}}, ok},
		"create too full":          {filled(huge), wire.CodeMessageTooLarge},
		"create NaN":               {sized(math.NaN()), wire.CodeInvalidMessage},
		"create infinite":          {sized(math.Inf(-1)), wire.CodeInvalidMessage},
		"create huge":              {sized(1e6 + 1), wire.CodeInvalidMessage},
		"create large":             {sized(1e6), ok},
		"replace a locked one":     {stolen, wire.CodeSessionInvalidState},
		"close":                    {wire.WindowClose{WindowID: "a"}, ok},
		"close nothing":            {wire.WindowClose{WindowID: "b"}, wire.CodeSessionInvalidState},
		"close on another monitor": {wire.WindowClose{WindowID: "monitor-1/b"}, ok},
		"close locked":             {wire.WindowClose{WindowID: "locked"}, wire.CodeSessionInvalidState},
		"close locked as another":  {wire.WindowClose{WindowID: "locked", ActionMeta: by("main-2")}, wire.CodeSessionInvalidState},
		"close one's own":          {wire.WindowClose{WindowID: "locked", ActionMeta: by("main-1")}, ok},
		"focus nothing":            {wire.WindowFocus{WindowID: "b"}, wire.CodeSessionInvalidState},
		"focus locked":             {wire.WindowFocus{WindowID: "locked"}, ok},
		"minimize nothing":         {wire.WindowMinimize{WindowID: "b"}, wire.CodeSessionInvalidState},
		"maximize nothing":         {wire.WindowMaximize{WindowID: "b"}, wire.CodeSessionInvalidState},
		"restore nothing":          {wire.WindowRestore{WindowID: "b"}, wire.CodeSessionInvalidState},
		"move":                     {wire.WindowMove{WindowID: "a", X: -5}, ok},
		"move nothing":             {wire.WindowMove{WindowID: "b"}, wire.CodeSessionInvalidState},
		"move far":                 {wire.WindowMove{WindowID: "a", Y: -2e6}, wire.CodeInvalidMessage},
		"resize":                   {wire.WindowResize{WindowID: "a", W: 5}, ok},
		"resize nothing":           {wire.WindowResize{WindowID: "b"}, wire.CodeSessionInvalidState},
		"resize wide":              {wire.WindowResize{WindowID: "a", W: math.Inf(1)}, wire.CodeInvalidMessage},
		"title of nothing":         {wire.WindowSetTitle{WindowID: "b"}, wire.CodeSessionInvalidState},
		"capture nothing":          {wire.WindowCapture{WindowID: "b"}, wire.CodeSessionInvalidState},
		"content":                  {wire.WindowSetContent{WindowID: "a", Content: text("")}, ok},
		"content by pointer":       {&wire.WindowSetContent{WindowID: "a", Content: &huge}, wire.CodeMessageTooLarge},
		"content of nothing":       {wire.WindowSetContent{WindowID: "b", Content: text("")}, wire.CodeSessionInvalidState},
		"content of locked":        {wire.WindowSetContent{WindowID: "locked", Content: text("")}, wire.CodeSessionInvalidState},
		"content too large":        {wire.WindowSetContent{WindowID: "a", Content: huge}, wire.CodeMessageTooLarge},
		"update":                   {wire.WindowUpdateContent{WindowID: "a", Operation: more}, ok},
		"update nothing":           {wire.WindowUpdateContent{WindowID: "b", Operation: more}, wire.CodeSessionInvalidState},
		"update locked":            {wire.WindowUpdateContent{WindowID: "locked", Operation: more}, wire.CodeSessionInvalidState},
		"update a full one":        {wire.WindowUpdateContent{WindowID: "full", Operation: more}, wire.CodeMessageTooLarge},
		"append to a table":        {wire.WindowUpdateContent{WindowID: "table", Operation: more}, wire.CodeInvalidMessage},
		"append as text":           {wire.WindowUpdateContent{WindowID: "table", Operation: more, Renderer: "text"}, ok},
		"append a number":          {wire.WindowUpdateContent{WindowID: "a", Operation: wire.UpdateAppend{Data: json.RawMessage(`1`)}}, wire.CodeInvalidMessage},
		"insert before":            {wire.WindowUpdateContent{WindowID: "a", Operation: wire.UpdateInsertAt{Position: -1, Data: json.RawMessage(`""`)}}, wire.CodeInvalidMessage},
		"create a table":           {filled(tableOf([]string{"a", "b"}, []string{"1", "2"})), ok},
		"create a ragged table":    {filled(tableOf([]string{"a", "b"}, []string{"1", "2"}, []string{"3"})), wire.CodeInvalidMessage},
		"set a ragged table":       {wire.WindowSetContent{WindowID: "a", Content: tableOf([]string{"a"}, []string{"1", "2"})}, wire.CodeInvalidMessage},
		"replace by a ragged table": {wire.WindowUpdateContent{
			WindowID: "table", Operation: wire.UpdateReplace{Data: json.RawMessage(`{"headers":["a"],"rows":[["1"],[]]}`)},
		}, wire.CodeInvalidMessage},
		"replace by a table":    {wire.WindowUpdateContent{WindowID: "a", Operation: wire.UpdateReplace{Data: json.RawMessage(`{}`)}}, wire.CodeInvalidMessage},
		"clear":                 {wire.WindowUpdateContent{WindowID: "table", Operation: wire.UpdateClear{}}, ok},
		"no operation":          {wire.WindowUpdateContent{WindowID: "a"}, wire.CodeInvalidMessage},
		"lock":                  {wire.WindowLock{WindowID: "a", AgentID: "main-2"}, ok},
		"lock again":            {wire.WindowLock{WindowID: "locked", AgentID: "main-1"}, ok},
		"lock as another":       {wire.WindowLock{WindowID: "locked", AgentID: "main-2"}, wire.CodeSessionInvalidState},
		"unlock":                {wire.WindowUnlock{WindowID: "locked", AgentID: "main-1"}, ok},
		"unlock as another":     {wire.WindowUnlock{WindowID: "locked", AgentID: "main-2"}, wire.CodeSessionInvalidState},
		"no notification":       {wire.NotificationDismiss{ID: "x"}, wire.CodeSessionInvalidState},
		"no toast":              {wire.ToastDismiss{ID: "x"}, wire.CodeSessionInvalidState},
		"no prompt":             {wire.PromptDismiss{ID: "x"}, wire.CodeHITLRequestExpired},
		"no shortcut":           {wire.RemoveShortcut{ShortcutID: "x"}, wire.CodeSessionInvalidState},
		"no shortcut to change": {wire.UpdateShortcut{ShortcutID: "x"}, wire.CodeSessionInvalidState},
		"toast":                 {wire.ToastShow{Toast: wire.Toast{ID: "x"}}, ok},
		"refresh":               {wire.RefreshApps{}, ok},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.Check("", c.action)
			if got := codeOf(r); got != c.want {
				t.Errorf("code %d, want %d (%+v)", got, c.want, r)
			}
			if r != nil && (r.Error() == "" || len(r.Error()) > 300) {
				t.Errorf("reason %q, want 1 to 300 bytes", r.Error())
			}
		})
	}
}

func tableOf(headers []string, rows ...[]string) wire.TableContent {
	return wire.TableContent{Data: wire.Table{Headers: headers, Rows: rows}}
}

func codeOf(r *desktop.Refusal) wire.Code {
	if r == nil {
		return 0
	}
	return r.Code
}

func TestLocksDoNotApplyToUsers(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.act(open("a"), wire.WindowLock{WindowID: "a", AgentID: "main-1"})
	if r := s.CheckUser("monitor-0", wire.WindowClose{WindowID: "a"}); r != nil {
		t.Errorf("the user's close of a locked window is refused with %v, want it allowed", r)
	}
	if r := s.CheckUser("monitor-0", wire.WindowClose{WindowID: "b"}); codeOf(r) != wire.CodeSessionInvalidState {
		t.Errorf("the user's close of a window that does not exist gives %v, want code %s", r, wire.CodeSessionInvalidState)
	}
}

func TestCheckLimits(t *testing.T) {
	t.Parallel()
	shortcut := func(i int) wire.Action {
		return wire.CreateShortcut{Shortcut: wire.Shortcut{ID: wire.ShortcutID(strconv.Itoa(i)), Type: wire.ShortcutURL}}
	}
	for name, c := range map[string]struct {
		limit int
		make  func(i int) wire.Action
	}{
		"windows": {desktop.MaxWindows, func(i int) wire.Action { return open(wire.WindowID(strconv.Itoa(i))) }},
		"dialogs": {desktop.MaxDialogs, func(i int) wire.Action { return wire.DialogConfirm{ID: wire.DialogID(strconv.Itoa(i))} }},
		"prompts": {desktop.MaxPrompts, func(i int) wire.Action {
			return wire.PromptShow{Prompt: wire.Prompt{ID: wire.PromptID(strconv.Itoa(i))}}
		}},
		"badges":    {desktop.MaxBadges, func(i int) wire.Action { return wire.AppBadge{AppID: wire.AppID(strconv.Itoa(i)), Count: 1} }},
		"shortcuts": {desktop.MaxShortcuts, shortcut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript()
			for i := range c.limit {
				if r := s.Check("monitor-0", c.make(i)); r != nil {
					t.Fatalf("number %d of %d is refused with %v, want it allowed", i, c.limit, r)
				}
				s.act(c.make(i))
			}
			if r := s.Check("monitor-0", c.make(c.limit)); codeOf(r) != wire.CodeSessionInvalidState {
				t.Errorf("number %d, one over the limit, gives %v, want code %s", c.limit, r, wire.CodeSessionInvalidState)
			}
			if r := s.Check("monitor-0", c.make(0)); r != nil {
				t.Errorf("the first again is refused with %v, want it allowed", r)
			}
			before := s.Hash()
			s.act(c.make(c.limit))
			checkInvariants(t, s.State)
			if s.Hash() != before {
				t.Error("an action over the limit has changed the state, want it unchanged")
			}
		})
	}
}

func TestCheckAll(t *testing.T) {
	t.Parallel()
	s := newScript()
	before := s.Hash()
	list := []wire.Action{
		open("a"),
		wire.WindowFocus{WindowID: "a"},
		wire.WindowLock{WindowID: "a", AgentID: "main-1"},
		wire.WindowClose{WindowID: "a", ActionMeta: wire.ActionMeta{AgentID: "main-1"}},
	}
	if r := s.CheckAll("monitor-0", list); r != nil {
		t.Errorf("actions that depend on each other are refused with %v, want them allowed", r)
	}
	if r := s.CheckAll("", append(list, wire.WindowFocus{WindowID: "a"})); codeOf(r) != wire.CodeSessionInvalidState || !strings.Contains(r.Reason, "action 4") {
		t.Errorf("a focus after the close gives %v, want code %s for action 4", r, wire.CodeSessionInvalidState)
	}
	if r := s.CheckAll("monitor-0", list[1:2]); codeOf(r) != wire.CodeSessionInvalidState {
		t.Errorf("an action on a window that does not exist gives %v, want code %s", r, wire.CodeSessionInvalidState)
	}
	if r := s.CheckAll("monitor-0", nil); r != nil {
		t.Errorf("no actions are refused with %v, want them allowed", r)
	}
	if s.Hash() != before || len(s.Changes()) != 0 {
		t.Error("a check has changed the state, want it unchanged")
	}
}

func TestDesktopSizeIsBounded(t *testing.T) {
	t.Parallel()
	s := newScript()
	large := func(id int) wire.WindowCreate {
		w := open(wire.WindowID(strconv.Itoa(id)))
		w.Content = text(strings.Repeat("x", desktop.MaxContent-1000))
		return w
	}
	n := 0
	for s.Check("monitor-0", large(n)) == nil {
		s.act(large(n))
		s.Changes()
		n++
	}
	if want := desktop.MaxBytes / desktop.MaxContent; n != want {
		t.Fatalf("%d large windows fit, want %d", n, want)
	}
	if r := s.Check("monitor-0", large(n)); r.Code != wire.CodeSessionInvalidState {
		t.Errorf("one large window more gives %v, want code %s", r, wire.CodeSessionInvalidState)
	}
	for _, a := range []wire.Action{
		open("small"),
		wire.WindowMove{WindowID: "0", X: 1},
		wire.WindowClose{WindowID: "0"},
		wire.WindowSetContent{WindowID: "0", Content: text("less")},
	} {
		if r := s.Check("monitor-0", a); r != nil {
			t.Errorf("%T on a full desktop is refused with %v, want it allowed", a, r)
		}
	}
	// What is not content counts, too.
	s.act(wire.NotificationShow{Notification: wire.Notification{ID: "n", Body: strings.Repeat("x", 100_000)}})
	s.Changes()
	for _, a := range []wire.Action{
		open("small"),
		wire.WindowSetTitle{WindowID: "0"},
		wire.NotificationShow{},
		wire.ToastShow{},
		wire.DialogConfirm{},
		wire.PromptShow{},
		wire.CreateShortcut{},
	} {
		if r := s.Check("monitor-0", a); r == nil || r.Code != wire.CodeSessionInvalidState {
			t.Errorf("%T on a full desktop: %v, want code %s", a, r, wire.CodeSessionInvalidState)
		}
	}
	s.act(wire.WindowClose{WindowID: "0"})
	if r := s.Check("monitor-0", open("small")); r != nil {
		t.Errorf("a window after another was closed is refused with %v, want it allowed", r)
	}
}
