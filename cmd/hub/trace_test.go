package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/wire"
)

// post sends a message over REST and returns the status.
func post(t *testing.T, url string, session wire.SessionID, id, text string, header http.Header) int {
	t.Helper()
	body := fmt.Sprintf(`{"messageId":%q,"content":%q}`, id, text)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/sessions/"+string(session)+"/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res.StatusCode
}

// A message has one trace, from the gateway through the model and its tools to the tabs, which
// contains no content.
func TestTraceOfAMessage(t *testing.T) {
	t.Parallel()
	c := startCollector(t)
	model := testProviders(t)[1]
	model.env = append(slices.Clone(model.env), "OTEL_EXPORTER_OTLP_HEADERS=api-key=s%20cret", "HUB_OTLP_ENDPOINT="+c.url)
	s := serveProcess(t, model, "--replica-id", "alpha", "--trace-genai")
	session := createSession(t, s.url)
	x := attachTo(t, s, session, "--json")
	x.until(t, `"type":"session_state"`)
	const secret = "xyzzy-said"
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	if got := post(t, s.url, session, "m1", model.window("w", "T", secret), header); got != http.StatusAccepted {
		t.Fatalf("answer to the message: got %d, want %d", got, http.StatusAccepted)
	}
	x.until(t, `"type":"AGENT_RESPONSE".*"isComplete":true`)
	spans := c.about(t, "m1", func(all []seenSpan) bool {
		return has(all, "accept", "everdesk.answer", "accepted") && has(all, "deliver", "everdesk.outcome", "completed") &&
			has(all, "invoke_agent main", "everdesk.outcome", "completed") && has(all, "append", "everdesk.answer", "ended")
	})
	root := oneTrace(t, spans)
	if root.name != "accept" || len(root.links) != 1 || root.links[0] != "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331" {
		t.Errorf("root: got %s with links %v, want accept with a link to the given parent", root.name, root.links)
	}
	var run seenSpan
	for _, s := range spans {
		if s.name == "invoke_agent main" {
			run = s
		}
	}
	under := func(parent string) (names []string) {
		for _, s := range spans {
			if s.parent == parent {
				names = append(names, s.name)
			}
		}
		slices.Sort(names)
		return names
	}
	if got, want := under(root.id), []string{"append", "append", "deliver", "invoke_agent main", "queue"}; !slices.Equal(got, want) {
		t.Errorf("under the root are %v, want %v", got, want)
	}
	if got, want := under(run.id), []string{"chat m", "chat m", "execute_tool window_create"}; !slices.Equal(got, want) {
		t.Errorf("under the run are %v, want %v", got, want)
	}
	for _, s := range spans {
		for name, want := range map[string]any{"everdesk.session_id": string(session), "everdesk.replica": "alpha"} {
			if s.attributes[name] != want {
				t.Errorf("%s of %s is %v, want %v", name, s.name, s.attributes[name], want)
			}
		}
	}
	chat := spans[slices.IndexFunc(spans, func(s seenSpan) bool { return s.name == "chat m" })]
	for name, want := range map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic", "gen_ai.request.model": "m", "everdesk.attempt": int64(1)} {
		if chat.attributes[name] != want {
			t.Errorf("%s of the chat is %v, want %v", name, chat.attributes[name], want)
		}
	}
	if n, _ := run.attributes["gen_ai.usage.output_tokens"].(int64); n == 0 {
		t.Errorf("tokens of the run: got none in %v, want some", run.attributes)
	}
	if root.resource["service.name"] != "everdesk" || root.resource["service.instance.id"] != "alpha" || root.resource["service.version"] == "" {
		t.Errorf("resource: got %v, want everdesk, alpha and a version", root.resource)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.header.Get("Api-Key") != "s cret" {
		t.Errorf("header Api-Key: got %q, want %q", c.header.Get("Api-Key"), "s cret")
	}
	for _, raw := range c.raw {
		if bytes.Contains(raw, []byte(secret)) {
			t.Error("trace: got the text of the message, want none")
		}
	}
}

