package anthropic_test

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
	"github.com/everdesk/everdesk/providers/anthropic"
	"github.com/everdesk/everdesk/providers/fakemodel"
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
func open(t *testing.T, cfg anthropic.Config, spec providers.Spec) *testSession {
	t.Helper()
	k := &testSession{t: t, fake: fakemodel.New(), ends: make(chan providers.Event, 10)}
	cfg.BaseURL, cfg.HTTP = "http://fake", k.fake.Pipe()
	p, err := anthropic.New(cfg)
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

// said returns the emitted text.
func (k *testSession) said() string {
	var b strings.Builder
	for _, e := range k.all(providers.EventText) {
		b.WriteString(e.Text)
	}
	return b.String()
}

// request returns the n-th request of the server, as plain JSON.
func (k *testSession) request(n int) map[string]any {
	k.t.Helper()
	all := k.fake.Requests()
	if n >= len(all) {
		k.t.Fatalf("there were %d requests, want more than %d", len(all), n)
	}
	var body map[string]any
	if err := json.Unmarshal(all[n].Body, &body); err != nil {
		k.t.Fatal(err)
	}
	return body
}

// plain decodes JSON.
func plain(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		picture := providers.Image{MediaType: "image/png", Data: []byte("png")}
		k := open(t, anthropic.Config{Key: "secret", MaxTokens: 4000, Thinking: 2000}, providers.Spec{
			System: "You are a desktop.",
			Tools: []providers.Tool{
				{Name: "first", Description: "It is first.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}, {Name: "last"},
			},
			From: providers.Thread{Entries: []providers.Entry{
				{Role: providers.RoleUser, Turn: "o", Blocks: []providers.Block{
					{Kind: providers.BlockImage, Image: &picture}, {Kind: providers.BlockText, Text: "What is this?"},
				}},
				{Role: providers.RoleAssistant, Turn: "o", Blocks: []providers.Block{
					{Kind: providers.BlockThinking, Text: "hm", Signature: "sig", From: "anthropic"},
					{Kind: providers.BlockThinking, Signature: "only signed", From: "anthropic"},
					{Kind: providers.BlockThinking, Text: "not signed", From: "anthropic"},
					{Kind: providers.BlockThinking, Text: "of another", Signature: "x", From: "openai"},
					{Kind: providers.BlockOpaque, Opaque: json.RawMessage(`{"type":"redacted_thinking","data":"sealed"}`), From: "anthropic"},
					{Kind: providers.BlockToolCall, Call: "c1", Tool: "first", Input: json.RawMessage(`{"a":1}`)},
					{Kind: providers.BlockToolCall, Call: "c2", Tool: "last"},
				}},
				{Role: providers.RoleUser, Turn: "o", Blocks: []providers.Block{
					{Kind: providers.BlockToolResult, Call: "c1", Text: "seen", Images: []providers.Image{picture}, IsError: true},
					{Kind: providers.BlockToolResult, Call: "c2", Text: " \n"},
				}},
			}},
		})
		if e := k.turn("/say yes"); e.Outcome != providers.Completed || k.said() != "yes" {
			t.Fatalf(`the turn ended %s with %q: %v, want %s with "yes"`, e.Outcome, k.said(), e.Err, providers.Completed)
		}
		want := plain(t, `{
			"model": "claude-sonnet-4-5", "max_tokens": 4000, "stream": true, "thinking": {"type": "enabled", "budget_tokens": 2000},
			"system": [{"type": "text", "text": "You are a desktop.", "cache_control": {"type": "ephemeral"}}],
			"tools": [
				{"name": "first", "description": "It is first.", "input_schema": {"type": "object", "properties": {}}},
				{"name": "last", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}
			],
			"messages": [
				{"role": "user", "content": [
					{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}},
					{"type": "text", "text": "What is this?"}
				]},
				{"role": "assistant", "content": [
					{"type": "thinking", "thinking": "hm", "signature": "sig"},
					{"type": "thinking", "thinking": "", "signature": "only signed"},
					{"type": "redacted_thinking", "data": "sealed"},
					{"type": "tool_use", "id": "c1", "name": "first", "input": {"a": 1}},
					{"type": "tool_use", "id": "c2", "name": "last", "input": {}}
				]},
				{"role": "user", "content": [
					{"type": "tool_result", "tool_use_id": "c1", "is_error": true, "content": [
						{"type": "text", "text": "seen"},
						{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}}
					]},
					{"type": "tool_result", "tool_use_id": "c2"},
					{"type": "text", "text": "/say yes", "cache_control": {"type": "ephemeral"}}
				]}
			]}`)
		if diff := cmp.Diff(want, any(k.request(0))); diff != "" {
			t.Errorf("the request differs (-want +got):\n%s", diff)
		}
		r := k.fake.Requests()[0]
		if r.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != "secret" || r.Header.Get("Anthropic-Version") != "2023-06-01" {
			t.Errorf("it went to %s with %v, want /v1/messages with the key and the version 2023-06-01", r.Path, r.Header)
		}
	})
}

