package main

import (
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// superviseProcess starts a supervised hub on a free port, which it keeps after a crash.
func superviseProcess(t *testing.T, m testProvider, args ...string) *server {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, m, append(args, "--apps-addr", "off"))
	s.command = "supervise"
	s.start(t, addr)
	return s
}

// crash requests the crash of the tour, and returns the status and the wait of a refusal.
func crash(t *testing.T, url string) (int, time.Duration) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/demo/crash", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var refusal struct {
		RetryAfterMS int `json:"retry_after_ms"`
	}
	_ = json.NewDecoder(answer.Body).Decode(&refusal) // a 204 has no body
	return answer.StatusCode, time.Duration(refusal.RetryAfterMS) * time.Millisecond
}

// longAnswer follows the text of one answer, as a tab does.
type longAnswer struct {
	texts []string // after each event
	text  string
	ended bool
}

// read applies a line of the terminal.
func (a *longAnswer) read(t *testing.T, line string) {
	t.Helper()
	var e struct {
		Type string             `json:"type"`
		Data wire.AgentResponse `json:"data"`
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type != "AGENT_RESPONSE" {
		return
	}
	if e.Data.IsComplete {
		a.ended = true
		return
	}
	if e.Data.Offset > len(a.text) {
		t.Fatalf("a delta begins at %d, but the text has %d characters", e.Data.Offset, len(a.text))
	}
	a.text = a.text[:e.Data.Offset] + e.Data.Delta
	a.texts = append(a.texts, a.text)
}

// words returns the announced and the received number of words.
func (a *longAnswer) words() (announced, got int) {
	head, rest, _ := strings.Cut(a.text, "\n")
	announced, _ = strconv.Atoi(regexp.MustCompile(`\d+`).FindString(head))
	return announced, len(strings.Fields(rest))
}

// A supervised hub that kills itself while an answer streams is back at the same address. The answer
// goes on, no word is lost or comes twice, and Ctrl-C ends both processes.
func TestAKilledHubIsStartedAgainAndLosesNoWord(t *testing.T) {
	t.Parallel()
	s := superviseProcess(t, testProviders(t)[0])
	session := createSession(t, s.url)
	x := attachTo(t, s, session, "--json")
	x.until(t, `"type":"session_state"`)
	status, wait := crash(t, s.url)
	if status != http.StatusTooManyRequests || wait <= 0 {
		t.Fatalf("a hub that has just started answers %d with a wait of %v, want %d and when it can be killed", status, wait, http.StatusTooManyRequests)
	}
	<-time.After(wait + 10*time.Millisecond)
	x.say(t, `{"type":"USER_MESSAGE","data":{"messageId":"m-1","content":"Write a long answer while I pull the plug"}}`)
	var a longAnswer
	for _, got := a.words(); got < 30; _, got = a.words() {
		a.read(t, x.nextLine(t, "thirty words"))
	}
	if status, _ = crash(t, s.url); status != http.StatusNoContent {
		t.Fatalf("the crash is answered with %d, want %d", status, http.StatusNoContent)
	}
	changed := false
	for !a.ended {
		line := x.nextLine(t, "the end of the answer")
		changed = changed || containsType(line, "OWNER_CHANGED")
		a.read(t, line)
	}
	if !changed {
		t.Error("the answer ended without another owner of the session, want a crash in the middle")
	}
	if announced, got := a.words(); announced < 50 || got != announced {
		t.Errorf("got %d words, want the announced %d", got, announced)
	}
	for _, text := range a.texts {
		if !strings.HasPrefix(a.text, text) {
			t.Fatalf("at some time the text was\n%s\nwant a beginning of\n%s", text, a.text)
		}
	}
	if code := s.stop(t); code != 0 {
		t.Errorf("after SIGINT the supervisor exits with %d, want 0", code)
	}
	var d net.Dialer
	if c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		_ = c.Close()
		t.Error("the hub still listens after its supervisor has ended")
	}
}

// A hub that is not supervised refuses to kill itself, and says why.
func TestAHubWithoutSupervisorIsNotKilled(t *testing.T) {
	t.Parallel()
	s := serveHere(t, testProviders(t)[0])
	if status, _ := crash(t, s.url); status != http.StatusConflict {
		t.Errorf("got %d, want %d", status, http.StatusConflict)
	}
	createSession(t, s.url) // it still answers
}
