package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everdesk/everdesk/client"
	"github.com/everdesk/everdesk/skills"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

// withToken adds a bearer token to requests.
type withToken struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.next.RoundTrip(r)
}

// toolRig is a hub with every group of tools, a session in it with a tab that agrees to everything, and an MCP client.
type toolRig struct {
	t       *testing.T
	url     string
	token   string // of the client
	session wire.SessionID
	mcp     *mcp.ClientSession
	ada     visitor
	known   map[string]string // what results had, by the name in braces
}

func newToolRig(t *testing.T) *toolRig {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<title>Site</title><input name="q"><button>Press me</button><p>%s %s</p>`, r.Method, r.URL.Path)
	}))
	t.Cleanup(site.Close)
	h := startHub(t, "--store", "file:"+t.TempDir(), "--web-hosts", "127.0.0.1", "--browser-sandbox", "off", "--env-vars", "PATH",
		"--mcp-servers", mcpFile(t), "--rate-limits", "off", "--titles", "off")
	_, token, _ := strings.Cut(h.invitation, "token=")
	r := &toolRig{t: t, url: h.url, ada: visitor{t, h.url, http.Header{"Authorization": {"Bearer " + token}}}, known: map[string]string{"site": site.URL}}
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	r.ada.do(http.MethodPost, "/api/sessions", `{}`, http.StatusCreated, &made)
	r.session = made.SessionID
	approvingTab(t, client.Config{URL: h.url, Session: made.SessionID, Token: token})
	var issued struct{ Token string }
	r.ada.do(http.MethodPost, "/api/sessions/"+string(made.SessionID)+"/mcp-tokens", `{"name":"test","profile":"all"}`, http.StatusCreated, &issued)
	r.token = issued.Token
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	var err error
	r.mcp, err = c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: h.url + "/mcp", HTTPClient: &http.Client{Transport: withToken{issued.Token, transport}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.mcp.Close() })
	return r
}

// approvingTab connects a tab that approves every question and answers the requests to apps.
func approvingTab(t *testing.T, cfg client.Config) {
	t.Helper()
	answers := make(chan wire.ClientPayload, 1000)
	cfg.OnEvent = func(_ context.Context, e client.Event) {
		switch d := e.Data.(type) {
		case wire.Actions:
			for _, action := range d.Actions {
				switch a := action.(type) {
				case wire.PromptShow:
					r := wire.UserPromptResponse{PromptID: a.ID, Text: "an answer"}
					if len(a.Options) > 0 {
						r.SelectedValues, r.Text = []string{a.Options[0].Value}, ""
					}
					answers <- r
				case wire.WindowCreate:
					if a.RequestID != "" {
						answers <- wire.RenderingFeedback{RequestID: a.RequestID, WindowID: a.WindowID, Renderer: "iframe", Success: true, MonitorID: d.MonitorID}
						answers <- wire.AppProtocolReady{WindowID: a.WindowID, MonitorID: d.MonitorID}
					}
				}
			}
		case wire.ApprovalRequest:
			answers <- wire.DialogFeedback{DialogID: d.DialogID, Confirmed: true}
		case wire.AppProtocolRequest:
			var r wire.AppResponse = wire.AppQueryResponse{Data: json.RawMessage(`"state of the app"`)}
			if _, ok := d.Request.(wire.AppCommandRequest); ok {
				r = wire.AppCommandResponse{Result: json.RawMessage(`"done by the app"`)}
			}
			answers <- wire.AppProtocolResponse{RequestID: d.RequestID, WindowID: d.WindowID, Response: r, MonitorID: d.MonitorID}
		}
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, 2)
	go func() {
		_ = c.Run(ctx) // until the test ends
		done <- struct{}{}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		for {
			select {
			case a := <-answers:
				_, _ = c.Submit(ctx, a) // a refused answer leaves its question open, which the test sees
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	<-c.Ready()
}

// fill replaces the names in braces.
func (r *toolRig) fill(input string) string {
	for name, value := range r.known {
		input = strings.ReplaceAll(input, "{"+name+"}", value)
	}
	return input
}

// call calls a tool and returns the text of its result and whether it is an error.
func (r *toolRig) call(tool string, input json.RawMessage) (text string, isError bool) {
	r.t.Helper()
	res, err := r.mcp.CallTool(r.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: input})
	if err != nil {
		r.t.Fatalf("%s %.200s: got error %v, want a result", tool, input, err)
	}
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String(), res.IsError
}

// good calls a tool with good input.
func (r *toolRig) good(tt toolCase) {
	r.t.Helper()
	text, isError := r.call(tt.tool, json.RawMessage(r.fill(tt.input)))
	if isError || !strings.Contains(text, tt.want) {
		r.t.Errorf("%s %s: got %.500q (error %v), want %q", tt.tool, tt.input, text, isError, tt.want)
	}
	if tt.keep == "" {
		return
	}
	found := regexp.MustCompile(tt.keep).FindStringSubmatch(text)
	if found == nil {
		r.t.Fatalf("%s: got %q, want %s in it", tt.tool, text, tt.keep)
	}
	r.known[tt.as] = found[1]
}

// bad calls a tool with bad input. The error must be one that the caller can use.
func (r *toolRig) bad(tt badToolCase) {
	r.t.Helper()
	text, isError := r.call(tt.tool, json.RawMessage(r.fill(tt.input)))
	if !isError || !strings.Contains(text, tt.want) || len(text) < 10 || len(text) > 5000 {
		r.t.Errorf("%s %.200s: got %.500q (error %v), want a short error with %q", tt.tool, tt.input, text, isError, tt.want)
	}
	for _, inner := range []string{"panic", "goroutine", "/tmp/", "internal error", "runtime error"} {
		if strings.Contains(text, inner) {
			r.t.Errorf("%s %.200s: got %.500q, which shows the inside: %s", tt.tool, tt.input, text, inner)
		}
	}
}

// catalogue returns the names of all tools that a hub can have, without those of MCP servers.
func catalogue() (names []string) {
	all := tools.New(tools.Config{
		Web: struct{ tools.Web }{}, Scripts: struct{ tools.Scripts }{}, Browser: tools.Browser{Pages: struct{ tools.Pages }{}},
		Env: tools.Env{Names: []string{"X"}}, Apps: &tools.Apps{}, Skills: []skills.Skill{},
	})
	for _, t := range all.AllTools(tools.Caller{}) {
		names = append(names, t.Name)
	}
	return names
}

// Every tool of the catalogue is called over /mcp with good and with bad input. A bad call gives a clear error result, and
// the connection works on.
func TestEveryToolOverMCP(t *testing.T) {
	t.Parallel()
	r := newToolRig(t)
	good := map[string]string{}
	for _, tt := range goodToolCases() {
		r.good(tt)
		good[tt.tool] = r.fill(tt.input)
	}
	r.ada.do(http.MethodPatch, "/api/domains", `{"remove":["127.0.0.1"]}`, http.StatusOK, nil)
	bad := map[string]int{}
	for _, tt := range badToolCases() {
		r.bad(tt)
		bad[tt.tool]++
	}
	list, err := r.mcp.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		listed[tool.Name] = tool
	}
	apart := []string{"plan_progress", "plan_input"} // only for agents with a todo
	for _, name := range catalogue() {
		if slices.Contains(apart, name) {
			if listed[name] != nil {
				t.Errorf("%s is listed, want it for agents with a todo only", name)
			}
			continue
		}
		if _, ok := good[name]; !ok && name != "system_reload_cached" { // which has nothing to repeat for a program
			t.Errorf("%s has no case with good input; add one to goodToolCases", name)
		}
		if listed[name] == nil {
			t.Errorf("%s is not listed over /mcp", name)
			continue
		}
		bad[name] += r.misfits(listed[name], good[name])
		if bad[name] == 0 {
			t.Errorf("%s has no case with bad input; add one to badToolCases", name)
		}
	}
	if listed["mcp__test__echo"] == nil {
		t.Errorf("the tools are %v, want those of the MCP server too", slices.Sorted(maps.Keys(listed)))
	}
	if text, isError := r.call("window_list", json.RawMessage(`{}`)); isError || !strings.Contains(text, `"note"`) {
		t.Errorf("after all: got %q (error %v), want the windows", text, isError)
	}
}

// misfits calls a tool with inputs that do not fit its schema: each required field is left out, each field has another
// type, there is a field too many, and each text is too large. It returns how many there were.
func (r *toolRig) misfits(tool *mcp.Tool, good string) (n int) {
	r.t.Helper()
	data, err := json.Marshal(tool.InputSchema)
	if err != nil {
		r.t.Fatal(err)
	}
	var schema struct {
		Required   []string
		Properties map[string]struct{ Type any }
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		r.t.Fatal(err)
	}
	with := func(field string, value any) string {
		in := map[string]any{}
		if good != "" {
			if err := json.Unmarshal([]byte(good), &in); err != nil {
				r.t.Fatal(err)
			}
		}
		if in[field] = value; value == nil {
			delete(in, field)
		}
		out, err := json.Marshal(in)
		if err != nil {
			r.t.Fatal(err)
		}
		return string(out)
	}
	try := func(input, want string) {
		r.t.Helper()
		r.bad(badToolCase{tool.Name, input, want})
		n++
	}
	for _, field := range schema.Required {
		try(with(field, nil), field)
	}
	large := ""
	for field, p := range schema.Properties {
		types := fmt.Sprint(p.Type)
		if p.Type == nil {
			continue // it takes everything
		}
		if types != "number" {
			try(with(field, 1.5e300), field)
		}
		if !strings.Contains(types, "array") {
			try(with(field, []any{[]any{true}}), field)
		}
		if types == "string" {
			large = field
		}
	}
	if large != "" && strings.Contains(tool.Name, "write") { // all tools share the check, which takes long for so much text
		try(with(large, strings.Repeat("x", 4<<20+1)), "at most")
	}
	if good != "" {
		try(with("unknown_field", 1), "unknown_field")
	}
	return n
}

// Requests that are no calls of a tool, or too large, are refused by the protocol, and the next one is answered.
func TestBadRequestsOverMCP(t *testing.T) {
	t.Parallel()
	r := newToolRig(t)
	post := func(body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(answer)
	}
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for name, tt := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"no JSON":         {`{"jsonrpc":`, http.StatusBadRequest, ""},
		"no request":      {`[]`, http.StatusBadRequest, ""},
		"unknown method":  {`{"jsonrpc":"2.0","id":1,"method":"tools/burn"}`, http.StatusBadRequest, "unsupported"},
		"unknown tool":    {call(`{"name":"no_tool","arguments":{}}`), http.StatusOK, "no_tool"},
		"tool of a plan":  {call(`{"name":"plan_progress","arguments":{"percentage":1}}`), http.StatusOK, "plan_progress"},
		"no name":         {call(`{"arguments":{}}`), http.StatusOK, `"error"`},
		"list as input":   {call(`{"name":"window_close","arguments":[1]}`), http.StatusOK, "rror"},
		"text as input":   {call(`{"name":"window_close","arguments":"x"}`), http.StatusOK, "rror"},
		"deep input":      {call(`{"name":"window_create","arguments":{"content":` + strings.Repeat(`{"a":`, 500) + `1` + strings.Repeat(`}`, 500) + `}}`), http.StatusOK, "rror"},
		"two equal names": {call(`{"name":"window_close","arguments":{"windowId":"a","windowId":"b"}}`), http.StatusOK, "rror"},
		"too large":       {call(`{"name":"storage_write","arguments":{"path":"a","content":"` + strings.Repeat("x", 7<<20) + `"}}`), http.StatusRequestEntityTooLarge, ""},
	} {
		status, answer := post(tt.body)
		if status != tt.status || !strings.Contains(answer, tt.want) {
			t.Errorf("%s: got %d %.500s, want %d with %q", name, status, answer, tt.status, tt.want)
		}
	}
	if text, isError := r.call("window_list", json.RawMessage(`{}`)); isError {
		t.Errorf("after all: got %q, want the windows", text)
	}
}
