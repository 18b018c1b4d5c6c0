package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// attachRun is a running attach in the process of the test.
type attachRun struct {
	stdin  *io.PipeWriter
	lines  chan string // of stdout; closed at its end
	result chan error
	stderr strings.Builder // complete when result has a value
}

// startAttach runs `hub attach` in a goroutine, with pipes as stdin and stdout.
func startAttach(t *testing.T, args ...string) *attachRun {
	t.Helper()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	r := &attachRun{stdin: stdin, lines: make(chan string, 1000), result: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		err := dispatch(ctx, "attach", command.Call{Args: args, Stdin: in, Stdout: out, Stderr: io.MultiWriter(t.Output(), &r.stderr), Local: localHub})
		out.Close()
		r.result <- err
	})
	wg.Go(func() {
		defer close(r.lines)
		s := bufio.NewScanner(stdout)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			r.lines <- s.Text()
		}
	})
	t.Cleanup(func() {
		cancel()
		stdin.Close()
		wg.Wait()
	})
	return r
}

// say types a line.
func (r *attachRun) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(r.stdin, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// until reads lines until one contains text.
func (r *attachRun) until(t *testing.T, text string) string {
	t.Helper()
	for line := range r.lines {
		if strings.Contains(line, text) {
			return line
		}
	}
	t.Fatalf("it ended without %q: %v", text, <-r.result)
	return ""
}

// end reads to the end of the output and returns the result of attach.
func (r *attachRun) end(t *testing.T) error {
	t.Helper()
	for line := range r.lines {
		t.Log(line)
	}
	return <-r.result
}

func TestAttachJSON(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--auth", "none", "--store", "file:"+t.TempDir())
	var list strings.Builder
	if err := dispatch(t.Context(), "attach", command.Call{Args: []string{"--server", h.url}, Stdout: &list, Local: localHub}); err != nil || !strings.HasPrefix(list.String(), "No sessions yet") {
		t.Errorf("list without sessions: got %q, error %v, want No sessions yet", list.String(), err)
	}
	r := startAttach(t, "--server", h.url, "--new", "A desk", "--state-hash=1")
	var state struct {
		Session wire.SessionID `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(r.until(t, `"type":"session_state"`)), &state); err != nil {
		t.Fatal(err)
	}
	r.say(t, "hello")
	r.until(t, `"text":"hello"`)
	r.until(t, `"type":"MESSAGE_ACCEPTED"`)
	r.until(t, `"isComplete":true`)
	r.until(t, `"state":"idle"`)
	r.say(t, `{"type":"EMIT","data":{"messageId":"m","actions":[{"type":"app.badge","appId":"mail","count":3}]}}`)
	r.until(t, `"type":"app.badge"`)
	var hash struct {
		Type string        `json:"type"`
		Hash string        `json:"hash"`
		At   wire.Position `json:"message_id"`
	}
	if err := json.Unmarshal([]byte(r.until(t, `"type":"state"`)), &hash); err != nil {
		t.Fatal(err)
	}
	r.say(t, `{"type":"DANCE"}`)
	r.until(t, `"type":"error"`)

	// Another client, which exits because of --until, has the same state at the same position.
	other := startAttach(t, "--server", h.url, string(state.Session), "--until", hash.At.String(), "--state-hash=1")
	other.until(t, `"mode":"snapshot"`)
	other.stdin.Close()
	if err := other.end(t); err != nil {
		t.Errorf("it left with %v", err)
	}
	list.Reset()
	if err := dispatch(t.Context(), "attach", command.Call{Args: []string{"--server", h.url}, Stdout: &list, Local: localHub}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(list.String(), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[1], string(state.Session)+"  A desk") {
		t.Errorf("list: got\n%s\nwant one session, %s, called A desk", list.String(), state.Session)
	}
}

func TestAttachEnds(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir())
	plainURL, token, _ := strings.Cut(h.invitation, "/?token=")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"list as a stranger":   {[]string{"--server", plainURL}, "Say who you are with --token or HUB_TOKEN."},
		"attach as a stranger": {[]string{"--server", plainURL, "ses-12345678"}, "Say who you are with --token or HUB_TOKEN"},
		"no such session":      {[]string{"--server", plainURL, "--token", token, "ses-12345678"}, "hub refused the connection with 404"},
		"wrong token":          {[]string{"--server", plainURL, "--token", "x", "ses-12345678"}, "hub refused the connection with 401"},
		"no hub there":         {[]string{"--server", "http://127.0.0.1:1"}, "connection refused"},
		"mistake":              {[]string{"--server", "x"}, "flag --server: want a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startAttach(t, tt.args...)
			if err := r.end(t); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("ended with %v, want %q", err, tt.want)
			}
			if text := r.stderr.String(); strings.Contains(text, "left") {
				t.Errorf("stderr without a connection: got %q, want nothing about leaving", text)
			}
		})
	}
}

// TestAttachTerminal types at a terminal that is attached to a real hub.
func TestAttachTerminal(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--auth", "none", "--store", "file:"+t.TempDir())
	r := startAttach(t, "--server", h.invitation, "--new", "--plain", "--state-hash")
	r.until(t, "── session ses-")
	for _, step := range []struct{ say, want string }{
		{":dance", "no such command: :dance; see :help"},
		{":help", "disconnect; the session goes on"},
		{"hello \x1b[2J world", ": hello  world"},
		{"", "main: done in "},
		{"one\\\n/say of\\\n::three", "::three"},
		{"", "main: done in "},
		{`:emit {"type":"window.create","windowId":"w","title":"Notes\u001b[2J","bounds":{"x":1,"y":2,"w":30,"h":40},"content":{"renderer":"text","data":"hi"}}`, `+ window "Notes" (w) on monitor-0: hi`},
		{":windows", `monitor-0  w  "Notes"  1,2 30×40: hi`},
		{":yes", "there is no open question"},
		{`:emit {"type":"dialog.confirm","id":"d","title":"Sure?","message":"Really?"}`, "? Sure?: Really?  [yes with :yes, no with :no] #d"},
		{":yes", "question #d answered with yes"},
		{`:emit {"type":"user.prompt.show","id":"p","title":"Which?","message":"One","options":[{"value":"a","label":"A"}]}`, "? Which?: One"},
		{":answer b", `"b" is not one of the choices`},
		{":answer A", "question #p answered"},
		{":emit {}", "actions"},
		{":window w /say I am here", "window-w: I am here"},
		{":window x hello", `there is no window "x"; see :windows`},
		{":press w", "want a window and what its button does"},
		{`:press w "save it" one`, "window-w/one: done in "},
		{":stop unknown", `neither an agent nor a monitor is called "unknown"`},
		{":stop", ""},
		{":unqueue", "there is no message that waits"},
		{":agents", "no agent works; answers come from demo"},
		{":provider gpt", `there is no provider "gpt"`},
		{":provider demo", ""},
		{":monitor monitor-1", "you speak to monitor-1"},
		{"/say on one", "main@monitor-1: on one"},
		{":monitor", "monitor-1: idle (in a minute "},
		{":remove monitor-1", "monitor-1: removed"},
		{":reset", `- window "Notes" (w)`},
		{":state", "state "},
	} {
		if step.say != "" {
			r.say(t, step.say)
		}
		if step.want != "" {
			r.until(t, step.want)
		}
	}
	r.say(t, ":quit")
	if err := r.end(t); err != nil {
		t.Error(err)
	}
}

// TestAttachPlan executes a plan at a terminal that is attached to a real hub.
func TestAttachPlan(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--auth", "none", "--store", "file:"+t.TempDir())
	r := startAttach(t, "--server", h.invitation, "--new", "--plain")
	r.until(t, "── session ses-")
	const plan = `{"todos":[` +
		`{"id":"collect","task":"/say collected","inputs":[{"field":"days","question":"Which days?","input_type":"date","range":true,"required":true}]},` +
		`{"id":"analyse","task":"/fail broken","depends_on":["collect"],"max_retries":0},` +
		`{"id":"video","task":"/say filmed","depends_on":["analyse"],"requires_approval":true,"approval_reason":"It costs."}]}`
	for _, step := range []struct{ say, want string }{
		{":plan", "there is no plan"},
		{":pause", "there is no plan"},
		{":approve", "there is no plan or todo that waits for that"},
		{":plan Look\\\n/plan " + plan, "plan: cognitive"},
		{"", "plan plan-1: 3 todos"},
		{"", "○ video pending: /say filmed (after analyse; asks first)"},
		{"", "? Please look at the plan.  [:approve, :modify … or :reject, until "},
		{":plan another", "refused: a plan is under way (3003)"},
		{":modify add a poem", "plan plan-1 changed, version 2: 4 todos"},
		{"", "+ added_1: a poem"},
		{"", "? Please look at the plan."},
		{":yes", "plan plan-1 approved by user"},
		{"", "? Which days?  [:answer 2026-02-06 2026-02-28, for collect, until "},
		{":plan", "? collect needs input: "},
		{":pause for lunch", "plan paused by user: for lunch"},
		{":resume", "plan goes on"},
		{"", "? Which days?"},
		{":answer 2026-02-06 2026-02-28", "▶ collect: "},
		{"", "✓ collect completed in "},
		{"", "✗ analyse: "},
		{"", "– video blocked: "},
		{"", "plan failed: "},
		{":retry analyse", "▶ analyse: "},
		{"", "plan failed: "},
		{":skip analyse no need", "– analyse skipped in 0s"},
		{"", "? May video run? It costs.  [:approve, :skip video or :reject, which ends the plan, until "},
		{":no", "want :skip video, or :reject, which ends the plan"},
		{":approve fine", "▶ video: "},
		{"", "✓ video completed in "},
		{"", "plan: response"},
		{"", "plan done: partial, 3 of 4 in "},
		{"", "plan-1: 3 of 4 todos are done."},
	} {
		if step.say != "" {
			r.say(t, step.say)
		}
		r.until(t, step.want)
	}
	r.say(t, ":quit")
	if err := r.end(t); err != nil {
		t.Error(err)
	}
}
