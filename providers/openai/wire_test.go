package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/providers/fakemodel"
	"github.com/everdesk/everdesk/providers/openai"
)

// testSession is a session with a fake server.
type testSession struct {
	providers.Session
	t    *testing.T
	fake *fakemodel.Server

	mu    sync.Mutex
	heard []providers.Event
	ends  chan providers.Event
}

// open opens a session, in a synctest bubble.
func open(t *testing.T, cfg openai.Config, spec providers.Spec) *testSession {
	t.Helper()
	k := &testSession{t: t, fake: fakemodel.New(), ends: make(chan providers.Event, 10)}
	cfg.BaseURL, cfg.HTTP = "http://fake/v1/", k.fake.Pipe()
	p, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	spec.OnEvent = func(e providers.Event) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.heard = append(k.heard, e)
		if e.Kind == providers.EventTurnEnd {
			k.ends <- e
		}
	}
	if k.Session, err = p.Open(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close()
		cfg.HTTP.CloseIdleConnections()
		k.fake.Close()
	})
	return k
}

// turn runs a turn and returns its end.
func (k *testSession) turn(text string) providers.Event {
	k.t.Helper()
	if err := k.Send(k.t.Context(), providers.Message{ID: "m", Mode: providers.Start, Text: text}); err != nil {
		k.t.Fatal(err)
	}
	return <-k.ends
}

// all returns the events of a kind.
func (k *testSession) all(kind providers.EventKind) (out []providers.Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range k.heard {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	return out
}

// texts returns the joined pieces of a kind.
func (k *testSession) texts(kind providers.EventKind) string {
	var b strings.Builder
	for _, e := range k.all(kind) {
		b.WriteString(e.Text)
	}
	return b.String()
}

func (k *testSession) said() string { return k.texts(providers.EventText) }

// request returns the n-th request of the server, as plain JSON.
func (k *testSession) request(n int) any {
	k.t.Helper()
	all := k.fake.Requests()
	if n >= len(all) {
		k.t.Fatalf("there were %d requests, want more than %d", len(all), n)
	}
	return plain(k.t, string(all[n].Body))
}

// plain decodes JSON.
func plain(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// past is a conversation with all kinds of blocks.
func past() providers.Spec {
	picture := providers.Image{MediaType: "image/png", Data: []byte("png")}
	return providers.Spec{
		System: "You are a desktop.",
		Tools:  []providers.Tool{{Name: "win", Description: "A window.", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "bare"}},
		From: providers.Thread{Entries: []providers.Entry{
			{Role: providers.RoleUser, Turn: "o", Blocks: []providers.Block{
				{Kind: providers.BlockImage, Image: &picture}, {Kind: providers.BlockText, Text: "What is this?"},
			}},
			{Role: providers.RoleAssistant, Turn: "o", Blocks: []providers.Block{
				{Kind: providers.BlockThinking, Text: "hm", Signature: "x", From: "anthropic"},
				{Kind: providers.BlockOpaque, Opaque: json.RawMessage(`{"type":"reasoning","encrypted_content":"sealed"}`), From: "openai"},
				{Kind: providers.BlockText, Text: "I look."},
				{Kind: providers.BlockText, Text: "Closely."},
				{Kind: providers.BlockToolCall, Call: "c1", Tool: "win", Input: json.RawMessage(`{"a":1}`)},
				{Kind: providers.BlockToolCall, Call: "c2", Tool: "win", Input: json.RawMessage(`{}`)},
			}},
			{Role: providers.RoleUser, Turn: "o", Blocks: []providers.Block{
				{Kind: providers.BlockToolResult, Call: "c1", Text: "seen", Images: []providers.Image{picture}},
				{Kind: providers.BlockToolResult, Call: "c2", Text: "not there", IsError: true},
			}},
		}},
	}
}

func TestChatRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, openai.Config{Key: "secret", Model: "qwen3", MaxTokens: 4000}, past())
		if e := k.turn("/say yes"); e.Outcome != providers.Completed || k.said() != "yes" {
			t.Fatalf(`the turn ended %s with %q: %v, want %s with "yes"`, e.Outcome, k.said(), e.Err, providers.Completed)
		}
		want := plain(t, `{
			"model": "qwen3", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 4000,
			"messages": [
				{"role": "system", "content": "You are a desktop."},
				{"role": "user", "content": [
					{"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}, {"type": "text", "text": "What is this?"}
				]},
				{"role": "assistant", "content": "I look.\n\nClosely.", "tool_calls": [
					{"id": "c1", "type": "function", "function": {"name": "win", "arguments": "{\"a\":1}"}},
					{"id": "c2", "type": "function", "function": {"name": "win", "arguments": "{}"}}
				]},
				{"role": "tool", "tool_call_id": "c1", "content": "seen"},
				{"role": "tool", "tool_call_id": "c2", "content": "Error: not there"},
				{"role": "user", "content": [
					{"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}, {"type": "text", "text": "/say yes"}
				]}
			],
			"tools": [
				{"type": "function", "function": {"name": "win", "description": "A window.", "parameters": {"type": "object"}}},
				{"type": "function", "function": {"name": "bare", "parameters": {"type": "object", "properties": {}}}}
			]}`)
		if diff := cmp.Diff(want, k.request(0)); diff != "" {
			t.Errorf("the request differs (-want +got):\n%s", diff)
		}
		r := k.fake.Requests()[0]
		if r.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("it went to %s with %v, want /v1/chat/completions with the key", r.Path, r.Header)
		}
	})
}

func TestResponsesRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, openai.Config{Dialect: openai.Responses, MaxTokens: 4000}, past())
		if e := k.turn("/say yes"); e.Outcome != providers.Completed || k.said() != "yes" {
			t.Fatalf(`the turn ended %s with %q: %v, want %s with "yes"`, e.Outcome, k.said(), e.Err, providers.Completed)
		}
		want := plain(t, `{
			"model": "gpt-5", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
			"reasoning": {"summary": "auto"}, "instructions": "You are a desktop.", "max_output_tokens": 4000,
			"input": [
				{"type": "message", "role": "user", "content": [
					{"type": "input_image", "image_url": "data:image/png;base64,cG5n"}, {"type": "input_text", "text": "What is this?"}
				]},
				{"type": "reasoning", "encrypted_content": "sealed"},
				{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
				{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Closely."}]},
				{"type": "function_call", "call_id": "c1", "name": "win", "arguments": "{\"a\":1}"},
				{"type": "function_call", "call_id": "c2", "name": "win", "arguments": "{}"},
				{"type": "function_call_output", "call_id": "c1", "output": [
					{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": "data:image/png;base64,cG5n"}
				]},
				{"type": "function_call_output", "call_id": "c2", "output": "Error: not there"},
				{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "/say yes"}]}
			],
			"tools": [
				{"type": "function", "name": "win", "description": "A window.", "parameters": {"type": "object"}, "strict": false},
				{"type": "function", "name": "bare", "parameters": {"type": "object", "properties": {}}, "strict": false}
			]}`)
		if diff := cmp.Diff(want, k.request(0)); diff != "" {
			t.Errorf("the request differs (-want +got):\n%s", diff)
		}
		if r := k.fake.Requests()[0]; r.Path != "/v1/responses" || r.Header.Get("Authorization") != "" {
			t.Errorf("it went to %s with %v, want /v1/responses without a key", r.Path, r.Header)
		}
	})
}

func TestReasoningComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, openai.Config{Dialect: openai.Responses}, providers.Spec{Tools: []providers.Tool{{Name: "win"}}})
		k.turn("/think let me see\n/call win {\"title\": \"창\"}\n/say done")
		if got := k.texts(providers.EventThinking); got != "let me see" {
			t.Errorf(`it thought %q, want "let me see"`, got)
		}
		input := k.request(1).(map[string]any)["input"].([]any)
		first, second := input[1].(map[string]any), input[2].(map[string]any)
		if first["type"] != "reasoning" || first["encrypted_content"] != "sealed by the fake" || second["type"] != "function_call" {
			t.Errorf("the second request is %v, want the sealed reasoning, then the call", input)
		}
		// Only this backend receives it.
		if kept := k.all(providers.EventEntries)[1].Entries[0].Blocks[0]; kept.From != "openai" || kept.Kind != providers.BlockOpaque {
			t.Errorf("stored as %+v, want %s of openai", kept, providers.BlockOpaque)
		}
	})
}

