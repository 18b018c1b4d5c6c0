package rootask_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/rootask"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

const (
	goodRows = `[
 {"ts":1000,"type":"say","say":"text","text":"Fix the bug\nplease","images":[]},
 {"ts":1001,"type":"say","say":"api_req_started","text":"{\"request\":\"whole files\",\"tokensIn\":10,\"tokensOut\":2,\"cost\":0.1}"},
 {"ts":1002,"type":"say","say":"reasoning","text":"hm"},
 {"ts":1003,"type":"ask","ask":"tool","text":"{\"tool\":\"readFile\"}","partial":false},
 {"ts":1003,"type":"say","say":"checkpoint_saved","text":"abc","checkpoint":{"from":"a","to":"b"}},
 {"ts":1004,"type":"say","say":"text","text":"It is in line 3."},
 {"ts":1010,"type":"say","say":"user_feedback","text":"Thanks"},
 {"ts":1012,"type":"say","say":"text","text":"Welcome."},
 {"ts":1013,"type":"ask","ask":"resume_task"}
]`
	goodMessages = `[
 {"role":"user","content":[{"type":"text","text":"<task>Fix the bug</task>"}],"ts":1000},
 {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"tool_use","id":"c1","name":"read_file","input":{"path":"a"}}],"ts":1002},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"text of a"}],"ts":1003},
 {"role":"assistant","content":"It is in line 3.","ts":1004},
 {"role":"user","content":"Thanks","ts":1010},
 {"role":"assistant","content":"Welcome.","ts":1011}
]`
)

// newTask writes a task folder.
func newTask(t *testing.T, folder string, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func good() map[string]string {
	return map[string]string{"ui_messages.json": goodRows, "api_conversation_history.json": goodMessages, "history_item.json": `{"task":"Fix the bug\nplease"}`}
}

func TestTaskBecomesASessionFileWithLinkedHistories(t *testing.T) {
	t.Parallel()
	task, err := rootask.Read(newTask(t, filepath.Join(t.TempDir(), "019a"), good()))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, r := range task.Rows {
		kinds = append(kinds, string(r.Say)+string(r.Ask))
		if r.Type == wire.RowAsk && !r.IsAnswered {
			t.Errorf("row %d asks, want it answered", r.ID)
		}
	}
	if want := []string{"user_feedback", "api_req_started", "reasoning", "tool", "checkpoint_saved", "text", "user_feedback", "text"}; !slices.Equal(kinds, want) {
		t.Errorf("rows %v, want %v", kinds, want)
	}
	if got := task.Rows[1].Text; strings.Contains(got, "whole files") || !strings.Contains(got, `"tokensIn":10`) {
		t.Errorf("row of the request %s, want the tokens only", got)
	}
	var links []wire.RowID
	for _, m := range task.Messages {
		links = append(links, m.Row)
	}
	if want := []wire.RowID{1, 4, 5, 6, 7, 8}; !slices.Equal(links, want) {
		t.Errorf("rows of the messages %v, want %v", links, want)
	}
	if task.Title != "Fix the bug" || len(task.Left) != 1 || !strings.Contains(task.Left[0], "1 parts") {
		t.Errorf("title %q, left out %q, want the first line, and the thinking", task.Title, task.Left)
	}

	var file bytes.Buffer
	if err := task.Write(&file); err != nil {
		t.Fatal(err)
	}
	log, err := sessionfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), sessionfile.Limits{})
	if err != nil {
		t.Fatalf("the session file is refused: %v", err)
	}
	if len(log.Rows["monitor-0"]) != len(task.Rows) || len(log.Threads) != 1 || len(log.Threads[0].Messages) != len(task.Messages) {
		t.Errorf("the file has %d rows and %d threads, want all", len(log.Rows["monitor-0"]), len(log.Threads))
	}
	view := history.View(log.Threads[0].Messages)
	if err := providers.Check(view); err != nil || len(view) != 6 {
		t.Errorf("%d messages for the model, error %v, want 6 valid ones", len(view), err)
	}
}

