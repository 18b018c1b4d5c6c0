package fakemodel_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers/fakemodel"
)

// listen starts a server and returns a function that posts to it.
func listen(t *testing.T) (*fakemodel.Server, func(path, body string) (int, string)) {
	t.Helper()
	s := fakemodel.New()
	url, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		s.Close()
	})
	return s, func(path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", "secret")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
}

// chat returns a request with these messages, given as JSON.
func chat(messages ...string) string {
	return `{"stream":true,"messages":[` + strings.Join(messages, ",") + `]}`
}

func user(text string) string {
	raw, _ := json.Marshal(map[string]string{"role": "user", "content": text})
	return string(raw)
}

// said returns the text of a Chat Completions stream.
func said(stream string) string {
	var b strings.Builder
	for _, m := range regexp.MustCompile(`"content":("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(stream, -1) {
		var text string
		_ = json.Unmarshal([]byte(m[1]), &text)
		b.WriteString(text)
	}
	return b.String()
}

func TestDirectives(t *testing.T) {
	t.Parallel()
	const called = `{"role":"assistant","tool_calls":[{"id":"a"}]},{"role":"tool","tool_call_id":"a","content":"it is open"}`
	tests := map[string]struct {
		messages []string
		said     string
		has      string
	}{
		"plain words":              {[]string{user("hello")}, "You said: hello", `"finish_reason":"stop"`},
		"what was said before":     {[]string{user("<recent_conversation>\n/say old\n</recent_conversation>\n/say new")}, "new", ""},
		"the newest message":       {[]string{user("/say old"), `{"role":"assistant","content":"old"}`, user("/say new")}, "new", "[DONE]"},
		"quoted":                   {[]string{user(`/say "two\nlines"`)}, "two\nlines", ""},
		"lines among others":       {[]string{user("<context>\n/say one \n  /say two\n</context>")}, "onetwo", ""},
		"a stream":                 {[]string{user("/stream 3 1000")}, "w0 w1 w2 ", ""},
		"calls end a reply":        {[]string{user("/say a\n/call win {}\n/call win {}\n/say b")}, "a", `"finish_reason":"tool_calls"`},
		"and then it goes on":      {[]string{user("/say a\n/call win {}\n/results\n/call win {}\n/say b"), called}, "it is open", `"finish_reason":"tool_calls"`},
		"results in plain words":   {[]string{user("hello"), called}, "it is open", ""},
		"nothing is left":          {[]string{user("/call win {}"), called}, "", `"finish_reason":"stop"`},
		"all it can read":          {[]string{user("first"), called, user("/recall")}, "first\nit is open\n/recall", ""},
		"escaped input":            {[]string{user("/call win {&#34;a&#34;:1}")}, "", `{\"a`},
		"unknown directive":        {[]string{user("/dance")}, "There is no directive /dance.", ""},
		"an error in the stream":   {[]string{user("/say a\n/fail overloaded too much")}, "a", `"message":"too much"`},
		"an end before the end":    {[]string{user("/say a\n/end")}, "a", ""},
		"a summary":                {[]string{user("/say old"), `{"role":"assistant","content":"old"}`, user("The conversation above is about to be replaced by a summary that you write now.\n/say x")}, "All of it in short: 2 messages.", ""},
		"thinking is not speaking": {[]string{user("/think hm")}, "", `"reasoning_content":"hm"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, post := listen(t)
			status, stream := post("/v1/chat/completions", chat(tt.messages...))
			if got := said(stream); status != http.StatusOK || got != tt.said || !strings.Contains(stream, tt.has) {
				t.Errorf("got %d, %q, want %q and %s in\n%s", status, got, tt.said, tt.has, stream)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const path = "/v1/messages"
	tests := map[string]struct {
		path, body string
		want       int
		text       string
	}{
		"no JSON":             {path, "hello", 400, "invalid_request_error"},
		"no messages":         {path, `{"max_tokens":1,"stream":true}`, 400, "no messages"},
		"no bound":            {path, `{"stream":true,"messages":[{"role":"user","content":"x"}]}`, 400, "max_tokens"},
		"two of the user":     {path, `{"max_tokens":1,"stream":true,"messages":[{"role":"user","content":"x"},{"role":"user","content":"y"}]}`, 400, "alternate"},
		"an empty text":       {path, `{"max_tokens":1,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, 400, "non-empty"},
		"a call left open":    {path, `{"max_tokens":1,"stream":true,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a"}]},{"role":"user","content":"y"}]}`, 400, "tool_use"},
		"a result of nothing": {path, `{"max_tokens":1,"stream":true,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, 400, "tool_use_id"},
		"as told":             {path, `{"max_tokens":1,"stream":true,"messages":[{"role":"user","content":"/fail overloaded"}]}`, 529, "overloaded_error"},
		"by number":           {path, `{"max_tokens":1,"stream":true,"messages":[{"role":"user","content":"/fail 418 short"}]}`, 418, "short"},
		"nowhere":             {"/v1/nowhere", "{}", 404, ""},
		"stored":              {"/v1/responses", `{"stream":true,"input":[]}`, 400, "not stored"},
		"an open chat call":   {"/v1/chat/completions", chat(user("x"), `{"role":"assistant","tool_calls":[{"id":"a"}]}`, user("y")), 400, "no result"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, post := listen(t)
			if status, body := post(tt.path, tt.body); status != tt.want || !strings.Contains(body, tt.text) {
				t.Errorf("got %d, %s, want %d with %q", status, body, tt.want, tt.text)
			}
		})
	}
}

func TestKeysAndScripts(t *testing.T) {
	t.Parallel()
	s, post := listen(t)
	s.Key = "another"
	if status, _ := post("/v1/chat/completions", chat(user("hi"))); status != http.StatusUnauthorized {
		t.Errorf("a wrong key is answered %d, want %d", status, http.StatusUnauthorized)
	}
	s.Next(fakemodel.Status(503, "busy", "Retry-After: 2"), fakemodel.Raw("data: x\n\n"))
	if status, body := post("/v1/chat/completions", "{}"); status != 503 || body != "busy" {
		t.Errorf(`got %d, %q, want 503, "busy"`, status, body)
	}
	if status, body := post("/v1/chat/completions", "{}"); status != 200 || body != "data: x\n\n" {
		t.Errorf("got %d, %q, want 200 and the raw stream", status, body)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests are recorded, want 3", n)
	}
}

func TestCloseEndsHangingRequests(t *testing.T) {
	t.Parallel()
	s := fakemodel.New()
	url, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(chat(user("/hang"))))
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s.Close()
	s.Close() // closing again does nothing
	_, _ = io.ReadAll(res.Body)
	if _, err := s.Listen(t.Context(), "nowhere:-1"); err == nil {
		t.Error("it listens at an invalid address, want an error")
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	s, post := listen(t)
	s.Window = 100
	if status, _ := post("/v1/chat/completions", chat(user("short"))); status != http.StatusOK {
		t.Errorf("a short request is answered with %d, want %d", status, http.StatusOK)
	}
	status, text := post("/v1/chat/completions", chat(user(strings.Repeat("long ", 100))))
	if status != http.StatusBadRequest || !strings.Contains(text, "prompt is too long") {
		t.Errorf(`a long request is answered with %d: %s, want %d with "prompt is too long"`, status, text, http.StatusBadRequest)
	}
}