// Servers of the Chat Completions API differ; these variants are tolerated.
func TestInvalidServerRepliesAreAccepted(t *testing.T) {
	t.Parallel()
	chunk := func(delta, finish string) string {
		return `data: {"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
	}
	call := func(rest string) string { return chunk(`{"tool_calls":[`+rest+`]}`, "null") }
	const done = "data: [DONE]\n\n"
	stop := chunk(`{}`, `"tool_calls"`)
	tests := map[string]struct {
		stream string
		want   []string // calls
		said   string
	}{
		"fragments": {
			call(`{"index":0,"id":"a","function":{"name":"one","arguments":""}}`) + call(`{"index":0,"function":{"arguments":"{\"x\":"}}`) +
				call(`{"index":1,"id":"b","function":{"name":"two","arguments":"{}"}}`) + call(`{"index":0,"function":{"arguments":"1}"}}`) + stop + done,
			[]string{`one {"x":1}`, `two {}`},
			"",
		},
		"no ids":               {call(`{"index":0,"function":{"name":"one","arguments":"{}"}}`) + call(`{"index":1,"function":{"name":"two","arguments":"{}"}}`) + stop + done, []string{"one {}", "two {}"}, ""},
		"no numbers":           {call(`{"id":"a","function":{"name":"one","arguments":"{\"x\":"}}`) + call(`{"function":{"arguments":"1}"}}`) + call(`{"id":"b","function":{"name":"two","arguments":"{}"}}`) + stop + done, []string{`one {"x":1}`, "two {}"}, ""},
		"all are number 0":     {call(`{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}`) + call(`{"index":0,"id":"b","function":{"name":"two","arguments":"{}"}}`) + stop + done, []string{"one {}", "two {}"}, ""},
		"arguments are JSON":   {call(`{"index":0,"id":"a","function":{"name":"one","arguments":{"x":1}}}`) + stop + done, []string{`one {"x":1}`}, ""},
		"arguments are null":   {call(`{"index":0,"id":"a","function":{"name":"one","arguments":null}}`) + stop + done, []string{"one {}"}, ""},
		"calls in one event":   {call(`{"id":"a","function":{"name":"one","arguments":"{}"}},{"id":"b","function":{"name":"two","arguments":"{}"}}`) + stop + done, []string{"one {}", "two {}"}, ""},
		"no DONE":              {chunk(`{"content":"hello"}`, "null") + chunk(`{"content":null}`, `"stop"`), nil, "hello"},
		"no finish reason":     {chunk(`{"content":"hello"}`, "null") + done, nil, "hello"},
		"no empty line":        {chunk(`{"content":"hello"}`, `"stop"`) + "data: [DONE]\n", nil, "hello"},
		"a call with no name":  {call(`{"index":0,"id":"a","function":{"arguments":"{}"}}`) + chunk(`{"content":"hello"}`, `"stop"`) + done, nil, "hello"},
		"calls that end at ''": {chunk(`{"content":"hello"}`, `""`) + chunk(`null`, `"stop"`) + done, nil, "hello"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var made []string
				k := open(t, openai.Config{}, providers.Spec{
					Tools: []providers.Tool{{Name: "one"}, {Name: "two"}},
					Call: func(_ context.Context, c providers.ToolCall) providers.ToolResult {
						made = append(made, c.Name+" "+string(c.Input))
						return providers.ToolResult{Text: "ok"}
					},
				})
				k.fake.Next(fakemodel.Raw(tt.stream))
				if e := k.turn("hi"); e.Outcome != providers.Completed {
					t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
				}
				if diff := cmp.Diff(tt.want, made); diff != "" || !strings.HasPrefix(k.said(), tt.said) {
					t.Errorf("output is %q, calls (-want +got):\n%s", k.said(), diff)
				}
			})
		})
	}
}

func TestThinkingOfChatServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, openai.Config{}, providers.Spec{})
		k.fake.Next(fakemodel.Raw(`data: {"choices":[{"delta":{"reasoning_content":"let me "}}]}

data: {"choices":[{"delta":{"reasoning":"see"}}]}

data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}

data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":600}}}

data: [DONE]

`))
		k.turn("hi")
		if got := k.texts(providers.EventThinking) + "|" + k.said(); got != "let me see|hello" {
			t.Errorf(`received %q, want "let me see|hello"`, got)
		}
		u := k.all(providers.EventUsage)
		if len(u) != 1 || u[0].Usage.Input != 400 || u[0].Usage.CacheRead != 600 || u[0].Usage.Output != 20 || u[0].Usage.USD <= 0 {
			t.Errorf("the usage is %+v, want 400 input, 600 cached and 20 output tokens, once, with a cost", u)
		}
	})
}

func TestFailures(t *testing.T) {
	t.Parallel()
	type test struct {
		prompt string
		next   []http.HandlerFunc // empty: the fake does as the prompt says
		want   providers.Class
		said   string
		tries  int
	}
	both := map[string]test{
		"half a stream":     {"/say so far\n/cut", nil, providers.Transport, "so far", 4},
		"a clean early end": {"/say so far\n/end", nil, providers.Transport, "so far", 4},
		"garbage":           {"/say so far\n/garbage", nil, providers.Transport, "so far", 4},
		"a huge event":      {"/say so far\n/huge", nil, providers.Transport, "so far", 4},
		"in the stream":     {"/say so far\n/fail rate", nil, providers.Rate, "so far", 4},
		"refused":           {"/say so far\n/fail refused", nil, providers.Refused, "so far", 1},
		"401":               {"/fail auth", nil, providers.Auth, "", 1},
		"529":               {"/fail overloaded", nil, providers.Overloaded, "", 3},
		"429":               {"hi", []http.HandlerFunc{fakemodel.Status(429, "", "Retry-After: 60")}, providers.Rate, "", 1},
		"resets":            {"hi", []http.HandlerFunc{fakemodel.Reset(), fakemodel.Reset(), fakemodel.Reset()}, providers.Transport, "", 3},
	}
	raw := func(data string) []http.HandlerFunc {
		return []http.HandlerFunc{fakemodel.Raw("data: " + data + "\n\n")}
	}
	only := map[openai.Dialect]map[string]test{
		openai.Chat: {
			"an error that is a string": {"hi", raw(`{"error":"the model's context window is full"}`), providers.ContextLength, "", 1},
			"a refusal in words":        {"hi", raw("{\"choices\":[{\"delta\":{\"refusal\":\"I will not.\"}}]}\n\ndata: [DONE]"), providers.Refused, "", 1},
		},
		openai.Responses: {
			"an error event":     {"hi", raw(`{"type":"error","code":"context_length_exceeded","message":"too long"}`), providers.ContextLength, "", 1},
			"a nested error":     {"hi", raw(`{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`), providers.Invalid, "", 1},
			"failed":             {"hi", raw(`{"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}`), providers.Invalid, "", 1},
			"a refusal in words": {"hi", raw("{\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"I will not.\"}]}}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}"), providers.Refused, "", 1},
			"an item of nothing": {"hi", slicesOf(raw(`{"type":"response.output_item.done","item":7}`), 3), providers.Transport, "", 3},
			"DONE is no end":     {"hi", slicesOf(raw(`[DONE]`), 3), providers.Transport, "", 3},
		},
	}
	for _, dialect := range []openai.Dialect{openai.Chat, openai.Responses} {
		for _, tests := range []map[string]test{both, only[dialect]} {
			for name, tt := range tests {
				t.Run(string(dialect)+"/"+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						k := open(t, openai.Config{Dialect: dialect}, providers.Spec{})
						k.fake.Next(tt.next...)
						e := k.turn(tt.prompt)
						f, _ := errors.AsType[*providers.Failure](e.Err)
						if e.Outcome != providers.Failed || f == nil || f.Class != tt.want {
							t.Errorf("the turn ended %s: %v, want %s", e.Outcome, e.Err, tt.want)
						}
						if got := len(k.fake.Requests()); k.said() != tt.said || got != tt.tries {
							t.Errorf("output is %q after %d attempts, want %q after %d", k.said(), got, tt.said, tt.tries)
						}
						if e := k.turn("/recall"); e.Outcome != providers.Completed || !strings.Contains(k.said(), tt.said) {
							t.Errorf("the next turn ended %s: %v, with the output %q, want %s and %q in it", e.Outcome, e.Err, k.said(), providers.Completed, tt.said)
						}
					})
				})
			}
		}
	}
}

