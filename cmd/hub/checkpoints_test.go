package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// writeByAgent sends a message to a session that writes a file, and waits for the end of the turn.
func writeByAgent(t *testing.T, attached *attachRun, id, name, text string) {
	t.Helper()
	content, err := json.Marshal(`/task default /call storage:write {"path":"` + name + `","content":"` + text + `"}`)
	if err != nil {
		t.Fatal(err)
	}
	attached.say(t, `{"type":"USER_MESSAGE","data":{"messageId":"`+id+`","content":`+string(content)+`}}`)
	for {
		line := attached.until(t, `"isComplete":true`)
		if strings.Contains(line, `"messageId":"`+id+`"`) {
			return
		}
	}
}

// Checkpoints are listed, compared and restored from a terminal, and survive kill -9.
func TestCheckpointsInATerminal(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	hub := serveProcess(t, testProvider{args: []string{"--provider", "demo"}}, "--files-dir", folder)
	attached := startAttach(t, "--server", hub.url, "--json", "--new", "Mine")
	var state struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(attached.until(t, `"type":"session_state"`)), &state); err != nil {
		t.Fatal(err)
	}
	id := state.Session
	read := func() string {
		text, err := os.ReadFile(filepath.Join(folder, id, "a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	writeByAgent(t, attached, "m1", "a.txt", "one")
	writeByAgent(t, attached, "m2", "a.txt", "two")
	hub.kill()
	hub.again(t)
	out, _ := call(t, command.ExitOK, "checkpoints", "--server", hub.url, id)
	lines := strings.Split(out, "\n")
	if len(lines) < 2 || !strings.HasSuffix(lines[0], "tool") {
		t.Fatalf("checkpoints: got %q, want that before the first file and that of the second message", out)
	}
	second := strings.Fields(lines[1])[1]
	if out, _ := call(t, command.ExitOK, "diff", "--server", hub.url, id, second); !strings.Contains(out, "changed") || !strings.Contains(out, "a.txt") {
		t.Errorf("diff with now: got %q, want that a.txt changed", out)
	}
	if out, _ := call(t, command.ExitOK, "diff", "--server", hub.url, "--file", "a.txt", id, second); !strings.Contains(out, "-one") || !strings.Contains(out, "+two") {
		t.Errorf("diff of a file: got %q, want both lines", out)
	}
	out, _ = call(t, command.ExitOK, "restore", "--server", hub.url, id, second)
	if got := read(); got != "one" || !strings.Contains(out, "undo: hub restore "+id) {
		t.Fatalf("restore: a.txt is %q, output %q, want the text before and how to undo it", got, out)
	}
	undo := out[strings.LastIndexByte(out, ' ')+1:]
	hub.kill()
	hub.again(t)
	call(t, command.ExitOK, "restore", "--server", hub.url, id, undo)
	if got := read(); got != "two" {
		t.Errorf("after the undo a.txt is %q, want two", got)
	}
	if _, says := call(t, command.ExitFailure, "restore", "--server", hub.url, id, "0123456789"); !strings.Contains(says, "no checkpoint") {
		t.Errorf("an unknown checkpoint: got %q, want that there is none", says)
	}
	// A session file carries them to another session, if that is asked for.
	exported := filepath.Join(t.TempDir(), "session.zip")
	call(t, command.ExitOK, "export", "--server", hub.url, "--checkpoints", "--out", exported, id)
	out, _ = call(t, command.ExitOK, "import", "--server", hub.url, exported)
	copied := strings.Fields(out)[0]
	if out, _ := call(t, command.ExitOK, "checkpoints", "--server", hub.url, copied); !strings.Contains(out, second) {
		t.Errorf("checkpoints of the imported session: got %q, want %s among them", out, second)
	}
	call(t, command.ExitOK, "restore", "--server", hub.url, copied, second)
	if text, err := os.ReadFile(filepath.Join(folder, copied, "a.txt")); err != nil || string(text) != "one" {
		t.Errorf("restored in the imported session: a.txt is %q (%v), want one", text, err)
	}
	if got := read(); got != "two" {
		t.Errorf("the session that was exported: a.txt is %q, want two as before", got)
	}
	call(t, command.ExitOK, "export", "--server", hub.url, "--force", "--out", exported, id)
	out, _ = call(t, command.ExitOK, "import", "--server", hub.url, exported)
	if out, _ := call(t, command.ExitOK, "checkpoints", "--server", hub.url, strings.Fields(out)[0]); strings.Contains(out, second) {
		t.Errorf("checkpoints that were not exported: got %q, want none", out)
	}
	call(t, command.ExitUsage, "restore", "--server", hub.url, id)
	call(t, command.ExitUsage, "checkpoints", "--server", hub.url, id, "maybe")
	call(t, command.ExitOK, "checkpoints", "--server", hub.url, id, "off")
}