func TestFindRecognisesTasksAndStorageFolders(t *testing.T) {
	t.Parallel()
	storage := t.TempDir()
	one := newTask(t, filepath.Join(storage, "tasks", "a"), good())
	two := newTask(t, filepath.Join(storage, "tasks", "b"), map[string]string{"claude_messages.json": goodRows})
	newTask(t, filepath.Join(storage, "tasks", "empty"), map[string]string{"history_item.json": "{}"})
	newTask(t, filepath.Join(storage, "settings"), map[string]string{"x.json": "{}"})
	outside := newTask(t, filepath.Join(t.TempDir(), "outside"), good())
	if err := os.Symlink(outside, filepath.Join(storage, "tasks", "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder string
		want   []string
	}{{storage, []string{one, two}}, {filepath.Join(storage, "tasks"), []string{one, two}}, {one, []string{one}}} {
		if got, err := rootask.Find(c.folder); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, error %v, want %v", c.folder, got, err, c.want)
		}
	}
	linked := t.TempDir()
	if err := os.Symlink(filepath.Join(storage, "tasks"), filepath.Join(linked, "tasks")); err != nil {
		t.Fatal(err)
	}
	if got, err := rootask.Find(linked); !errors.Is(err, rootask.ErrNoTask) {
		t.Errorf("a folder with a link to tasks: %v, error %v, want %v", got, err, rootask.ErrNoTask)
	}
	if got, err := rootask.Find(t.TempDir()); !errors.Is(err, rootask.ErrNoTask) {
		t.Errorf("an empty folder: %v, error %v, want %v", got, err, rootask.ErrNoTask)
	}
	if task, err := rootask.Read(two); err != nil || len(task.Rows) != 8 || len(task.Messages) != 0 {
		t.Errorf("old names: error %v, want the rows", err)
	}
}

func TestDamagedAndHostileTasksAreSafe(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat(`{"ts":1,"type":"say","say":"text","text":"x"},`, 10_050) + `{"ts":1,"type":"say","say":"text","text":"x"}]`
	long := "[" + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("x", 1<<20)+`","ts":5},`, 8) + `{"role":"assistant","content":"end","ts":6}]`
	deep := strings.Repeat("[", 100_000)
	future := `[{"ts":` + strconv.FormatInt(1<<52, 10) + `,"type":"say","say":"text","text":"x"},{"ts":5,"type":"say","say":"text","text":"y"}]`
	for name, c := range map[string]struct {
		files          map[string]string
		rows, messages int
		left           string
		fails          bool
	}{
		"broken rows":     {map[string]string{"ui_messages.json": goodRows[:200], "api_conversation_history.json": goodMessages}, 0, 6, "damaged", false},
		"broken messages": {map[string]string{"ui_messages.json": goodRows, "api_conversation_history.json": "{"}, 8, 0, "damaged", false},
		"all broken":      {map[string]string{"ui_messages.json": "{", "api_conversation_history.json": deep}, 0, 0, "", true},
		"strange rows": {map[string]string{"ui_messages.json": `[7,null,{"ts":"x"},{"ts":1,"type":"say","say":"dance"},{"ts":-1,"type":"say","say":"text"},
			{"ts":1e300,"type":"say","say":"text"},{"ts":2.5,"type":"say","say":"text","text":"ok","images":null},{"ts":3,"type":"ask","say":"text"}]`}, 1, 0, "7 rows", false},
		"many rows":   {map[string]string{"ui_messages.json": many}, 10_000, 0, "51 oldest rows", false},
		"long thread": {map[string]string{"ui_messages.json": goodRows, "api_conversation_history.json": long}, 8, 5, "oldest messages", false},
		"the future":  {map[string]string{"ui_messages.json": future}, 1, 0, "1 rows", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task, err := rootask.Read(newTask(t, t.TempDir(), c.files))
			if c.fails {
				if !errors.Is(err, rootask.ErrEmpty) {
					t.Errorf("error %v, want %v", err, rootask.ErrEmpty)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(task.Rows) != c.rows || len(task.Messages) != c.messages || !strings.Contains(strings.Join(task.Left, "; "), c.left) {
				t.Errorf("%d rows, %d messages, left out %q, want %d, %d and %q", len(task.Rows), len(task.Messages), task.Left, c.rows, c.messages, c.left)
			}
			var file bytes.Buffer
			if err := task.Write(&file); err != nil {
				t.Fatal(err)
			}
			if _, err := sessionfile.Read(bytes.NewReader(file.Bytes()), int64(file.Len()), sessionfile.Limits{}); err != nil {
				t.Errorf("the session file is refused: %v", err)
			}
		})
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	secret := newTask(t, t.TempDir(), map[string]string{"secret.json": goodMessages})
	folder := newTask(t, t.TempDir(), map[string]string{"ui_messages.json": goodRows})
	if err := os.Symlink(filepath.Join(secret, "secret.json"), filepath.Join(folder, "api_conversation_history.json")); err != nil {
		t.Fatal(err)
	}
	task, err := rootask.Read(folder)
	if err != nil || len(task.Messages) != 0 || !strings.Contains(strings.Join(task.Left, ""), "not a file") {
		t.Errorf("task %+v, error %v, want no messages, and a note", task, err)
	}
}