// A reply that breaks off is continued: the user sees one text, and no call runs twice.
func TestBrokenReplyIsContinued(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prompt, said string
		calls        int
	}{
		"in the text":       {"/say one\n/cut\n/say two", "onetwo", 0},
		"at an early end":   {"/say one\n/end\n/say two", "onetwo", 0},
		"in a call":         {"/say one\n/cut win {\"a\":1}\n/call win {\"a\":1}\n/say two", "onetwo", 1},
		"after a call":      {"/call win {}\n/say one\n/cut\n/say two", "onetwo", 1},
		"in the 30th round": {strings.Repeat("/say one\n/call win {}\n", 30) + "/say half\n/cut\n/say end", strings.Repeat("one", 30) + "halfend", 30},
	}
	for _, dialect := range []openai.Dialect{openai.Chat, openai.Responses} {
		for name, tt := range tests {
			t.Run(string(dialect)+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					calls := 0
					k := open(t, openai.Config{Dialect: dialect}, providers.Spec{
						Tools: []providers.Tool{{Name: "win"}},
						Call: func(context.Context, providers.ToolCall) providers.ToolResult {
							calls++
							return providers.ToolResult{Text: "fine"}
						},
					})
					e := k.turn(tt.prompt)
					if e.Outcome != providers.Completed || k.said() != tt.said || calls != tt.calls {
						t.Errorf("the turn ended %s (%v) with %q and %d calls, want %s with %q and %d", e.Outcome, e.Err, k.said(), calls, providers.Completed, tt.said, tt.calls)
					}
					if n := len(k.all(providers.EventRetry)); n != 1 {
						t.Errorf("%d retries are reported, want 1", n)
					}
				})
			})
		}
	}
}

