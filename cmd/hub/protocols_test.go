package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/agui/aguitest"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/rooipc/rooipctest"
	"github.com/everdesk/everdesk/wire"
)

// A script of Roo-Code, an editor with ACP, a page with AG-UI and a tab of the desktop use one session.
// The hub is killed in the middle of an answer. All of them get the rest, every word once, and what one
// says afterwards comes to the others.
func TestClientsOfAllProtocolsStayInStep(t *testing.T) {
	t.Parallel()
	socket := rooipctest.SocketPath(t)
	s := serveProcess(t, testProviders(t)[0], "--lease", "2s", "--ipc-socket", socket)
	script := rooipctest.Dial(t, socket, 0)
	script.StartTask(`{}`, "/say Started.")
	script.UntilCompleted(1)
	id := script.Task()
	tab := runClient(t, s.url, wire.SessionID(id))
	e := startEditor(t, hubRun{url: s.url}, nil)
	e.call("session/load", map[string]any{"sessionId": id, "cwd": "/", "mcpServers": []any{}}, nil)

	const n = 300
	page := &aguiPage{t: t, url: s.url, thread: id}
	stopped := make(chan error, 1)
	go func() {
		why, err := e.prompt(wire.SessionID(id), fmt.Sprintf("/nosteer\n/stream %d 100", n))
		if err == nil && why != "end_turn" {
			err = fmt.Errorf("the prompt stopped with %q, want end_turn", why)
		}
		stopped <- err
	}()
	page.connect(func() bool { return strings.Contains(page.answers(), "w20 ") })
	e.await("the editor shows the answer", func() bool { return strings.Contains(e.texts("agent_message_chunk"), "w20 ") })
	script.Until("the script has a part of the answer", func() bool { return strings.Contains(script.Answers(), "w20 ") })
	s.kill()
	s.again(t)

	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	script = script.Continue(socket)
	script.UntilCompleted(2)
	script.SendMessage("/say From the script.")
	script.UntilCompleted(3)
	e.await("the editor shows the script's answer", func() bool { return strings.HasSuffix(e.texts("agent_message_chunk"), "From the script.") })
	page.connect(nil)

	wantSameAnswers(t, "Started."+words(n)+"From the script.", map[string]string{
		"script": script.Answers(), "editor": e.texts("agent_message_chunk"), "page": page.answers(), "tab": answersOf(tab.State()),
	})
}

// Two hubs share a store. A script, an editor, a page and a tab use one session, some of them through the hub
// that owns it and some through the other one. The owner is killed in the middle of an answer and does not
// come back. The streams of the other hub go on without a cut, the run of the page ends once, and the script
// goes on at the other hub. All of them have every word once.
func TestClientsOfAllProtocolsSurviveATakeOver(t *testing.T) {
	t.Parallel()
	demo := testProviders(t)[0]
	settings := []string{"--lease", "2s", "--store", redistest.Standalone(t).URL(), "--files-dir", t.TempDir()}
	sockets := []string{rooipctest.SocketPath(t), rooipctest.SocketPath(t)}
	owner := serveProcess(t, demo, append(slices.Clone(settings), "--ipc-socket", sockets[0])...)
	other := serveProcess(t, demo, append(slices.Clone(settings), "--ipc-socket", sockets[1])...)

	script := rooipctest.Dial(t, sockets[0], 0)
	script.StartTask(`{}`, "/say Started.")
	script.UntilCompleted(1)
	id := script.Task()
	tab := openTab(t, other.url, "", wire.SessionID(id))
	e := startEditor(t, hubRun{url: other.url}, nil)
	e.call("session/load", map[string]any{"sessionId": id, "cwd": "/", "mcpServers": []any{}}, nil)
	page := &aguiPage{t: t, url: other.url, thread: id}
	page.connect(nil)

	const n = 400
	stopped := e.begin(wire.SessionID(id), fmt.Sprintf("/nosteer\n/stream %d 100", n))
	killed := false
	page.follow(func() bool {
		if killed || !strings.Contains(page.answers(), "w20 ") {
			return strings.HasSuffix(page.answers(), fmt.Sprintf("w%d", n)) && page.Events[len(page.Events)-1].Type == "RUN_FINISHED"
		}
		killed = true
		script.Until("the script has a part of the answer", func() bool { return strings.Contains(script.Answers(), "w20 ") })
		owner.kill()
		return false
	})
	if started, ended := page.count("RUN_STARTED"), page.count("RUN_FINISHED")+page.count("RUN_ERROR"); started != ended {
		t.Errorf("%d runs of the page began and %d ended, want one end for each", started, ended)
	}
	if why := stopped(); why != "end_turn" {
		t.Errorf("the prompt of the editor stopped with %q, want end_turn", why)
	}
	script = script.Continue(sockets[1])
	script.UntilCompleted(2)
	script.SendMessage("/say From the script.")
	script.UntilCompleted(3)
	e.await("the editor shows the script's answer", func() bool { return strings.HasSuffix(e.texts("agent_message_chunk"), "From the script.") })
	next(tab, "the tab has the script's answer", func(wire.MessageUpdated) bool { return strings.HasSuffix(answersOf(tab.State()), "From the script.") })
	page.connect(nil)
	wantSameAnswers(t, "Started."+words(n)+"From the script.", map[string]string{
		"script": script.Answers(), "editor": e.texts("agent_message_chunk"), "page": page.answers(), "tab": answersOf(tab.State()),
	})
}

