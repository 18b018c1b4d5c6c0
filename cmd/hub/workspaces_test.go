package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// chooseWorkspace requests a workspace for a session.
func chooseWorkspace(t *testing.T, s *server, id wire.SessionID, folder string) (status int, body string) {
	t.Helper()
	in, err := json.Marshal(map[string]string{"folder": folder})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.url+"/api/sessions/"+string(id)+"/workspace", strings.NewReader(string(in)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// sumTree returns the hash of each file below a folder.
func sumTree(t *testing.T, root string) map[string]string {
	t.Helper()
	sums := map[string]string{}
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		sum := sha256.Sum256(data)
		sums[path] = hex.EncodeToString(sum[:])
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return sums
}

// An agent that is a program works in the workspace of its session. Checkpoints hold that folder, and
// the repository of the user in it stays as it is.
func TestAgentsWorkInTheWorkspaceOfASession(t *testing.T) {
	t.Parallel()
	home, allowed := t.TempDir(), t.TempDir()
	project := filepath.Join(allowed, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	git := exec.CommandContext(t.Context(), "git", "init", "--quiet", project)
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if err := os.Symlink(home, filepath.Join(allowed, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "AGENTS.md"), []byte("Use tabs."), 0o600); err != nil {
		t.Fatal(err)
	}
	users := sumTree(t, filepath.Join(project, ".git"))

	s := serveProcess(t, programAgent(home), "--workspaces", allowed)
	id, x := openSession(t, s)
	for _, folder := range []string{filepath.Join(allowed, "out"), home, "project"} {
		if status, body := chooseWorkspace(t, s, id, folder); status != http.StatusBadRequest {
			t.Errorf("choosing %s: got %d %s, want %d", folder, status, body, http.StatusBadRequest)
		}
	}
	if status, body := chooseWorkspace(t, s, id, project); status != http.StatusOK || !strings.Contains(body, "project") || !strings.Contains(body, "Use tabs.") {
		t.Fatalf("choosing a workspace: got %d %s, want %d with the text of AGENTS.md", status, body, http.StatusOK)
	}
	read := func() string {
		text, err := os.ReadFile(filepath.Join(project, "a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	for _, text := range []string{"one", "two"} {
		x.say(t, "/shell echo "+text+" > a.txt")
		x.until(t, `\? May the agent do this\?`)
		x.say(t, ":yes")
		x.until(t, `main: done in `)
		if got := read(); got != text {
			t.Fatalf("the agent wrote %q to the workspace, want %q", got, text)
		}
	}
	out, _ := call(t, command.ExitOK, "checkpoints", "--server", s.url, string(id))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) < 2 {
		t.Fatalf("checkpoints: got %q, want those of both messages", out)
	}
	last := strings.Fields(lines[len(lines)-1])[1]
	if out, _ := call(t, command.ExitOK, "diff", "--server", s.url, string(id), last); !strings.Contains(out, "project/a.txt") {
		t.Errorf("diff with now: got %q, want the file of the workspace", out)
	}
	out, _ = call(t, command.ExitOK, "restore", "--server", s.url, string(id), last)
	if got := read(); got != "one" {
		t.Errorf("restored: a.txt is %q, want one", got)
	}
	call(t, command.ExitOK, "restore", "--server", s.url, string(id), out[strings.LastIndexByte(out, ' ')+1:])
	if got := read(); got != "two" {
		t.Errorf("after the undo a.txt is %q, want two", got)
	}
	if got := sumTree(t, filepath.Join(project, ".git")); !maps.Equal(got, users) {
		t.Errorf("the user's repository has changed: got %v, want %v", got, users)
	}

	// The session moves with the checkpoints of its workspace. Another session can compare them, and restore them when it
	// works in a folder of that name.
	file := filepath.Join(home, "session.zip")
	call(t, command.ExitOK, "export", "--server", s.url, "--with-workspaces", "--out", file, string(id))
	out, _ = call(t, command.ExitOK, "import", "--server", s.url, file)
	copied := wire.SessionID(strings.TrimSpace(out))
	first := strings.Fields(lines[0])[1]
	if out, _ := call(t, command.ExitOK, "diff", "--server", s.url, string(copied), first, last); !strings.Contains(out, "/imported/project/a.txt") {
		t.Errorf("diff of imported checkpoints: got %q, want the file of the workspace", out)
	}
	call(t, command.ExitOK, "restore", "--server", s.url, string(copied), last)
	if got := read(); got != "two" {
		t.Errorf("restored in a session without a workspace: a.txt is %q, want two", got)
	}
	if status, body := chooseWorkspace(t, s, copied, project); status != http.StatusOK {
		t.Fatalf("choosing the workspace for the imported session: got %d %s, want %d", status, body, http.StatusOK)
	}
	call(t, command.ExitOK, "restore", "--server", s.url, string(copied), last)
	if got := read(); got != "one" {
		t.Errorf("restored in the imported session: a.txt is %q, want one", got)
	}
	if got := sumTree(t, filepath.Join(project, ".git")); !maps.Equal(got, users) {
		t.Errorf("the user's repository has changed after an import: got %v, want %v", got, users)
	}
	call(t, command.ExitOK, "export", "--server", s.url, "--checkpoints", "--force", "--out", file, string(id))
	out, _ = call(t, command.ExitOK, "import", "--server", s.url, file)
	if out, _ := call(t, command.ExitOK, "diff", "--server", s.url, strings.TrimSpace(out), first, last); strings.Contains(out, "a.txt") {
		t.Errorf("diff without the checkpoints of the workspace: got %q, want none of its files", out)
	}

	// A workspace that is gone ends turns with the reason, and the session can choose none.
	if err := os.Rename(project, filepath.Join(allowed, "moved")); err != nil {
		t.Fatal(err)
	}
	x.say(t, "/shell true")
	x.until(t, `main: failed.*allowed workspace`)
	if status, body := chooseWorkspace(t, s, id, ""); status != http.StatusOK {
		t.Fatalf("choosing no workspace: got %d %s, want %d", status, body, http.StatusOK)
	}
	x.say(t, "/shell echo three > a.txt")
	x.until(t, `\? May the agent do this\?`)
	x.say(t, ":yes")
	x.until(t, `main: done in `)
	if _, err := os.Stat(filepath.Join(sessionFolder(filepath.Join(home, "agents"), id), "a.txt")); err != nil {
		t.Errorf("without a workspace: %v, want the file in the folder of the session", err)
	}
}
