package sessionfile_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

const (
	first  wire.MonitorID = "monitor-0"
	second wire.MonitorID = "monitor-1"
)

// example returns a session with two monitors, two windows, three conversations and files.
func example() sessionfile.Source {
	row := func(id wire.RowID, monitor wire.MonitorID, window wire.WindowID, say wire.Say, text string) wire.UIRow {
		return wire.UIRow{
			ID: id, TS: wire.Millis(1000 + id), Type: wire.RowSay, Say: say, Text: text, MonitorID: monitor, WindowID: window,
			MessageID: "m", AgentID: "a",
		}
	}
	rows := map[wire.MonitorID][]wire.UIRow{
		first: {
			row(1, first, "", wire.SayUserFeedback, "안녕"),
			row(2, first, "", wire.SayReasoning, "hm"),
			row(3, first, "", wire.SayTool, `{"id":"c1","tool":"read","status":"error","input":{"path":"a"},"result":"no such file"}`),
			row(4, first, "", wire.SayText, "hello"),
			row(6, first, "w1", wire.SayUserFeedback, "to the\nfirst window"),
			row(7, first, "w1", wire.SayText, "from the first window"),
			row(8, first, "w2", wire.SayUserFeedback, "to the second window"),
			row(9, first, "", wire.SayAPIReqFinished, "{}"),
		},
		second: {row(5, second, "", wire.SayUserFeedback, "elsewhere")},
	}
	rows[first][6].AgentID = ""
	message := func(id uint64, role providers.Role, text string) history.Message {
		return history.Message{ID: id, Row: 1, Entry: providers.Entry{
			Role: role, Turn: "m", Blocks: []providers.Block{{Kind: providers.BlockText, Text: text}},
		}}
	}
	window := func(id wire.WindowID, title string) wire.WindowState {
		return wire.WindowState{WindowID: id, MonitorID: first, Title: title, Content: wire.TextContent{Data: "words"}, Lock: "main"}
	}
	return sessionfile.Source{
		Meta: sessionfile.Metadata{
			SessionID: "ses-1", Title: "Mine", Provider: "demo", CreatedAt: time.UnixMilli(1).UTC(), Position: wire.Position{Epoch: 7, Seq: 3},
		},
		Desktop: wire.SessionState{
			Mode: wire.StateSnapshot, Status: wire.SessionIdle, Title: "Mine", Provider: "demo",
			Monitors: []wire.MonitorStatus{{MonitorID: first, State: wire.MonitorRunning, Queue: 2, Revision: 3}, {MonitorID: second, State: wire.MonitorIdle}},
			Windows:  []wire.WindowState{window("w1", "One"), window("w2", "Two")},
			Agents:   []wire.AgentState{{Role: "main", Kind: wire.AgentMain, MonitorID: first, Status: "running"}},
			Todos:    []wire.Todo{}, RecentMessages: rows[first],
		},
		Rows: func(m wire.MonitorID) iter.Seq2[wire.UIRow, error] {
			return func(yield func(wire.UIRow, error) bool) {
				for _, r := range rows[m] {
					if !yield(r, nil) {
						return
					}
				}
			}
		},
		Threads: []history.Thread{
			{Agent: "main-monitor-0", Provider: "demo", ID: "thread-9", Monitor: first, Messages: []history.Message{
				message(2, providers.RoleUser, "안녕"), message(4, providers.RoleAssistant, "hello"),
			}},
			{Agent: "window-monitor-0/w1", Monitor: first, Windows: []wire.WindowID{"w1"}, Messages: []history.Message{message(2, providers.RoleUser, "x")}},
			{Agent: "window-monitor-0/w2", Monitor: first, Windows: []wire.WindowID{"w2"}, Messages: []history.Message{message(2, providers.RoleUser, "y")}},
		},
		Files: []sessionfile.File{file("notes/a.txt", "text"), file("한.bin", "\x00\x01")},
	}
}