// The reasoning effort is a budget of thinking, which is added to the tokens of the reply.
func TestEffort(t *testing.T) {
	t.Parallel()
	for effort, want := range map[string]string{
		"":        `{"max_tokens":6048,"thinking":{"type":"enabled","budget_tokens":2048}}`,
		"minimal": `{"max_tokens":4000}`,
		"low":     `{"max_tokens":6048,"thinking":{"type":"enabled","budget_tokens":2048}}`,
		"high":    `{"max_tokens":16288,"thinking":{"type":"enabled","budget_tokens":12288}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			k := open(t, anthropic.Config{MaxTokens: 4000}, providers.Spec{Effort: effort})
			k.turn("/say yes")
			got := k.request(0)
			for field := range got {
				if field != "max_tokens" && field != "thinking" {
					delete(got, field)
				}
			}
			if diff := cmp.Diff(plain(t, want), any(got)); diff != "" {
				t.Errorf("effort %q: the request differs (-want +got):\n%s", effort, diff)
			}
		})
	}
}

func TestThinkingComesBackBeforeItsCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, anthropic.Config{}, providers.Spec{Tools: []providers.Tool{{Name: "win"}}})
		if e := k.turn("/think let me see\n/say I open it.\n/call win {\"title\": \"창\"}\n/say done"); e.Outcome != providers.Completed {
			t.Fatalf("the turn ended %s: %v, want %s", e.Outcome, e.Err, providers.Completed)
		}
		messages := k.request(1)["messages"].([]any)
		content := messages[1].(map[string]any)["content"].([]any)
		call := content[2].(map[string]any)
		delete(call, "id")
		want := plain(t, `[
			{"type": "thinking", "thinking": "let me see", "signature": "signed by the fake"},
			{"type": "text", "text": "I open it."}, {"type": "tool_use", "name": "win", "input": {"title": "창"}}
		]`)
		if diff := cmp.Diff(want, any(content)); diff != "" {
			t.Errorf("the second request differs (-want +got):\n%s", diff)
		}
		if n := len(k.all(providers.EventThinking)); n != 3 {
			t.Errorf("thinking arrived in %d pieces, want 3", n)
		}
	})
}

// hello is a reply from the documentation of the API.
const hello = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5","stop_reason":null,"usage":{"input_tokens":1000,"cache_creation_input_tokens":2000,"cache_read_input_tokens":3000,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: something_new
data: {"type":"something_new","index":7}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"!"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

`

func TestUsageAndCost(t *testing.T) {
	t.Parallel()
	for model, usd := range map[string]float64{"claude-sonnet-4-5-20250929": 0.011625, "unknown-model": 0} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := open(t, anthropic.Config{}, providers.Spec{Model: model})
				k.fake.Next(fakemodel.Raw(hello))
				k.turn("hi")
				all := k.all(providers.EventUsage)
				if len(all) != 1 {
					t.Fatalf("usage is reported %d times, want once", len(all))
				}
				got := all[0].Usage
				if d := got.USD - usd; d > 1e-9 || d < -1e-9 {
					t.Errorf("it costs %v, want %v", got.USD, usd)
				}
				if unknown := usd == 0; got.Unpriced != unknown {
					t.Errorf("it is unpriced: %t, want %t", got.Unpriced, unknown)
				}
				got.USD, got.Unpriced = 0, false
				if want := (providers.Usage{Input: 1000, Output: 15, CacheRead: 3000, CacheWrite: 2000}); got != want || k.said() != "Hello!" {
					t.Errorf("usage of %q is %+v, want %+v", k.said(), got, want)
				}
			})
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prompt string
		next   []http.HandlerFunc // empty: the fake does as the prompt says
		want   providers.Class
		said   string
		tries  int
		after  time.Duration
	}{
		"half a stream":     {"/say so far\n/cut", nil, providers.Transport, "so far", 4, 0},
		"a clean early end": {"/say so far\n/end", nil, providers.Transport, "so far", 4, 0},
		"garbage":           {"/say so far\n/garbage", nil, providers.Transport, "so far", 4, 0},
		"a huge event":      {"/say so far\n/huge", nil, providers.Transport, "so far", 4, 0},
		"in the stream":     {"/say so far\n/fail overloaded", nil, providers.Overloaded, "so far", 4, 0},
		"refused":           {"/say so far\n/fail refused", nil, providers.Refused, "so far", 1, 0},
		"a lost block": {"hi", []http.HandlerFunc{
			fakemodel.Raw("data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{}}\n\n"), fakemodel.Raw("data: {}\n\n"), fakemodel.Raw("data: []\n\n"),
		}, providers.Transport, "", 3, 0},
		"401":                          {"/fail auth", nil, providers.Auth, "", 1, 0},
		"404":                          {"/fail 404", nil, providers.Invalid, "", 1, 0},
		"413":                          {"/fail 413", nil, providers.ContextLength, "", 1, 0},
		"529":                          {"/fail overloaded", nil, providers.Overloaded, "", 3, 0},
		"429 and come back in an hour": {"hi", []http.HandlerFunc{fakemodel.Status(429, "", "Retry-After: 3600")}, providers.Rate, "", 1, time.Hour},
		"resets":                       {"hi", []http.HandlerFunc{fakemodel.Reset(), fakemodel.Reset(), fakemodel.Reset()}, providers.Transport, "", 3, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := open(t, anthropic.Config{Key: "secret"}, providers.Spec{})
				k.fake.Next(tt.next...)
				e := k.turn(tt.prompt)
				f, _ := errors.AsType[*providers.Failure](e.Err)
				if e.Outcome != providers.Failed || f == nil || f.Class != tt.want || f.RetryAfter != tt.after {
					t.Errorf("the turn ended %s: %v, want %s", e.Outcome, e.Err, tt.want)
				}
				if got := len(k.fake.Requests()); k.said() != tt.said || got != tt.tries {
					t.Errorf("output is %q after %d attempts, want %q after %d", k.said(), got, tt.said, tt.tries)
				}
				// Published text stays in the conversation, which continues.
				if e := k.turn("/recall"); e.Outcome != providers.Completed || !strings.Contains(k.said(), tt.said) {
					t.Errorf("the next turn ended %s: %v, with the output %q, want %s and %q in it", e.Outcome, e.Err, k.said(), providers.Completed, tt.said)
				}
			})
		})
	}
}

