package acp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

// turnRunner runs turns of a stand-in in a folder, and answers all questions with yes or no.
type turnRunner struct {
	session providers.Session
	ended   chan providers.Event

	mu    sync.Mutex
	text  strings.Builder
	asked []providers.ToolCall
	all   []providers.Event
}

// newTurnRunner opens a session. Its folder has a file a.txt, a sparse file large.txt, a named pipe, and symbolic
// links to a file and to a folder outside.
func newTurnRunner(t *testing.T, allow bool) (x *turnRunner, dir, outside string) {
	t.Helper()
	dir, outside = t.TempDir(), filepath.Join(t.TempDir(), "secret.txt")
	for name, text := range map[string]string{filepath.Join(dir, "a.txt"): "one\ntwo\nthree\n", outside: "secret"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Truncate(createFile(t, filepath.Join(dir, "large.txt")), 20<<30), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link.txt": outside, "folder": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := newProvider("load")(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	x = &turnRunner{ended: make(chan providers.Event, 1)}
	answers := make(chan string, 10)
	x.session, err = p.Open(t.Context(), providers.Spec{Dir: dir, OnEvent: func(e providers.Event) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.all = append(x.all, e)
		switch e.Kind {
		case providers.EventText:
			x.text.WriteString(e.Text)
		case providers.EventApproval:
			x.asked = append(x.asked, e.Tool)
			answers <- e.Approval
		case providers.EventTurnEnd:
			x.ended <- e
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for id := range answers {
			_ = x.session.Answer(context.Background(), id, providers.Decision{Allow: allow}) // the turn hangs without it
		}
	})
	t.Cleanup(func() { close(answers); wg.Wait() })
	return x, dir, outside
}

// createFile creates an empty file and returns its path.
func createFile(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// turn runs a turn and returns its text and what was asked in it.
func (x *turnRunner) turn(t *testing.T, id, text string) (said string, asked []providers.ToolCall) {
	t.Helper()
	x.mu.Lock()
	x.text.Reset()
	x.asked = nil
	x.mu.Unlock()
	if err := x.session.Send(t.Context(), providers.Message{ID: id, Mode: providers.Start, Text: text}); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-x.ended:
		if e.Outcome != providers.Completed {
			t.Fatalf("the turn is %s (%v), want completed", e.Outcome, e.Err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the turn does not end")
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.text.String(), x.asked
}

// An agent reads files in its working directory only.
func TestReadFile(t *testing.T) {
	t.Parallel()
	x, _, outside := newTurnRunner(t, true)
	for i, tt := range []struct{ params, want string }{
		{`{"path":"DIR/a.txt"}`, `{"content":"one\ntwo\nthree\n"}`},
		{`{"path":"DIR/a.txt","line":2,"limit":1}`, `{"content":"two\n"}`},
		{`{"path":"DIR/a.txt","line":9}`, `{"content":""}`},
		{`{"path":"DIR/nonesuch"}`, `{"code":-32002,"message":"Resource not found: nonesuch"}`},
		{`{"path":"DIR"}`, "not a file"},
		{`{"path":"DIR/pipe"}`, "not a file"},
		{`{"path":"DIR/large.txt"}`, "more than 8388608 bytes"},
		{`{"path":"DIR/link.txt"}`, "escapes"},
		{`{"path":"DIR/folder/secret.txt"}`, "escapes"},
		{`{"path":"` + outside + `"}`, "not in the working directory"},
		{`{"path":"DIR/../../etc/passwd"}`, "not in the working directory"},
	} {
		got, _ := x.turn(t, fmt.Sprint("m-", i), "/request fs/read_text_file "+tt.params)
		if !strings.Contains(got, tt.want) || strings.Contains(got, "secret\"") {
			t.Errorf("%s: got %s, want %s", tt.params, got, tt.want)
		}
	}
}

// A write is asked for with the patch, and no symbolic link leads out of the working directory.
func TestWriteFile(t *testing.T) {
	t.Parallel()
	for _, allow := range []bool{true, false} {
		x, dir, outside := newTurnRunner(t, allow)
		_, asked := x.turn(t, "m-1", `/request fs/write_text_file {"path":"DIR/new/b.txt","content":"hello\n"}`)
		if len(asked) != 1 || asked[0].Name != "apply_patch" || string(asked[0].Input) != `{"patch":"+++ new/b.txt\n@@\n+hello\n"}` {
			t.Errorf("asked was %+v, want the patch", asked)
		}
		if raw, err := os.ReadFile(filepath.Join(dir, "new/b.txt")); allow != (err == nil && string(raw) == "hello\n") {
			t.Errorf("allowed %v: the file is %q (%v)", allow, raw, err)
		}
		for i, at := range []string{"DIR/link.txt", "DIR/folder/new.txt", "DIR/../c.txt", outside} {
			x.turn(t, fmt.Sprint("o-", i), `/request fs/write_text_file {"path":"`+at+`","content":"changed"}`)
		}
		if raw, err := os.ReadFile(outside); err != nil || string(raw) != "secret" {
			t.Errorf("a file outside was changed to %q (%v)", raw, err)
		}
		if names, err := os.ReadDir(filepath.Dir(outside)); err != nil || len(names) != 1 {
			t.Errorf("outside there are %v (%v), want nothing new", names, err)
		}
	}
}

// What cannot be shown to users, or is no file, is refused without a question.
func TestWriteFileThatCannotBeShown(t *testing.T) {
	t.Parallel()
	x, dir, _ := newTurnRunner(t, true)
	for i, tt := range []struct{ path, want string }{
		{"DIR/large.txt", "more than 8388608 bytes"},
		{"DIR/pipe", "not a file"},
		{"DIR", "not a file"},
		{"DIR/link.txt", "escapes"},
		{"DIR/a.txt/b.txt", "not a directory"},
	} {
		got, asked := x.turn(t, fmt.Sprint("m-", i), `/request fs/write_text_file {"path":"`+tt.path+`","content":"changed"}`)
		if !strings.Contains(got, tt.want) || len(asked) != 0 {
			t.Errorf("%s: got %s and %d questions, want %s and none", tt.path, got, len(asked), tt.want)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "large.txt")); err != nil || info.Size() != 20<<30 {
		t.Errorf("the large file is %v (%v), want it unchanged", info, err)
	}
}

// A write that users have approved with a call does not wait for the reader of a pipe.
func TestApprovedWriteToPipe(t *testing.T) {
	t.Parallel()
	x, dir, _ := newTurnRunner(t, true)
	const permission = `/request session/request_permission {"toolCall":{"toolCallId":"c-1","kind":"edit","content":[{"type":"diff","path":"DIR/pipe","newText":"x"}]},` +
		`"options":[{"optionId":"y","kind":"allow_once"}]}` + "\n"
	const write = permission + `/request fs/write_text_file {"path":"DIR/pipe","content":"x"}`
	if got, asked := x.turn(t, "m-1", write); !strings.Contains(got, "not a file") || len(asked) != 1 {
		t.Errorf("without a reader: got %s and %d questions, want not a file and one", got, len(asked))
	}
	reader, err := os.OpenFile(filepath.Join(dir, "pipe"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := x.turn(t, "m-2", write); !strings.Contains(got, "not a file") {
		t.Errorf("with a reader: got %s, want not a file", got)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
}

// A write that an approved call announced is not asked for again, in this turn.
func TestWriteFileOfApprovedCall(t *testing.T) {
	t.Parallel()
	x, dir, _ := newTurnRunner(t, true)
	const permission = `/request session/request_permission {"toolCall":{"toolCallId":"c-1","kind":"edit","title":"Edit a.txt","content":[` +
		`{"type":"diff","path":"DIR/a.txt","oldText":"one\n","newText":"changed\n"}]},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"z","kind":"allow_always"}]}` + "\n"
	const write = `/request fs/write_text_file {"path":"DIR/a.txt","content":"changed\ntwo\nthree\n"}`
	said, asked := x.turn(t, "m-1", permission+write)
	if len(asked) != 1 || !strings.Contains(said, `"optionId":"y"`) {
		t.Errorf("asked was %+v, and the agent got %s; want one question and the option for once", asked, said)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(raw) != "changed\ntwo\nthree\n" {
		t.Errorf("the file is %q (%v), want it changed", raw, err)
	}
	if _, asked := x.turn(t, "m-2", write); len(asked) != 1 {
		t.Errorf("in the next turn asked was %+v, want one question", asked)
	}
}

// Users are asked for a write that is not the change which they have approved.
func TestWriteOfOtherTextThanApproved(t *testing.T) {
	t.Parallel()
	const permission = `/request session/request_permission {"toolCall":{"toolCallId":"c-1","kind":"edit","title":"Edit","content":[` +
		`{"type":"diff","path":"DIR/%s","oldText":%q,"newText":"changed\n"}]},"options":[{"optionId":"y","kind":"allow_once"}]}` + "\n"
	const write = `/request fs/write_text_file {"path":"DIR/%s","content":%q}`
	for name, tt := range map[string]struct {
		file, old, content string
		want               int // questions, with that for the call
	}{
		"the whole text":                 {"a.txt", "one\ntwo\nthree\n", "changed\n", 1},
		"a part":                         {"a.txt", "two\n", "one\nchanged\nthree\n", 1},
		"a new file":                     {"new.txt", "", "changed\n", 1},
		"another text":                   {"a.txt", "one\ntwo\nthree\n", "other\n", 2},
		"the part in place of the whole": {"a.txt", "two\n", "changed\n", 2},
		"a file taken for a new one":     {"a.txt", "", "changed\n", 2},
		"text that was not there":        {"a.txt", "four\n", "changed\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, _, _ := newTurnRunner(t, true)
			if _, asked := x.turn(t, "m-1", fmt.Sprintf(permission+write, tt.file, tt.old, tt.file, tt.content)); len(asked) != tt.want {
				t.Errorf("asked was %+v, want %d questions", asked, tt.want)
			}
		})
	}
}

// What the hub does not offer is refused, and an agent that offers only a permanent approval gets none.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	x, _, _ := newTurnRunner(t, true)
	for i, tt := range []struct{ request, want string }{
		{`terminal/create {"command":"ls"}`, "-32601"},
		{`session/request_permission {"toolCall":{"toolCallId":"c"},"options":[{"optionId":"z","kind":"allow_always"}]}`, "cancelled"},
	} {
		if got, _ := x.turn(t, fmt.Sprint("m-", i), "/request "+tt.request); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.request, got, tt.want)
		}
	}
}

// Thoughts, plans, costs and calls with patches are reported; unknown updates are ignored.
func TestUpdates(t *testing.T) {
	t.Parallel()
	x, _, _ := newTurnRunner(t, true)
	x.turn(t, "m-1", strings.Join([]string{
		`/send agent_thought_chunk {"content":{"type":"text","text":"hm"}}`,
		`/send plan {"entries":[{"content":"look","status":"pending","priority":"high"}]}`,
		`/send plan {"entries":[{"content":"look","status":"pending","priority":"high"}]}`,
		`/send plan {"entries":[{"content":"look","status":"completed","priority":"high"}]}`,
		`/send tool_call {"toolCallId":"c-1","title":"Edit","kind":"edit","status":"pending"}`,
		`/send tool_call_update {"toolCallId":"c-1","status":"completed","content":[{"type":"diff","path":"DIR/a.txt","oldText":"a","newText":"b"}]}`,
		`/send tool_call_update {"toolCallId":"c-2","kind":"execute","status":"failed","rawInput":{"command":"false"},"content":[{"type":"content","content":{"type":"text","text":"exit 1"}}]}`,
		`/send usage_update {"used":10,"size":100,"cost":{"amount":0.5,"currency":"USD"}}`,
		`/send a_kind_of_tomorrow {"content":5}`,
		`/say "done"`,
	}, "\n"))
	var got []string
	for _, e := range x.all {
		switch e.Kind {
		case providers.EventThinking:
			got = append(got, "thinks "+e.Text)
		case providers.EventUsage:
			got = append(got, fmt.Sprint("usage ", e.Usage.Input, " ", e.Usage.USD))
		case providers.EventEntries:
			for _, entry := range e.Entries {
				for _, b := range entry.Blocks {
					switch b.Kind {
					case providers.BlockToolCall:
						got = append(got, b.Tool+" "+string(b.Input))
					case providers.BlockToolResult:
						got = append(got, fmt.Sprintf("%q %v", b.Text, b.IsError))
					}
				}
			}
		}
	}
	want := strings.Join([]string{
		"thinks hm",
		`update_todo_list {"todos":[{"content":"look","status":"pending"}]}`, `"noted" false`,
		`update_todo_list {"todos":[{"content":"look","status":"completed"}]}`, `"noted" false`,
		`apply_patch {"patch":"+++ a.txt\n@@\n-a\n+b\n"}`, `"+++ a.txt\n@@\n-a\n+b\n" false`,
		`shell {"command":"false"}`, `"exit 1" true`,
		"usage 140 0.5",
	}, "\n")
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

// Prepared programs are used by the next sessions, replaced when they have ended, and ended with the
// provider.
func TestWarm(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	made, err := newProvider("load")(home)
	if err != nil {
		t.Fatal(err)
	}
	p := made.(*served) //nolint:forcetypeassert // newProvider returns one
	for range 2 {       // the second call finds them
		if err := p.Warm(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
	}
	if n := p.Started(); n != 2 {
		t.Errorf("%d programs were started, want 2", n)
	}
	s, err := p.Open(t.Context(), providers.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Started(); n != 2 {
		t.Errorf("%d programs were started for a session, want the 2 prepared ones", n)
	}
	if err := p.Warm(t.Context(), 2); err != nil || p.Started() != 3 {
		t.Errorf("%d programs were started (%v), want one more", p.Started(), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	killPrepared(t, home)
	s, err = p.Open(t.Context(), providers.Spec{})
	if err != nil {
		t.Fatalf("open after the prepared programs were killed: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Warm(t.Context(), 1); err != nil {
		t.Errorf("warm after the prepared programs were killed: %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := p.Warm(t.Context(), 1); err != nil {
		t.Errorf("warm after close: %v, want nothing to happen", err)
	}
}

// killPrepared kills all stand-ins of a home.
func killPrepared(t *testing.T, home string) {
	t.Helper()
	for _, pid := range agenttest.PIDs(t, home) {
		_ = syscall.Kill(pid, syscall.SIGKILL) // some have ended
	}
}