func file(name, text string) sessionfile.File {
	return sessionfile.File{Name: name, Size: int64(len(text)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func packed(tb testing.TB, s sessionfile.Source) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := sessionfile.Write(&b, s); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func read(data []byte) (*sessionfile.Log, error) {
	return sessionfile.Read(bytes.NewReader(data), int64(len(data)), sessionfile.Limits{})
}

func reading(tb testing.TB, data []byte) *sessionfile.Log {
	tb.Helper()
	l, err := read(data)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// A written file is read back unchanged, except for running turns.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	s := example()
	l := reading(t, packed(t, s))
	for m, got := range l.Rows {
		var want []wire.UIRow
		for r := range s.Rows(m) {
			want = append(want, r)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("rows of %s (-want +got)\n%s", m, d)
		}
	}
	want := slices.Clone(s.Threads)
	want[0].ID = "" // it means nothing elsewhere
	if d := cmp.Diff(want, l.Threads, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("conversations (-want +got)\n%s", d)
	}
	if len(l.Desktop.Windows) != 2 || l.Desktop.Windows[0].Lock != "" || len(l.Desktop.Agents) != 0 || l.Desktop.Monitors[0].Queue != 0 {
		t.Errorf("desktop: got %+v, want two windows without locks, no agents and no queue", l.Desktop)
	}
	if l.Meta.SessionID != "ses-1" || l.Meta.ThreadIDs["main-monitor-0"] != "thread-9" || l.Meta.Position != s.Meta.Position {
		t.Errorf("metadata: got %+v, want ses-1 with thread-9 at %v", l.Meta, s.Meta.Position)
	}
	stored := map[string]string{}
	for _, f := range l.Files {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		stored[f.Name] = string(data)
	}
	if d := cmp.Diff(map[string]string{"notes/a.txt": "text", "한.bin": "\x00\x01"}, stored); d != "" {
		t.Errorf("files (-want +got)\n%s", d)
	}
}

// A plan that has ended is written with its result. A running plan and its questions belong to the hub
// that runs it, and are left out.
func TestPlansThatHaveEnded(t *testing.T) {
	t.Parallel()
	complete, failed := &wire.PlanComplete{Status: "success"}, &wire.PlanFailure{Status: "failed"}
	todos := []wire.Todo{{ID: "a", Task: "x", Status: wire.TodoStatusCompleted, DependsOn: []wire.TodoID{}, ResultSummary: []byte(`{"n":1}`)}}
	for name, tc := range map[string]struct {
		plan *wire.PlanState
		kept bool
	}{
		"complete":            {&wire.PlanState{Status: wire.PlanCompleted, Complete: complete}, true},
		"failed":              {&wire.PlanState{Status: wire.PlanFailed, Failed: failed}, true},
		"cancelled":           {&wire.PlanState{Status: wire.PlanCancelled, Failed: failed}, true},
		"under way":           {&wire.PlanState{Status: wire.PlanExecuting}, false},
		"paused":              {&wire.PlanState{Status: wire.PlanPaused, Complete: complete}, false},
		"without what became": {&wire.PlanState{Status: wire.PlanCompleted, Failed: failed}, false},
		"none":                {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := example()
			s.Desktop.Plan, s.Desktop.Todos, s.Desktop.CurrentLayer = tc.plan, todos, wire.LayerExecution
			s.Desktop.HITLRequests = []wire.HITLRequest{wire.HITLInputRequest{RequestID: "q", InputType: wire.AnswerText}}
			got := reading(t, packed(t, s)).Desktop
			if (got.Plan != nil) != tc.kept || (len(got.Todos) > 0) != tc.kept || got.CurrentLayer != "" || got.HITLRequests != nil || got.HITLPending != nil {
				t.Errorf("got plan %+v with todos %v, layer %q, requests %v, want the plan kept: %v, no layer and no requests", got.Plan, got.Todos, got.CurrentLayer, got.HITLRequests, tc.kept)
			}
			if d := cmp.Diff(todos, got.Todos, cmpopts.EquateEmpty()); tc.kept && d != "" {
				t.Errorf("todos (-want +got)\n%s", d)
			}
		})
	}
}

// part returns a part of a session file.
func part(tb testing.TB, data []byte, name string) string {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		tb.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Other programs read messages.jsonl.
func TestForeignMessageFormats(t *testing.T) {
	t.Parallel()
	text := part(t, packed(t, example()), "messages.jsonl")
	var got []string
	for line := range strings.Lines(text) {
		var m struct {
			Type    string          `json:"type"`
			Content string          `json:"content"`
			AgentID string          `json:"agentId"`
			Source  json.RawMessage `json:"source"`
			Tool    string          `json:"toolName"`
			IsError bool            `json:"isError"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("message %s: got error %v, want JSON", line, err)
		}
		got = append(got, fmt.Sprint(m.Type, " ", m.AgentID, " ", string(m.Source), " ", m.Tool, m.Content, " ", m.IsError))
	}
	want := []string{
		`user a "main" 안녕 false`, `thinking a "main" hm false`, `tool_use a "main" read false`, `tool_result a "main" readno such file true`,
		`assistant a "main" hello false`, "user a {\"window\":\"w1\"} to the\nfirst window false", `assistant a {"window":"w1"} from the first window false`,
		`user window-w2 {"window":"w2"} to the second window false`, `user a "main" elsewhere false`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// repack writes a session file again with some parts changed; nil leaves a part out.
func repack(tb testing.TB, data []byte, change map[string][]byte) []byte {
	tb.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, text []byte) {
		f, err := w.Create(name)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write(text); err != nil {
			tb.Fatal(err)
		}
	}
	for _, f := range z.File {
		text, changed := change[f.Name]
		switch {
		case !changed:
			add(f.Name, []byte(part(tb, data, f.Name)))
		case text != nil:
			add(f.Name, text)
		}
		delete(change, f.Name)
	}
	for name, text := range change {
		add(name, text)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// Invalid and incomplete files are refused, and the reason names the part.
func TestRefusals(t *testing.T) {
	t.Parallel()
	good := packed(t, example())
	meta := func(change func(map[string]any)) []byte {
		var m map[string]any
		if err := json.Unmarshal([]byte(part(t, good, "metadata.json")), &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return repack(t, good, map[string][]byte{"metadata.json": text})
	}
	var foreign bytes.Buffer
	w := zip.NewWriter(&foreign)
	if f, err := w.Create("metadata.json"); err != nil {
		t.Fatal(err)
	} else if _, err := f.Write([]byte(`{"createdAt":"2026-01-01","provider":"claude"}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	source := func(change func(*sessionfile.Source)) []byte {
		s := example()
		change(&s)
		return packed(t, s)
	}
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"nothing":            {nil, "no zip file"},
		"something else":     {[]byte("hello"), "no zip file"},
		"half of it":         {good[:len(good)/2], "no zip file"},
		"another program's":  {foreign.Bytes(), "metadata.json: it does not say"},
		"no metadata":        {repack(t, good, map[string][]byte{"metadata.json": nil}), "no metadata.json"},
		"a newer hub":        {meta(func(m map[string]any) { m["version"] = 2 }), "version 2"},
		"a part less":        {repack(t, good, map[string][]byte{"api/1.jsonl": nil}), "api/1.jsonl: it is missing"},
		"a part more":        {repack(t, good, map[string][]byte{"more": []byte("x")}), "more: metadata.json does not list it"},
		"a changed part":     {repack(t, good, map[string][]byte{"ui/monitor-0.jsonl": []byte("{}\n")}), "ui/monitor-0.jsonl: it is not what was written"},
		"no desktop":         {meta(func(m map[string]any) { delete(m["parts"].(map[string]any), "desktop.json") }), "lists no desktop.json"},
		"an agent elsewhere": {source(func(s *sessionfile.Source) { s.Threads[0].Monitor = "monitor-9" }), "is on no monitor"},
		"rows out of order": {source(func(s *sessionfile.Source) {
			rows := s.Rows
			s.Rows = func(m wire.MonitorID) iter.Seq2[wire.UIRow, error] {
				return func(yield func(wire.UIRow, error) bool) {
					for r := range rows(m) {
						if r.ID = 9 - min(r.ID, 8); !yield(r, nil) {
							return
						}
					}
				}
			}
		}), "ui/monitor-0.jsonl: line 2: row"},
		"a row on two monitors": {source(func(s *sessionfile.Source) {
			rows := s.Rows
			s.Rows = func(m wire.MonitorID) iter.Seq2[wire.UIRow, error] {
				return func(yield func(wire.UIRow, error) bool) {
					for r := range rows(first) {
						if r.MonitorID = m; !yield(r, nil) {
							return
						}
					}
				}
			}
		}), "row 1 is there twice"},
		"a row with an id that leaves no room": {source(func(s *sessionfile.Source) {
			s.Rows = func(m wire.MonitorID) iter.Seq2[wire.UIRow, error] {
				return func(yield func(wire.UIRow, error) bool) {
					yield(wire.UIRow{ID: 1<<53 - 1, TS: 1, Type: wire.RowSay, Say: wire.SayText, MonitorID: m}, nil)
				}
			}
		}), "row 9007199254740991 does not follow"},
		"a message with such an id":    {source(func(s *sessionfile.Source) { s.Threads[0].Messages[1].ID = 1<<64 - 1 }), "does not follow message 2"},
		"a message of no row":          {source(func(s *sessionfile.Source) { s.Threads[0].Messages[1].Row = 11 }), "belongs to row 11"},
		"two main agents of a monitor": {source(func(s *sessionfile.Source) { s.Threads[1].Windows = nil }), "second conversation"},
		"two agents of a window":       {source(func(s *sessionfile.Source) { s.Threads[1].Windows = []wire.WindowID{"w2"} }), "second conversation"},
		"a long conversation": {source(func(s *sessionfile.Source) {
			for i := range 3000 {
				m := s.Threads[0].Messages[1]
				m.ID = uint64(6 + 2*i)
				s.Threads[0].Messages = append(s.Threads[0].Messages, m)
			}
		}), "more than 2500 lines"},
		"messages out of order": {source(func(s *sessionfile.Source) { s.Threads[0].Messages[1].ID = 2 }), "api/0.jsonl: line 2: message 2"},
		"no monitor":            {source(func(s *sessionfile.Source) { s.Desktop.Monitors = nil; s.Threads = nil }), "no monitor"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := read(c.data)
			r, ok := errors.AsType[*sessionfile.RefusedError](err)
			if !ok || l != nil || !strings.Contains(r.Error(), c.says) {
				t.Errorf("got %v and %v, want a refusal with %q", l, err, c.says)
			}
		})
	}
}

// A flipped bit is found, unless it is in bytes that are not read.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	good := packed(t, example())
	want := reading(t, good)
	found := 0
	for i := 0; i < len(good); i += 3 {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		got, err := read(bad)
		if err != nil {
			found++
			continue
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(sessionfile.File{}, "Open"), cmpopts.SortSlices(func(a, b sessionfile.File) bool { return a.Name < b.Name })); d != "" {
			t.Fatalf("byte %d is wrong and the file is accepted (-want +got)\n%s", i, d)
		}
	}
	if found < len(good)/6 {
		t.Errorf("flipped bits found: got %d of %d, want at least half", found, len(good)/3)
	}
}

// U+0000 in texts is replaced by U+FFFD when a file is read: some readers end a text there, and clients
// may not send it either.
func TestZerosInTexts(t *testing.T) {
	t.Parallel()
	const zero, want = "a\x00b\\u0000", "a\ufffdb\\u0000" // the second is a backslash and five letters
	s := example()
	s.Meta.Title, s.Meta.Provider, s.Desktop.Title, s.Desktop.Windows[0].Title = zero, zero, zero, zero
	s.Desktop.Windows[0].Content = wire.TextContent{Data: zero}
	s.Threads[0].Messages[0].Blocks[0].Text = zero
	rows := s.Rows
	s.Rows = func(m wire.MonitorID) iter.Seq2[wire.UIRow, error] {
		return func(yield func(wire.UIRow, error) bool) {
			for r := range rows(m) {
				if r.Text = zero; !yield(r, nil) {
					return
				}
			}
		}
	}
	l := reading(t, packed(t, s))
	w := l.Desktop.Windows[0]
	if d := cmp.Diff(wire.TextContent{Data: want}, w.Content); d != "" {
		t.Errorf("content (-want +got)\n%s", d)
	}
	for name, got := range map[string]string{
		"title in the metadata": l.Meta.Title, "provider": l.Meta.Provider, "title": l.Desktop.Title, "title of a window": w.Title,
		"row": l.Rows[first][0].Text, "message": l.Threads[0].Messages[0].Blocks[0].Text,
	} {
		if got != want {
			t.Errorf("the %s is %q, want %q", name, got, want)
		}
	}
}

// Write returns errors of the session's rows and files.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	s := example()
	s.Rows = func(wire.MonitorID) iter.Seq2[wire.UIRow, error] {
		return func(yield func(wire.UIRow, error) bool) { yield(wire.UIRow{}, broken) }
	}
	if err := sessionfile.Write(io.Discard, s); !errors.Is(err, broken) {
		t.Errorf("failing rows: got error %v, want %v", err, broken)
	}
	s = example()
	s.Files[0].Open = func() (io.ReadCloser, error) { return nil, broken }
	if err := sessionfile.Write(io.Discard, s); !errors.Is(err, broken) {
		t.Errorf("failing files: got error %v, want %v", err, broken)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(packed(f, example()))
	f.Add([]byte("PK"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := read(data)
		if _, ok := errors.AsType[*sessionfile.RefusedError](err); err != nil && !ok {
			t.Fatalf("got error %v, want a refusal", err)
		}
		if err == nil && len(l.Desktop.Monitors) == 0 {
			t.Fatal("log without a monitor: got no error, want one")
		}
	})
}
