package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// hubOutput runs a command of the hub and returns its output.
func hubOutput(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hub", args...)
	cmd.Env = []string{"GORACE=" + noRaceNap}
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hub %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// ownerOf requests the owner of a session from a hub, and whether the session is working.
func ownerOf(t *testing.T, url string, session wire.SessionID) (owner string, working bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/api/admin/sessions/"+string(session), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var detail struct {
		Row struct{ Owner, Status string }
	}
	if err := json.NewDecoder(res.Body).Decode(&detail); err != nil {
		t.Fatal(err)
	}
	return detail.Row.Owner, !slices.Contains([]string{"idle", "dormant"}, detail.Row.Status)
}

// status returns the status of a GET request.
func status(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// Three hubs share one Redis. The owner of a session is drained during an agent's answer, through
// a hub that has no part in it: a client of the third one receives every word once and in order and
// one end of the turn, and the drained replica can be undrained.
func TestDrainUnderAStream(t *testing.T) {
	t.Parallel()
	redis := redistest.Standalone(t)
	demo := testProviders(t)[0]
	fileStore := t.TempDir()
	hubs := map[string]*server{}
	names := []string{"one", "two", "three"}
	for _, name := range names {
		hubs[name] = serveProcess(t, demo, "--store", redis.URL(), "--replica-id", name, "--files-dir", fileStore)
	}
	session := createSession(t, hubs["one"].url)
	const words = 400
	heard := make(chan wire.AgentResponse, 4096)
	watch := func(url string) *client.Client {
		t.Helper()
		c, err := client.New(client.Config{URL: url, Session: session, OnEvent: func(_ context.Context, e client.Event) {
			if r, ok := e.Data.(wire.AgentResponse); ok {
				heard <- r
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
		<-c.Ready()
		return c
	}
	// The owner has a tab too, which it disconnects.
	here := attachTo(t, hubs["one"], session, "--json")
	here.until(t, `"type":"session_state"`)
	c := watch(hubs["two"].url)
	if _, err := c.Send(t.Context(), wire.UserMessage{Content: fmt.Sprintf("/stream %d 100", words)}); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for n := range words {
		fmt.Fprintf(&text, " w%d", n+1)
	}
	want, said := text.String()[1:], ""
	// hear appends a piece. A gap or a repetition is an error.
	hear := func(r wire.AgentResponse) bool {
		t.Helper()
		if r.Delta != "" && r.Offset != len(said) {
			t.Errorf("offset of a part: got %d, want %d", r.Offset, len(said))
		}
		said += r.Delta
		return r.IsComplete
	}
	hear(<-heard)
	if owner, _ := ownerOf(t, hubs["two"].url, session); owner != "one" {
		t.Fatalf("owner of the session: got %q, want one", owner)
	}
	if got := hubOutput(t, "drain", "one", "--server", hubs["three"].url, "--wait", "2m", "--reason", "upgrade"); got != "one is drained.\n" {
		t.Errorf("hub drain: got %q, want one is drained", got)
	}
	here.until(t, `"type":"reconnect"`)
	if got := status(t, hubs["one"].url+"/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("/readyz of a drained hub: got %d, want %d", got, http.StatusServiceUnavailable)
	}
	if got := status(t, hubs["one"].url+"/healthz"); got != http.StatusOK {
		t.Errorf("/healthz of a drained hub: got %d, want %d", got, http.StatusOK)
	}
	// The drained hub also reports the new owner.
	if owner, working := ownerOf(t, hubs["one"].url, session); owner != "two" && owner != "three" || working {
		t.Errorf("after the drain: got the owner %q and working %v, want two or three, not working", owner, working)
	}
	deadline := time.After(waitTimeout)
	for over := false; !over; {
		select {
		case r := <-heard:
			if over = hear(r); over && r.Outcome != wire.OutcomeCompleted {
				t.Errorf("outcome of the turn: got %q, want %q", r.Outcome, wire.OutcomeCompleted)
			}
		case <-deadline:
			t.Fatalf("the turn did not end; so far: %s", said)
		}
	}
	if said != want {
		t.Errorf("the agent said %q, want %q", said, want)
	}
	list := hubOutput(t, "replicas", "--server", hubs["two"].url)
	if !strings.Contains(list, "one      drained") {
		t.Errorf("hub replicas: got\n%s\nwant one drained", list)
	}
	if got := hubOutput(t, "drain", "one", "--undo", "--server", hubs["two"].url, "--wait", "2m"); got != "one is serving.\n" {
		t.Errorf("hub drain --undo: got %q, want one is serving", got)
	}
	if got := status(t, hubs["one"].url+"/readyz"); got != http.StatusOK {
		t.Errorf("/readyz after the drain was undone: got %d, want %d", got, http.StatusOK)
	}
	if stats := c.Stats(); stats.Connections != 1 || stats.Duplicates != 0 {
		t.Errorf("tab at another hub: got %+v, want one connection and no duplicates", stats)
	}
	if len(heard) > 0 {
		t.Errorf("after the end of the turn: got %+v, want no more text", <-heard)
	}
}

// An agent is interrupted through a replica that does not own its session. A request with the same
// idempotency key, at either replica, returns the same answer and interrupts nothing.
func TestInterruptThroughAnother(t *testing.T) {
	t.Parallel()
	redis := redistest.Standalone(t)
	demo := testProviders(t)[0]
	one := serveProcess(t, demo, "--store", redis.URL(), "--replica-id", "one", "--files-dir", t.TempDir())
	two := serveProcess(t, demo, "--store", redis.URL(), "--replica-id", "two", "--files-dir", t.TempDir())
	session := createSession(t, one.url)
	x := attachTo(t, one, session, "--json")
	x.until(t, `"type":"session_state"`)
	hang := func(id string) {
		x.say(t, fmt.Sprintf(`{"type":"USER_MESSAGE","data":{"messageId":%q,"content":"/nosteer\n/say %s\n/hang"}}`, id, id))
		x.until(t, `"delta":"`+id+`"`)
	}
	interrupt := func(url, key string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/admin/sessions/"+string(session)+"/interrupt",
			strings.NewReader(`{"reason":"it burns money"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", key)
		res, err := (&http.Client{}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("interrupt: got %d %s, error %v, want %d", res.StatusCode, body, err, http.StatusOK)
		}
		return string(body)
	}
	hang("first")
	answer := interrupt(two.url, "key-1")
	x.until(t, `"isComplete":true.*"outcome":"interrupted"`)
	hang("second")
	for _, url := range []string{two.url, one.url} {
		if again := interrupt(url, "key-1"); again != answer {
			t.Errorf("repeated interrupt: got %s, want the same answer, %s", again, answer)
		}
	}
	if _, working := ownerOf(t, two.url, session); !working {
		t.Error("after the repeated interrupt: got an idle session, want the second turn at work")
	}
	interrupt(one.url, "key-2")
	x.until(t, `"isComplete":true.*"outcome":"interrupted"`)
}
