package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// call runs the program, checks its exit code and returns its output.
func call(t *testing.T, want int, args ...string) (out, complaint string) {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := run(t.Context(), args, nil, &stdout, &stderr); code != want {
		t.Fatalf("hub %v: code %d, want %d: %s%s", args, code, want, stdout.String(), stderr.String())
	}
	return strings.TrimSpace(stdout.String()), stderr.String()
}

// A session exported from one hub is imported into another.
func TestExportAndImport(t *testing.T) {
	t.Parallel()
	from := startHub(t, "--auth", "none", "--store", "file:"+t.TempDir())
	to := startHub(t, "--auth", "none", "--store", "file:"+t.TempDir())
	attached := startAttach(t, "--server", from.url, "--json", "--new", "Mine")
	var state struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(attached.until(t, `"type":"session_state"`)), &state); err != nil {
		t.Fatal(err)
	}
	id := state.Session
	attached.say(t, `{"type":"USER_MESSAGE","data":{"messageId":"m1","content":"/window w One | hello"}}`)
	attached.until(t, `"isComplete":true`)
	file := filepath.Join(t.TempDir(), "mine.zip")
	if out, _ := call(t, command.ExitOK, "export", "--server", from.url, "--out", file, id); !strings.Contains(out, file) {
		t.Errorf("output of export: got %q, want the file %s", out, file)
	}
	if _, says := call(t, command.ExitFailure, "export", "--server", from.url, "--out", file, id); !strings.Contains(says, "--force") {
		t.Errorf("export to an existing file: got %q, want a hint at --force", says)
	}
	call(t, command.ExitOK, "export", "--server", from.url, "--out", file, "--force", id)
	made, _ := call(t, command.ExitOK, "import", "--server", to.url, file)
	if !strings.HasPrefix(made, "ses-") || made == id {
		t.Fatalf("output of import: got %q, want the id of a new session", made)
	}
	again := filepath.Join(t.TempDir(), "again.zip")
	call(t, command.ExitOK, "export", "--server", to.url, "--out", again, made)
	if got, _ := call(t, command.ExitOK, "import", "--server", to.url, "--policy", "main_and_selected_windows", "--title", "Other", again); got == made {
		t.Errorf("output of the second import: got %q, want the id of another session", got)
	}

	bad := filepath.Join(t.TempDir(), "bad.zip")
	if err := os.WriteFile(bad, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, says := call(t, command.ExitFailure, "import", "--server", to.url, bad); !strings.Contains(says, "refused") {
		t.Errorf("import of a bad file: got %q, want it refused", says)
	}
	if _, says := call(t, command.ExitFailure, "export", "--server", to.url, "ses-unknown"); !strings.Contains(says, "404") {
		t.Errorf("export of an unknown session: got %q, want status 404", says)
	}
	if _, err := os.Stat("ses-unknown.zip"); err == nil {
		t.Error("a file was left of an export that failed")
	}
	if _, says := call(t, command.ExitUsage, "import", "--server", to.url, "--policy", "wrong", file); !strings.Contains(says, "full, main_and_selected_windows or summarize_old_windows") {
		t.Errorf("import with a wrong policy: got %q, want the possible ones", says)
	}
	call(t, command.ExitUsage, "export", "--server", to.url)
	call(t, command.ExitUsage, "import", "--server", to.url)
	call(t, command.ExitUsage, "import", "--server", to.url, "a", "b")
}

// Tasks of Roo-Code become sessions, whose agents know the conversation.
func TestImportTasksOfRooCode(t *testing.T) {
	t.Parallel()
	hub := startHub(t, "--auth", "none", "--store", "file:"+t.TempDir())
	storage := t.TempDir()
	for name, text := range map[string]string{
		"one/ui_messages.json":              `[{"ts":1000,"type":"say","say":"text","text":"What is a zebrule?"},{"ts":1002,"type":"say","say":"text","text":"A hybrid."}]`,
		"one/api_conversation_history.json": `[{"role":"user","content":"What is a zebrule?","ts":1000},{"role":"assistant","content":"A hybrid.","ts":1001}]`,
		"broken/ui_messages.json":           `[{`,
		"nothing/task_metadata.json":        `{}`,
	} {
		path := filepath.Join(storage, "tasks", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	report, says := call(t, command.ExitFailure, "import", "--server", hub.url, storage)
	if !strings.Contains(report, "task broken: not imported") || !strings.Contains(report, ": task one, 2 rows, 2 messages of the model") || !strings.Contains(says, "1 of 2 tasks") {
		t.Fatalf("report %q, error %q, want one task taken and one not", report, says)
	}
	_, line, _ := strings.Cut("\n"+report, "\nses-")
	id, _, _ := strings.Cut("ses-"+line, ":")
	attached := startAttach(t, "--server", hub.url, "--json", id)
	if got := attached.until(t, `"type":"session_state"`); !strings.Contains(got, "A hybrid.") {
		t.Errorf("state %s, want the rows of the task", got)
	}
	attached.say(t, `{"type":"USER_MESSAGE","data":{"messageId":"m1","content":"/recall"}}`)
	attached.until(t, "zebrule")
	attached.until(t, `"isComplete":true`)
	call(t, command.ExitUsage, "import", "--server", hub.url, "--title", "x", storage)
	if _, says := call(t, command.ExitFailure, "import", "--server", hub.url, t.TempDir()); !strings.Contains(says, "no task of Roo-Code") {
		t.Errorf("import of an empty folder: got %q, want the reason", says)
	}
}

// import prints the answer of a hub without control characters.
func TestImportPrintsNoControlCharacters(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "any.zip")
	if err := os.WriteFile(file, []byte("any"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]struct {
		status int
		body   string
	}{
		"refusal": {http.StatusBadRequest, `{"status":400,"code":1003,"detail":"storage/\u001b]0;title\u0007\u009b2J: it is there twice"}`},
		"session": {http.StatusCreated, `{"sessionId":"ses-\u001b]0;title\u0007"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the file
				w.Header().Set("Content-Type", "application/problem+json")
				w.WriteHeader(answer.status)
				_, _ = io.WriteString(w, answer.body)
			}))
			defer hub.Close()
			out, says := call(t, command.ExitFailure, "import", "--server", hub.URL, file)
			if says == "" || strings.ContainsAny(out+says, "\x1b\x07\u009b") {
				t.Errorf("import prints %q and %q, want an error without control characters", out, says)
			}
		})
	}
}
