package gateway_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// importFile imports a session file.
func (h *testHub) importFile(token, query string, body []byte) reply {
	h.t.Helper()
	return h.rest(http.MethodPost, "/api/sessions/import"+query, request{token: token, body: string(body), header: header("Content-Type", "application/zip")})
}

// partOf returns a file in a session file.
func partOf(t *testing.T, data []byte, name string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// textOf returns the text of an agent in a turn.
func textOf(events []wire.Event) (text string) {
	for _, e := range events {
		if r, ok := e.Data.(wire.AgentResponse); ok {
			text = text[:min(r.Offset, len(text))] + r.Delta
		}
	}
	return text
}

// A session is exported to another user as a file and continues there: windows, rows, files and the
// agents' context.
func TestSessionFile(t *testing.T) {
	t.Parallel()
	for name, open := range agentHubs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			ann, bob := h.userToken("ann"), h.userToken("bob")
			id := h.newSession("ann")
			x := h.mustDial("/ws/"+string(id), as(ann))
			x.sendToAgent("monitor-0", "m1", "/nosteer", "/window w1 One | first", "/window w2 Two | second", "/say opened")
			x.untilTurnEnd("m1")
			for _, w := range []wire.WindowID{"w1", "w2"} {
				m := wire.MessageID("to-" + w)
				x.sendWithID(m, wire.WindowMessage{MessageID: m, MonitorID: "monitor-0", WindowID: w, Content: "/say in " + string(w)})
				x.untilTurnEnd(m)
			}
			x.sendToAgent("monitor-1", "m2", "/nosteer", "/say elsewhere")
			x.untilTurnEnd("m2")
			h.rest(http.MethodPut, sessionPath(id, "/files/notes/a.txt"), request{token: ann, body: "kept", header: header("Content-Type", "text/plain")}).wantStatus(http.StatusCreated)

			export := h.get(sessionPath(id, "/export"), ann).wantStatus(http.StatusOK)
			if kind, as := export.header.Get("Content-Type"), export.header.Get("Content-Disposition"); kind != "application/zip" || !strings.Contains(as, string(id)+".zip") {
				t.Errorf("export: got %s, %s, want a zip called %s.zip", kind, as, id)
			}
			if text := partOf(t, export.body, "messages.jsonl"); !strings.Contains(text, `"content":"in w1","agentId":"window-w1","source":{"window":"w1"}`) {
				t.Errorf("messages: got\n%s\nwant in w1 with its window", text)
			}

			var made struct{ SessionID, Title, User string }
			h.importFile(bob, "", export.body).wantStatus(http.StatusCreated).decode(&made)
			if made.User != "bob" || made.SessionID == string(id) {
				t.Fatalf("imported session: got %+v, want another one, of bob", made)
			}
			copied := wire.SessionID(made.SessionID)
			if got := h.get(sessionPath(copied, "/files/notes/a.txt"), bob).wantStatus(http.StatusOK); string(got.body) != "kept" {
				t.Errorf("imported file: got %q, want kept", got.body)
			}
			var state struct{ Monitors []wire.MonitorStatus }
			h.get(sessionPath(copied, "/snapshot"), bob).wantStatus(http.StatusOK).decode(&state)
			if use := state.Monitors[0].Context; use == nil || use.Tokens == 0 {
				t.Errorf("context use of the main agent: got %+v, want tokens", use)
			}
			y := h.mustDial("/ws/"+made.SessionID, as(bob))
			y.sendToAgent("monitor-0", "n1", "/nosteer", "/recall")
			if text := textOf(y.untilTurnEnd("n1")); !strings.Contains(text, "opened") {
				t.Errorf("history of the main agent: got %q, want opened in it", text)
			}
			y.sendWithID("n2", wire.WindowMessage{MessageID: "n2", MonitorID: "monitor-0", WindowID: "w2", Content: "/recall"})
			if text := textOf(y.untilTurnEnd("n2")); !strings.Contains(text, "in w2") || strings.Contains(text, "in w1") {
				t.Errorf("history of the window's agent: got %q, want in w2 and not in w1", text)
			}
			again := h.get(sessionPath(copied, "/export"), bob).wantStatus(http.StatusOK)
			for _, part := range []string{"ui/monitor-0.jsonl", "ui/monitor-1.jsonl", "api/0.jsonl"} {
				before, after := partOf(t, export.body, part), partOf(t, again.body, part)
				if !strings.HasPrefix(after, before) || before == "" {
					t.Errorf("%s: got\n%swant it to start with\n%s", part, after, before)
				}
			}
		})
	}
}

