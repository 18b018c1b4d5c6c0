package desktop_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// names are what a list of changes writes and removes.
func names(changes []desktop.Change) []string {
	list := []string{}
	for _, c := range changes {
		name := c.Table + " " + c.Field
		if c.Value == nil {
			name = "-" + name
		}
		list = append(list, name)
	}
	return list
}

func checkChanges(t *testing.T, s *script, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), names(s.Changes())); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestChangesAreMinimal(t *testing.T) {
	t.Parallel()
	s := newScript()
	checkChanges(t, s)
	s.act(open("b"), open("a"), open("gone"), wire.WindowClose{WindowID: "gone"}, wire.AppBadge{AppID: "app", Count: 1})
	s.act(wire.WindowMove{WindowID: "a", X: 1}, wire.WindowMove{WindowID: "a", X: 2})
	checkChanges(t, s, "windows monitor-0/a", "windows monitor-0/b", "contents monitor-0/a", "contents monitor-0/b", "badges app")
	checkChanges(t, s)
	s.act(wire.WindowFocus{WindowID: "a"}, wire.WindowCapture{WindowID: "b"}, wire.WindowMove{WindowID: "none"})
	checkChanges(t, s)
	s.act(wire.WindowMove{WindowID: "a", X: 3})
	checkChanges(t, s, "windows monitor-0/a")
	s.act(wire.WindowClose{WindowID: "a"}, wire.WindowClose{WindowID: "b"}, open("b"), wire.AppBadge{AppID: "app"})
	checkChanges(t, s,
		"-windows monitor-0/a", "windows monitor-0/b", "-contents monitor-0/a", "contents monitor-0/b", "-badges app")
	s.emit(wire.SessionRenamed{Title: "t"})
	s.emit(wire.Presence{})
	s.emit(wire.MonitorStatus{MonitorID: "monitor-1", State: wire.MonitorIdle})
	checkChanges(t, s, "meta session", "presence all", "monitors monitor-1")
	s.emit(wire.MonitorStatus{MonitorID: "monitor-1", State: wire.MonitorRemoved})
	checkChanges(t, s, "-monitors monitor-1")
}

// Moving a window does not write its content again, and Pending reports the size of changes before
// they are written.
func TestContentIsStoredSeparately(t *testing.T) {
	t.Parallel()
	s := newScript()
	w := open("w")
	w.Content = text(strings.Repeat("x", 100_000))
	s.act(w)
	checkChanges(t, s, "windows monitor-0/w", "contents monitor-0/w")
	if fields, n := s.Pending(); fields != 0 || n != 0 {
		t.Errorf("%d fields of %d bytes are pending after everything is written, want 0 of 0", fields, n)
	}
	s.act(wire.WindowMove{WindowID: "w", X: 7})
	if fields, n := s.Pending(); fields != 1 || n == 0 || n > 1000 {
		t.Errorf("a move changes %d fields of %d bytes, want 1 of 1 to 1000", fields, n)
	}
	checkChanges(t, s, "windows monitor-0/w")
	s.act(wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateAppend{Data: []byte(`"y"`)}})
	checkChanges(t, s, "pieces monitor-0/w/100000")
	s.act(appendTo("w", "z"))
	if fields, n := s.Pending(); fields != 1 || n == 0 || n > 1000 {
		t.Errorf("a word more changes %d fields of %d bytes, want 1 of at most 1000", fields, n)
	}
	s.act(wire.WindowClose{WindowID: "w"})
	if fields, n := s.Pending(); fields != 3 || n != 0 {
		t.Errorf("a closed window takes %d fields of %d bytes, want 3 of 0", fields, n)
	}
	checkChanges(t, s, "-windows monitor-0/w", "-contents monitor-0/w", "-pieces monitor-0/w/100000")
}

// Restore removes contents without a window.
func TestContentWithoutAWindowIsRemoved(t *testing.T) {
	t.Parallel()
	stored := storedTables{}
	s := newScript()
	s.act(open("w"))
	stored.write(s.Changes())
	delete(stored["windows"], "monitor-0/w")
	again, err := desktop.Restore("ses-1", s.At(), stored)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"-contents monitor-0/w"}, names(again.Changes())); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A long answer costs one piece per delta, not the whole text.
func TestAgentTextIsStoredInPieces(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.emit(wire.AgentResponse{AgentID: "x", Delta: strings.Repeat("𝛀", 2000)})
	checkChanges(t, s, "agents x", "texts x/text/0", "texts x/text/1")
	s.emit(wire.AgentResponse{AgentID: "x", Delta: "!", Offset: 4000})
	checkChanges(t, s, "texts x/text/1")
	s.emit(wire.AgentThinking{AgentID: "x", Delta: "hm"})
	checkChanges(t, s, "texts x/thinking/0")
	s.emit(wire.AgentResponse{AgentID: "x", Delta: "anew", Offset: 3})
	checkChanges(t, s, "texts x/text/0", "-texts x/text/1")
	if got := s.Snapshot().Agents[0].Text; got != "𝛀anew" {
		t.Errorf(`text %q, want "𝛀anew"`, got)
	}
	s.emit(wire.AgentResponse{AgentID: "x", IsComplete: true})
	checkChanges(t, s, "-agents x", "-texts x/text/0", "-texts x/thinking/0")
}