// A tab gives the permission that the agent of a page, of an editor and of a script asks for. Each of them goes
// on, and the question is withdrawn from the editor.
func TestPermissionOfATabContinuesClientsOfAllProtocols(t *testing.T) {
	t.Parallel()
	socket := rooipctest.SocketPath(t)
	s := serveHere(t, testProviders(t)[0], "--ipc-socket", socket)
	const push = `/call shell {"command":"git push"}` + "\n"
	script := rooipctest.Dial(t, socket, 0)
	script.StartTask(`{}`, push+"/say Script.")
	script.UntilAsked("command")
	id := wire.SessionID(script.Task())
	tab := openTab(t, s.url, "", id)
	for _, d := range tab.State().Dialogs { // asked before the tab was open
		if _, err := tab.Send(t.Context(), wire.DialogFeedback{DialogID: d.DialogID, MonitorID: d.MonitorID, Confirmed: true}); err != nil {
			t.Fatal(err)
		}
	}
	script.UntilCompleted(1)
	if !slices.Contains(script.Names(), "taskAskResponded") || slices.ContainsFunc(script.Rows, func(r rooipctest.Row) bool { return r.Type == "ask" && !r.IsAnswered }) {
		t.Errorf("events %v and rows %+v of the script, want the question answered", script.Names(), script.Rows)
	}

	e := startEditor(t, hubRun{url: s.url}, nil)
	e.call("session/load", map[string]any{"sessionId": id, "cwd": "/", "mcpServers": []any{}}, nil)
	stopped := e.begin(id, push+"/say Editor.")
	tab.approve()
	if why := stopped(); why != "end_turn" {
		t.Errorf("the prompt of the editor stopped with %q, want end_turn", why)
	}
	e.await("the question of the editor is withdrawn", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.withdrawn == 1
	})

	page := &aguiPage{t: t, url: s.url, thread: string(id)}
	page.run(map[string]any{"runId": "run-1"}, push+"/say Page.")
	if len(page.Interrupts) != 1 {
		t.Fatalf("interrupts %+v, want the permission; events %v", page.Interrupts, page.Types())
	}
	tab.approve()
	// A late answer of the page changes nothing: the tab has answered.
	page.run(map[string]any{"runId": "run-2", "resume": []any{map[string]any{"interruptId": page.Interrupts[0].ID, "status": "resolved", "payload": map[string]any{"approved": false}}}}, "")
	const all = "The user allowed it.\nScript.The user allowed it.\nEditor.The user allowed it.\nPage."
	e.await("the editor has all answers", func() bool { return e.texts("agent_message_chunk") == all })
	next(tab, "the tab has all answers", func(wire.MessageUpdated) bool { return answersOf(tab.State()) == all })
	if got := page.answers(); !strings.Contains(got, "allowed it") || !strings.HasSuffix(got, "Page.") {
		t.Errorf("the page has %q, want the rest of the turn that the tab allowed", got)
	}
}

func words(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("w%d", i+1)
	}
	return strings.Join(all, " ")
}

func wantSameAnswers(t *testing.T, want string, all map[string]string) {
	t.Helper()
	for who, got := range all {
		if got != want {
			t.Errorf("the %s has %q, want %q", who, got, want)
		}
	}
}

// answersOf returns the texts of agents in a state.
func answersOf(s wire.SessionState) string {
	var all strings.Builder
	for _, row := range s.RecentMessages {
		if row.Say == wire.SayText {
			all.WriteString(row.Text)
		}
	}
	return all.String()
}

// aguiPage is a client of AG-UI that follows a session.
type aguiPage struct {
	aguitest.Client
	t           *testing.T
	url, thread string
	connected   int
}

func (x *aguiPage) answers() string { return strings.Join(x.Texts("assistant"), "") }

// count returns the number of events of a type.
func (x *aguiPage) count(typ string) int {
	n := 0
	for _, e := range x.Events {
		if e.Type == typ {
			n++
		}
	}
	return n
}

// connect reads the conversation and the turn that runs, until a condition holds.
func (x *aguiPage) connect(until func() bool) {
	x.t.Helper()
	x.connected++
	x.stream("/agui/agent/desktop/connect", map[string]any{"runId": fmt.Sprintf("connect-%d", x.connected)}, until)
}

// follow reads the conversation, the turn that runs and later ones on one stream, until a condition holds.
func (x *aguiPage) follow(until func() bool) {
	x.t.Helper()
	x.connected++
	x.Events = nil
	props := map[string]any{"everdesk": map[string]any{"follow": true}}
	x.stream("/agui/agent/desktop/connect", map[string]any{"runId": fmt.Sprintf("connect-%d", x.connected), "forwardedProps": props}, until)
}

// run sends a request, with a message unless that is empty, and reads its run.
func (x *aguiPage) run(in map[string]any, text string) {
	x.t.Helper()
	if text != "" {
		content, err := json.Marshal(text)
		if err != nil {
			x.t.Fatal(err)
		}
		x.Messages = append(x.Messages, aguitest.Message{ID: fmt.Sprint("user-", in["runId"]), Role: "user", Content: content})
	}
	x.stream("/agui", in, nil)
}

// stream sends a request with the conversation so far and reads its events, until a condition holds.
func (x *aguiPage) stream(path string, in map[string]any, until func() bool) {
	x.t.Helper()
	in["threadId"], in["messages"] = x.thread, append([]aguitest.Message{}, x.Messages...)
	body, err := json.Marshal(in)
	if err != nil {
		x.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, x.url+path, bytes.NewReader(body))
	if err != nil {
		x.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		x.t.Fatalf("%s: status %d, want 200", path, res.StatusCode)
	}
	x.Begin()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := x.Apply([]byte(data)); err != nil {
			x.t.Fatalf("%v, at %s", err, data)
		}
		if until != nil && until() {
			return
		}
	}
	if err := x.End(); err != nil {
		x.t.Fatalf("%v, after %v", err, x.Types())
	}
}