// repacked returns a session file with a conversation of another program, in which the summary
// precedes the messages that were kept.
func repacked(t *testing.T, data []byte) []byte {
	t.Helper()
	const (
		name   = "api/0.json"
		theirs = `[{"role":"user","content":"long ago","condenseParent":"s"},{"role":"assistant","content":"the story so far",` +
			`"isSummary":true,"condenseId":"s"},{"role":"user","content":"what now"},{"role":"assistant","content":"this"}]`
	)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var meta sessionfile.Metadata
	if err := json.Unmarshal([]byte(partOf(t, data, "metadata.json")), &meta); err != nil {
		t.Fatal(err)
	}
	delete(meta.Parts, meta.Threads[0].Part)
	gone := meta.Threads[0].Part
	sum := sha256.Sum256([]byte(theirs))
	meta.Threads[0].Part, meta.Parts[name] = name, sessionfile.Part{Bytes: int64(len(theirs)), SHA256: hex.EncodeToString(sum[:])}
	text, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]string{name: theirs, "metadata.json": string(text)}
	for _, f := range z.File {
		if _, changed := parts[f.Name]; !changed && f.Name != gone {
			parts[f.Name] = partOf(t, data, f.Name)
		}
	}
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for part, text := range parts {
		f, err := out.Create(part)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A session continues with a conversation of another program.
func TestSessionFileOfAnotherProgram(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann := h.userToken("ann")
	id := h.newSession("ann")
	x := h.mustDial("/ws/"+string(id), as(ann))
	x.sendToAgent("monitor-0", "m1", "/nosteer", "/say ours")
	x.untilTurnEnd("m1")
	data := repacked(t, h.get(sessionPath(id, "/export"), ann).wantStatus(http.StatusOK).body)
	var made struct{ SessionID string }
	h.importFile(ann, "", data).wantStatus(http.StatusCreated).decode(&made)
	y := h.mustDial("/ws/"+made.SessionID, as(ann))
	y.sendToAgent("monitor-0", "n1", "/nosteer", "/recall")
	if text := textOf(y.untilTurnEnd("n1")); !strings.Contains(text, "the story so far") || !strings.Contains(text, "this") || strings.Contains(text, "long ago") {
		t.Errorf("history of the main agent: got %q, want the story so far and this, not long ago", text)
	}
	again := h.get(sessionPath(wire.SessionID(made.SessionID), "/export"), ann).wantStatus(http.StatusOK)
	if text := partOf(t, again.body, "api/0.jsonl"); !strings.Contains(text, "long ago") {
		t.Errorf("exported messages: got\n%s\nwant the hidden ones too", text)
	}
}

// Programs of agents write files with names that cannot be uploaded. Lists have them; archives and exports leave out what could
// not be read or imported again.
func TestSessionFileWithFilesOfPrograms(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/files/report.md"), request{token: ada, body: "done"}).wantStatus(http.StatusCreated)
	for _, name := range []string{"aux.c", ".codex/config.toml", "project/.git/config"} {
		at := filepath.Join(h.fileFolder, string(id), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte("x"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.get(sessionPath(id, "/files?all=true"), ada).wantStatus(http.StatusOK); !contains(got.body, `aux.c`) || !contains(got.body, `.codex`) {
		t.Errorf("files: got %s, want those of programs, too", got.body)
	}
	namesIn := func(data []byte) (names []string) {
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			if name, ok := strings.CutPrefix(f.Name, "storage/"); ok || !strings.HasSuffix(f.Name, ".json") && !strings.HasSuffix(f.Name, ".jsonl") {
				names = append(names, name)
			}
		}
		return names
	}
	if got, want := namesIn(h.get(sessionPath(id, "/files.zip"), ada).wantStatus(http.StatusOK).body), []string{".codex/config.toml", "project/.git/config", "report.md"}; !slices.Equal(got, want) {
		t.Errorf("archive: got %q, want %q", got, want)
	}
	exported := h.get(sessionPath(id, "/export"), ada).wantStatus(http.StatusOK).body
	if got, want := namesIn(exported), []string{"report.md"}; !slices.Equal(got, want) {
		t.Errorf("files of the export: got %q, want %q", got, want)
	}
	h.importFile(ada, "", exported).wantStatus(http.StatusCreated)
}

// Programs also write more and larger files than can be uploaded. An import takes all that an export has.
func TestSessionFileWithManyFilesOfPrograms(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, id := h.userToken("ada"), h.newSession("ada")
	const many = 1100
	at := filepath.Join(h.fileFolder, string(id))
	err := os.Mkdir(at, 0o700)
	for i := range many {
		err = errors.Join(err, os.WriteFile(filepath.Join(at, strconv.Itoa(i)), []byte("x"), 0o600))
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(at, "large"), make([]byte, 26<<20), 0o600)); err != nil {
		t.Fatal(err)
	}
	exported := h.get(sessionPath(id, "/export"), ada).wantStatus(http.StatusOK).body
	var made struct{ SessionID wire.SessionID }
	h.importFile(ada, "", exported).wantStatus(http.StatusCreated).decode(&made)
	names, err := filepath.Glob(filepath.Join(h.fileFolder, string(made.SessionID), "[0-9l]*"))
	if err != nil || len(names) != many+1 {
		t.Errorf("imported files: got %d and the error %v, want %d", len(names), err, many+1)
	}
}

// A policy omits windows.
func TestSessionFilePolicies(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann := h.userToken("ann")
	id := h.newSession("ann")
	x := h.mustDial("/ws/"+string(id), as(ann))
	x.sendToAgent("monitor-0", "m1", "/nosteer", "/window w1 One | first", "/window w2 Two | second")
	x.untilTurnEnd("m1")
	x.sendWithID("m2", wire.WindowMessage{MessageID: "m2", MonitorID: "monitor-0", WindowID: "w1", Content: "/say a secret"})
	x.untilTurnEnd("m2")
	data := h.get(sessionPath(id, "/export"), ann).wantStatus(http.StatusOK).body

	for query, want := range map[string]struct {
		windows string
		summary bool
	}{
		"?policy=main_and_selected_windows":           {"", false},
		"?policy=main_and_selected_windows&window=w2": {"w2", false},
		"?policy=summarize_old_windows&window=w2":     {"w2", true},
		"?policy=full&title=" + url.QueryEscape("다시"): {"w1 w2", false},
	} {
		var made struct{ SessionID, Title string }
		h.importFile(ann, query, data).wantStatus(http.StatusCreated).decode(&made)
		var state struct {
			Windows        []struct{ WindowID string }
			RecentMessages []struct{ Text string } `json:"recent_messages"`
		}
		h.get(sessionPath(wire.SessionID(made.SessionID), "/snapshot"), ann).wantStatus(http.StatusOK).decode(&state)
		var windows []string
		for _, w := range state.Windows {
			windows = append(windows, w.WindowID)
		}
		summary := false
		for _, r := range state.RecentMessages {
			summary = summary || strings.HasPrefix(r.Text, "[window_summary:w1] ")
		}
		if got := strings.Join(windows, " "); got != want.windows || summary != want.summary {
			t.Errorf("%s: got windows %q and a summary %v, want %q and %v", query, got, summary, want.windows, want.summary)
		}
		if strings.Contains(query, "title") && made.Title != "다시" {
			t.Errorf("title: got %q, want 다시", made.Title)
		}
	}
	for query, want := range map[string]struct{ field, says string }{
		"?policy=some": {"policy", "full, main_and_selected_windows or summarize_old_windows"},
		"?policy=summarize_old_windows&window=w9": {"window", `no window "w9"`},
		"?window=w1": {"window", "restores all windows"},
	} {
		p := h.importFile(ann, query, data).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
		if p.Field != want.field || !strings.Contains(p.Detail, want.says) || strings.Contains(p.Detail, "refused") {
			t.Errorf("%s: got %+v, want the field %s and the text %q", query, p, want.field, want.says)
		}
	}
}

// A refusal names the reason and has no effect.
func TestSessionFileRefusals(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann, eve := h.userToken("ann"), h.userToken("eve", "viewer")
	id := h.newSession("ann")
	data := h.get(sessionPath(id, "/export"), ann).wantStatus(http.StatusOK).body
	sessions := func() string { return string(h.get("/api/sessions", ann).wantStatus(http.StatusOK).body) }
	before := sessions()
	for name, body := range map[string][]byte{"nothing": nil, "something else": []byte("hello"), "a half": data[:len(data)/2]} {
		if p := h.importFile(ann, "", body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); !strings.Contains(p.Detail, "session log is refused") {
			t.Errorf("%s: got %+v, want that the session log is refused", name, p)
		}
	}
	if after := sessions(); after != before {
		t.Errorf("sessions after refused imports: got\n%s\nwant\n%s", after, before)
	}
	h.importFile(eve, "", data).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get(sessionPath(id, "/export"), eve).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.rest(http.MethodPut, sessionPath(id, "/shares/eve"), request{token: ann, body: `{"access":"viewer"}`, header: header("Content-Type", "application/json")})
	h.get(sessionPath(id, "/export"), eve).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.get(sessionPath("ses-unknown", "/export"), ann).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}
