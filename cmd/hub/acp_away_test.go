package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// line forwards connections to a hub. While it is cut, it has none, and new ones wait.
type line struct {
	t    *testing.T
	to   string
	addr string

	mu    sync.Mutex // guards the following
	whole chan struct{}
	conns []net.Conn
}

// newLine returns a line to the hub with a URL.
func newLine(t *testing.T, url string) *line {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{t: t, to: strings.TrimPrefix(url, "http://"), addr: "http://" + ln.Addr().String(), whole: make(chan struct{})}
	close(l.whole)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		ln.Close()
		l.cut()
		work.Wait()
	})
	work.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			work.Go(func() { l.pass(ctx, c) })
		}
	})
	return l
}

// cut ends all connections.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.whole = make(chan struct{})
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

// repair lets the connections that wait through.
func (l *line) repair() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.whole)
}

func (l *line) pass(ctx context.Context, down net.Conn) {
	defer down.Close()
	l.mu.Lock()
	whole := l.whole
	l.mu.Unlock()
	select {
	case <-whole:
	case <-ctx.Done():
		return
	}
	up, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.to)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.conns = append(l.conns, down, up)
	l.mu.Unlock()
	var work sync.WaitGroup
	both := func() { down.Close(); up.Close() }
	defer context.AfterFunc(ctx, both)()
	work.Go(func() { _, _ = io.Copy(down, up); both() })
	work.Go(func() { _, _ = io.Copy(up, down); both() })
	work.Wait()
}

// An editor is away for so long that the hub has more than it replays, and more rows than a state has. It gets the
// rest of its turn, the turns of others with their messages and calls, and the ends of its prompts.
func TestEditorThatWasAwayForLongMissesNothing(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off", "--max-agents", "1")
	_, token, _ := strings.Cut(h.invitation, "token=")
	l := newLine(t, h.url)
	e := startEditor(t, hubRun{url: l.addr, invitation: h.invitation}, nil)
	id := e.open()
	x := openTab(t, h.url, token, id)
	answered := e.begin(id, "/nosteer\n/say Before.\n/call shell {\"command\":\"git push\"}\n/say After.")
	ask := next(x, "the agent asks", func(wire.ApprovalRequest) bool { return true })
	second := e.begin(id, "/say Second.")
	next(x, "the second prompt waits", func(wire.MessageQueued) bool { return true })
	e.await("the editor has the beginning", func() bool { return strings.HasPrefix(e.texts("agent_message_chunk"), "Before.") })
	l.cut()

	if _, err := x.Send(t.Context(), wire.DialogFeedback{DialogID: ask.DialogID, MonitorID: ask.MonitorID, Confirmed: true}); err != nil {
		t.Fatal(err)
	}
	ends := func(r wire.AgentResponse) bool { return r.IsComplete }
	next(x, "the first turn has ended", ends)
	next(x, "the second turn has ended", ends)
	const turns, calls = 5, 50
	var want strings.Builder
	want.WriteString("Before.\nThe user allowed it.\nAfter.Second.")
	for i := range turns {
		x.say(strings.Repeat("/toast x\n", calls) + fmt.Sprintf("/say Turn %d.", i))
		next(x, "a turn has ended", ends)
		fmt.Fprintf(&want, "Turn %d.", i)
	}
	for i := range 30 { // more than the 1 MiB that the hub replays
		if _, err := x.Send(t.Context(), wire.Emit{Actions: []wire.Action{wire.WindowCreate{
			WindowID: wire.WindowID(fmt.Sprint("w", i)), Title: "Large", Bounds: wire.Bounds{W: 100, H: 100}, Content: wire.TextContent{Data: strings.Repeat("x", 50<<10)},
		}}}); err != nil {
			t.Fatal(err)
		}
	}
	l.repair()
	if why := answered(); why != "end_turn" {
		t.Errorf("the first prompt stopped with %q, want end_turn", why)
	}
	if why := second(); why != "end_turn" {
		t.Errorf("the second prompt stopped with %q, want end_turn", why)
	}
	x.say("/say Back.")
	e.await("the editor has the newest answer", func() bool { return strings.HasSuffix(e.texts("agent_message_chunk"), "Back.") })
	if got := e.texts("agent_message_chunk"); got != want.String()+"Back." {
		t.Errorf("text %q, want %q", got, want.String()+"Back.")
	}
	if got := strings.Count(e.texts("user_message_chunk"), "/say Turn "); got != turns {
		t.Errorf("%d messages of the tab, want %d", got, turns)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	ended := 0
	for _, u := range e.updates {
		if u.Kind == "tool_call" && u.Title == "window:show_toast" && u.Status == "completed" {
			ended++
		}
	}
	if ended != turns*calls {
		t.Errorf("%d calls, want %d", ended, turns*calls)
	}
}

// The session of an editor is deleted in the middle of a prompt. The prompt fails, and later ones do at once.
func TestEditorLearnsThatItsSessionIsGone(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	_, token, _ := strings.Cut(h.invitation, "token=")
	e := startEditor(t, h, nil)
	id := e.open()
	failed := make(chan error, 1)
	go func() { _, err := e.prompt(id, "/say Before.\n/hang"); failed <- err }()
	e.await("the prompt is answered", func() bool { return e.texts("agent_message_chunk") != "" })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, h.url+"/api/sessions/"+string(id), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if err := <-failed; err == nil {
		t.Errorf("after status %d for the deletion the prompt succeeds, want an error", res.StatusCode)
	}
	if _, err := e.prompt(id, "/say More."); err == nil {
		t.Error("a prompt of a deleted session succeeds, want an error")
	}
}

// The hub refuses an answer that is none of the choices. The editor is asked again.
func TestARefusedAnswerOfAnEditorIsAskedAgain(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--store", "file:"+t.TempDir(), "--rate-limits", "off")
	answers := make(chan string, 2)
	answers <- "green"
	answers <- "blue"
	e := startEditor(t, h, func([]string) string { return <-answers })
	if why, err := e.prompt(e.open(), "/ask Which one? | red | blue\n/say Over."); why != "end_turn" || err != nil {
		t.Errorf("stopped with %q and %v, want end_turn", why, err)
	}
	if got := e.texts("agent_message_chunk"); !strings.Contains(got, "blue") || !strings.HasSuffix(got, "Over.") {
		t.Errorf("text %q, want the second answer", got)
	}
	if got := e.texts("agent_thought_chunk"); !strings.Contains(got, "The answer was refused: ") {
		t.Errorf("thoughts %q, want that the answer was refused", got)
	}
}