func TestFieldNamesFitAStore(t *testing.T) {
	t.Parallel()
	s := newScript()
	long := strings.Repeat("𝛀", 64)
	monitor := wire.MonitorID(strings.Repeat("m", 64))
	s.actOn(monitor, open(wire.WindowID(long)), open(wire.WindowID(long[4:])), wire.AppBadge{AppID: wire.AppID(long), Count: 1},
		wire.AppBadge{AppID: "#app", Count: 1})
	for i := range 3 {
		s.emit(wire.AgentResponse{AgentID: wire.AgentID(fmt.Sprint(strings.Repeat("𝛀", 190), i)), Delta: "x"})
	}
	stored := storedTables{}
	changes := s.Changes()
	stored.write(changes)
	seen := map[string]bool{}
	for _, c := range changes {
		if name := c.Table + " " + c.Field; c.Field == "" || len(c.Field) > 256 || seen[name] {
			t.Errorf("field %q of %s is empty, too long or there twice, want 1 to 256 bytes, once", c.Field, c.Table)
		} else {
			seen[name] = true
		}
	}
	again, err := desktop.Restore("ses-1", s.At(), stored)
	if err != nil {
		t.Fatal(err)
	}
	checkSame(t, "restored", again, s.State)
}

func TestRestoreNamesInvalidFields(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ table, field, value string }{
		"no JSON":         {"windows", "monitor-0/a", "{"},
		"not a window":    {"windows", "monitor-0/a", `{"windowId":"a"}`},
		"another's place": {"badges", "a", `{"appId":"b","count":1}`},
		"no row":          {"rows", "1", `{"ts":1,"type":"whisper"}`},
		"no text":         {"texts", "x/text/0", `[]`},
		"no title":        {"meta", "session", `"t"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := desktop.Restore("ses-1", wire.Position{}, storedTables{c.table: {c.field: []byte(c.value)}})
			if s != nil || err == nil || !strings.Contains(err.Error(), c.table) || !strings.Contains(err.Error(), c.field) {
				t.Errorf("restored %v, error %v, want none and an error that names %s and %s", s, err, c.table, c.field)
			}
		})
	}
}

// Restore removes text without its agent, and text behind a missing piece.
func TestRestoreRemovesLostText(t *testing.T) {
	t.Parallel()
	stored := storedTables{
		"agents": {"x": []byte(`{"role":"x","kind":"main","status":"running"}`)},
		"texts": {
			"x/text/0": []byte(`{"role":"x","index":0,"text":"kept"}`), "x/text/2": []byte(`{"role":"x","index":2,"text":"lost"}`),
			"y/text/0": []byte(`{"role":"y","index":0,"text":"lost"}`),
		},
	}
	s, err := desktop.Restore("ses-1", wire.Position{Epoch: 1}, stored)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Snapshot().Agents; len(got) != 1 || got[0].Text != "kept" {
		t.Errorf(`agents %+v, want one with the text "kept"`, got)
	}
	if diff := cmp.Diff([]string{"-texts x/text/2", "-texts y/text/0"}, names(s.Changes())); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestSnapshotIsACopy(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.act(open("a"), wire.AppBadge{AppID: "app", Count: 1})
	s.emit(wire.Presence{Connections: []wire.Connection{{ConnectionID: "c1"}}})
	s.emit(wire.MessageQueued{MessageID: "m", Position: 1})
	before := s.Hash()
	state := s.Snapshot()
	state.Monitors[0].State = wire.MonitorRunning
	state.Windows[0].Title = "changed"
	state.Badges[0].Value = 9
	state.Presence[0].User = "changed"
	state.Queues[0].Value[0].Text = "changed"
	if s.Hash() != before {
		t.Error("a change of the snapshot changed the state, want it unchanged")
	}
}

func TestFindWindow(t *testing.T) {
	t.Parallel()
	s := newScript()
	s.act(open("a"), open("both"))
	s.actOn("monitor-1", open("b"), open("both"))
	for name, c := range map[string]struct {
		id     wire.WindowID
		prefer wire.MonitorID
		want   wire.MonitorID
	}{
		"on the preferred one":   {"both", "monitor-1", "monitor-1"},
		"the only one":           {"a", "monitor-1", "monitor-0"},
		"the only one elsewhere": {"b", "", "monitor-1"},
		"one of two":             {"both", "monitor-2", ""},
		"named in full":          {"monitor-1/both", "monitor-0", "monitor-1"},
		"none":                   {"c", "monitor-0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ok := s.FindWindow(c.id, c.prefer)
			if w.MonitorID != c.want || ok != (c.want != "") {
				t.Errorf("found %v on %q, want it on %q", ok, w.MonitorID, c.want)
			}
		})
	}
	if w, ok := s.Focused("monitor-1"); !ok || w.WindowID != "both" {
		t.Errorf("the focused window of monitor-1 is %+v, want both", w)
	}
	if w, ok := s.Focused("monitor-2"); ok {
		t.Errorf("focused %+v on a monitor that is not there, want none", w)
	}
	if _, ok := s.Window("monitor-1", "a"); ok {
		t.Error("window a is on monitor-1, want it only on its own")
	}
}