// The owner of a session is killed during a turn: the spans of the next owner for the message are
// in the same trace.
func TestTraceGoesOnAfterATakeOver(t *testing.T) {
	t.Parallel()
	redis := redistest.Standalone(t)
	c := startCollector(t)
	fileStore := t.TempDir()
	hubs := map[string]*server{}
	for _, name := range []string{"one", "two", "three"} {
		hubs[name] = serveProcess(t, testProviders(t)[0], "--store", redis.URL(), "--replica-id", name, "--files-dir", fileStore,
			"--lease", "2s", "--otlp-endpoint", c.url)
	}
	session := createSession(t, hubs["one"].url)
	first := attachTo(t, hubs["one"], session, "--json")
	first.until(t, `"type":"session_state"`)
	x := attachTo(t, hubs["two"], session, "--json")
	x.until(t, `"type":"session_state"`)
	x.say(t, `{"type":"USER_MESSAGE","data":{"messageId":"m1","content":"/nosteer\n/say begun\n/hang"}}`)
	x.until(t, `"delta":"begun"`)
	owner, _ := ownerOf(t, hubs["two"].url, session)
	if owner != "one" {
		t.Fatalf("the owner is %q, want the one who opened the session first", owner)
	}
	before := c.about(t, "m1", func(all []seenSpan) bool {
		return has(all, "queue", "everdesk.replica", "one") && has(all, "accept", "everdesk.replica", "two")
	})
	hubs["one"].kill()
	x.until(t, `"type":"OWNER_CHANGED"`, `"delta":"begun"`)
	x.say(t, ":stop")
	x.until(t, `"type":"AGENT_RESPONSE".*"isComplete":true`)
	// On a busy machine "one" may have lost its lease and begun a second attempt itself.
	after := c.about(t, "m1", func(all []seenSpan) bool {
		return slices.ContainsFunc(all, func(s seenSpan) bool { return s.name == "invoke_agent main" && s.by() != "one" }) &&
			has(all, "append", "everdesk.answer", "ended") && has(all, "deliver", "everdesk.replica", "two")
	})
	if !has(after, "invoke_agent main", "everdesk.operation.name", "invoke_agent") {
		t.Error("the run has no everdesk.operation.name, want the names of the hub without --trace-genai")
	}
	if root := oneTrace(t, after); root.name != "accept" || root.by() != "two" {
		t.Errorf("root: got %s of %v, want accept of two", root.name, root.by())
	}
	for _, s := range after {
		if s.trace != before[0].trace {
			t.Errorf("trace of %s: got %s, want %s as before the takeover", s.name, s.trace, before[0].trace)
		}
		for name := range s.attributes {
			if strings.HasPrefix(name, "gen_ai.") {
				t.Errorf("%s has the attribute %s, want none of the conventions without --trace-genai", s.name, name)
			}
		}
		if s.name == "invoke_agent main" && s.attributes["everdesk.attempt"] == int64(1) && s.by() != "one" {
			t.Errorf("first attempt: got it by %v, want it by one", s.by())
		}
	}
}

// Without an endpoint no connection is opened, even if other variables of OpenTelemetry are set.
func TestTraceOff(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			conn.Close()
		}
	})
	url := "http://" + ln.Addr().String()
	demo := testProviders(t)[0]
	demo.env = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=" + url + "/v1/traces", "OTEL_TRACES_EXPORTER=otlp"}
	s := serveProcess(t, demo)
	session := createSession(t, s.url)
	x := attachTo(t, s, session, "--json")
	x.until(t, `"type":"session_state"`)
	post(t, s.url, session, "m1", "/say hello", nil)
	x.until(t, `"type":"AGENT_RESPONSE".*"isComplete":true`)
	if code := s.stop(t); code != command.ExitOK {
		t.Errorf("exit code: got %d, want %d", code, command.ExitOK)
	}
	ln.Close()
	wg.Wait()
	if n := calls.Load(); n > 0 {
		t.Errorf("connections to the collector: got %d, want 0", n)
	}
}

// A failing collector does not affect messages, and is logged at most once.
func TestTraceToABrokenCollector(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*http.Request) int{
		"refuses": func(*http.Request) int { return http.StatusInternalServerError },
		"hangs": func(r *http.Request) int {
			<-r.Context().Done()
			return http.StatusOK
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 1000)
			broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // without this the context does not end with the request
				asked <- struct{}{}
				w.WriteHeader(answer(r))
			}))
			t.Cleanup(broken.Close)
			var log record
			h := startHubLogging(t, &log, "--auth", "none", "--store", "file:"+t.TempDir(), "--otlp-endpoint", broken.URL)
			session := createSession(t, h.url)
			x := attachTo(t, &server{url: h.url}, session, "--json")
			x.until(t, `"type":"session_state"`)
			for n := range 3 { // each is sent in another request
				id := fmt.Sprintf("m%d", n)
				if got := post(t, h.url, session, id, "/say hello", nil); got != http.StatusAccepted {
					t.Errorf("answer to the message: got %d, want %d", got, http.StatusAccepted)
				}
				x.until(t, `"type":"AGENT_RESPONSE".*"isComplete":true`)
				if n == 0 || name == "refuses" {
					<-asked
				}
			}
			if code := h.stop(); code != command.ExitOK {
				t.Errorf("exit code: got %d, want %d", code, command.ExitOK)
			}
			if n := strings.Count(log.String(), "sending traces failed"); n > 1 || n == 0 && name == "refuses" {
				t.Errorf("log lines about failed traces: got %d, want at most one, and one if the collector refuses:\n%s", n, log.String())
			}
		})
	}
}

// record is a writer that keeps the log.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}