// A reply that breaks off is continued: the user sees one text, and no call runs twice.
func TestBrokenReplyIsContinued(t *testing.T) {
	t.Parallel()
	half, _, _ := strings.Cut(hello, "event: content_block_stop")
	tests := map[string]struct {
		prompt string
		next   []http.HandlerFunc // empty: the fake does as the prompt says
		said   string
		calls  int
	}{
		"in the text":       {"/say one\n/cut\n/say two", nil, "onetwo", 0},
		"at an early end":   {"/say one\n/end\n/say two", nil, "onetwo", 0},
		"in an event":       {"/say two", []http.HandlerFunc{fakemodel.Raw(hello[:len(hello)-30])}, "Hello!two", 0},
		"in a block":        {"/say two", []http.HandlerFunc{fakemodel.Raw(half)}, "Hello!two", 0},
		"in a call":         {"/say one\n/cut win {\"a\":1}\n/call win {\"a\":1}\n/say two", nil, "onetwo", 1},
		"after a call":      {"/call win {}\n/say one\n/cut\n/say two", nil, "onetwo", 1},
		"in the 30th round": {strings.Repeat("/say one\n/call win {}\n", 30) + "/say half\n/cut\n/say end", nil, strings.Repeat("one", 30) + "halfend", 30},
		"again and again":   {"/say 1\n/cut\n/say 2\n/cut\n/say 3\n/cut\n/say 4", nil, "1234", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				k := open(t, anthropic.Config{Key: "secret"}, providers.Spec{
					Tools: []providers.Tool{{Name: "win"}},
					Call: func(context.Context, providers.ToolCall) providers.ToolResult {
						calls++
						return providers.ToolResult{Text: "fine"}
					},
				})
				k.fake.Next(tt.next...)
				e := k.turn(tt.prompt)
				if e.Outcome != providers.Completed || k.said() != tt.said || calls != tt.calls {
					t.Errorf("the turn ended %s (%v) with %q and %d calls, want %s with %q and %d", e.Outcome, e.Err, k.said(), calls, providers.Completed, tt.said, tt.calls)
				}
				if len(k.all(providers.EventRetry)) == 0 {
					t.Error("no retry is reported, want one for each break")
				}
			})
		})
	}
}

func TestTransientFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		k := open(t, anthropic.Config{}, providers.Spec{})
		k.fake.Next(fakemodel.Status(429, "", "Retry-After: 20"), fakemodel.Reset())
		if e := k.turn("/say at last"); e.Outcome != providers.Completed || k.said() != "at last" {
			t.Errorf(`the turn ended %s with %q: %v, want %s with "at last"`, e.Outcome, k.said(), e.Err, providers.Completed)
		}
		if took := time.Since(start); took < 20*time.Second || took > 22*time.Second || len(k.all(providers.EventRetry)) != 2 {
			t.Errorf("it took %v and %d retries, want 20s to 22s and 2", took, len(k.all(providers.EventRetry)))
		}
	})
}

func TestSlowTokensComeAsTheyAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		k := open(t, anthropic.Config{}, providers.Spec{})
		if err := k.Send(t.Context(), providers.Message{ID: "m", Mode: providers.Start, Text: "/stream 100 1"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10500 * time.Millisecond)
		if got := k.said(); got != "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 " {
			t.Errorf("output after ten seconds is %q, want w0 to w10", got)
		}
		if err := k.Interrupt(t.Context()); err != nil || time.Since(start) != 10500*time.Millisecond {
			t.Errorf("it was interrupted after %v: %v, want 10.5s and no error", time.Since(start), err)
		}
	})
}

func TestTooLongReplies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, anthropic.Config{}, providers.Spec{Tools: []providers.Tool{{Name: "win"}}, Call: func(context.Context, providers.ToolCall) providers.ToolResult {
			t.Error("half a call is made, want none")
			return providers.ToolResult{}
		}})
		cut := strings.Replace(hello, `"end_turn"`, `"max_tokens"`, 1)
		cut = strings.Replace(cut, "event: message_delta\n", `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c","name":"win","input":{}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}

data: {"type":"content_block_stop","index":1}

event: message_delta
`, 1)
		k.fake.Next(fakemodel.Raw(cut))
		if e := k.turn("hi"); e.Outcome != providers.Completed || len(k.fake.Requests()) != 2 {
			t.Errorf("the turn ended %s after %d requests: %v, want %s after 2", e.Outcome, len(k.fake.Requests()), e.Err, providers.Completed)
		}
	})
}

func TestWrongConfiguration(t *testing.T) {
	t.Parallel()
	for _, cfg := range []anthropic.Config{{BaseURL: "nowhere"}, {Key: "sk\nnew line"}, {MaxTokens: -1}, {MaxTokens: 100, Thinking: 100}} {
		if _, err := anthropic.New(cfg); err == nil || strings.Contains(err.Error(), "sk") {
			t.Errorf("config %+v gives error %v, want one without the key", cfg, err)
		}
	}
}

// Inputs of tools and signatures arrive in many pieces, which count like text.
func TestHiddenPartsAreBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 1<<20)
	for _, delta := range []string{`"partial_json":"` + big + `"`, `"signature":"` + big + `"`} {
		synctest.Test(t, func(t *testing.T) {
			stream := `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}` + "\n\n" +
				strings.Repeat(`data: {"type":"content_block_delta","index":0,"delta":{`+delta+"}}\n\n", 3) +
				`data: {"type":"content_block_stop","index":0}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
			k := open(t, anthropic.Config{}, providers.Spec{})
			k.fake.Next(fakemodel.Raw(stream))
			f, _ := errors.AsType[*providers.Failure](k.turn("go").Err)
			if f == nil || f.Class != providers.Invalid {
				t.Errorf("the turn ended with %v, want class %s", f, providers.Invalid)
			}
		})
	}
}

func TestSignaturesInPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stream := `data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"a"}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"b"}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c"}}` + "\n\n" +
			`data: {"type":"content_block_stop","index":0}` + "\n\n" +
			strings.ReplaceAll(hello, `"index":0`, `"index":1`)
		k := open(t, anthropic.Config{}, providers.Spec{})
		k.fake.Next(fakemodel.Raw(stream))
		k.turn("go")
		all := k.all(providers.EventEntries)
		if got := all[len(all)-1].Entries[0].Blocks[0]; got.Kind != providers.BlockThinking || got.Signature != "abc" {
			t.Errorf("the stored block is %+v, want %s with the signature abc", got, providers.BlockThinking)
		}
	})
}