// slicesOf repeats a list.
func slicesOf(one []http.HandlerFunc, n int) (all []http.HandlerFunc) {
	for range n {
		all = append(all, one...)
	}
	return all
}

func TestTooLongReplies(t *testing.T) {
	t.Parallel()
	for _, dialect := range []openai.Dialect{openai.Chat, openai.Responses} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := open(t, openai.Config{Dialect: dialect}, providers.Spec{})
				if e := k.turn("/say so far\n/length"); e.Outcome != providers.Completed {
					t.Errorf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
				}
				if got := k.said(); !strings.HasPrefix(got, "so farYou said: Your reply was cut") {
					t.Errorf("output is %q, want both parts, joined by the request to go on", got)
				}
			})
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := fakemodel.New()
		fake.Models, fake.Key = []string{"qwen3:8b", "llama3.2"}, "secret"
		cfg := openai.Config{BaseURL: "http://fake/v1", Key: "secret", HTTP: fake.Pipe()}
		defer fake.Close()
		defer cfg.HTTP.CloseIdleConnections()
		names, err := openai.Models(t.Context(), cfg)
		if diff := cmp.Diff(fake.Models, names); diff != "" || err != nil {
			t.Errorf("got %q, %v, want %q", names, err, fake.Models)
		}
		cfg.Key = "wrong"
		if _, err := openai.Models(t.Context(), cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("got error %v, want one without the key", err)
		}
	})
}

func TestModelsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The server accepts connections and sends nothing.
		cfg := openai.Config{HTTP: &http.Client{Transport: silent{}}}
		start := time.Now()
		if _, err := openai.Models(t.Context(), cfg); err == nil {
			t.Error("a silent server has models, want an error")
		}
		if took := time.Since(start); took != 15*time.Second {
			t.Errorf("it took %v, want 15s", took)
		}
	})
}

// silent never responds.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	for _, cfg := range []openai.Config{{BaseURL: "nowhere"}, {Key: "sk\nnew line"}, {Dialect: "esperanto"}} {
		if _, err := openai.New(cfg); err == nil || strings.Contains(err.Error(), "sk") {
			t.Errorf("%+v: got error %v, want one without the key", cfg, err)
		}
	}
}
