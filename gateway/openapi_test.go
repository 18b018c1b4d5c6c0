package gateway_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/everdesk/everdesk/wire"
)

// Every reference resolves, every operation has a description, and operation ids are unique.
func TestAPIDescriptionIsWhole(t *testing.T) {
	t.Parallel()
	d := describe(t, newTestHub(t))
	if d.OpenAPI != "3.1.0" || d.Info.Title == "" || d.Info.Description == "" {
		t.Errorf("description: got %s %+v, want 3.1.0 with title and text", d.OpenAPI, d.Info)
	}
	var parts struct {
		Components map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(d.raw, &parts); err != nil {
		t.Fatal(err)
	}
	refs := regexp.MustCompile(`"\$ref":\s*"([^"]*)"`).FindAllSubmatch(d.raw, -1)
	if len(refs) < 100 {
		t.Errorf("references: got %d, want at least 100", len(refs))
	}
	for _, ref := range refs {
		rest, ok := strings.CutPrefix(string(ref[1]), "#/components/")
		kind, name, _ := strings.Cut(rest, "/")
		if !ok || parts.Components[kind][name] == nil {
			t.Errorf("reference %s: got no target, want a component", ref[1])
		}
	}
	ids := map[string]bool{}
	for path, methods := range d.Paths {
		for method, op := range methods {
			if op.Summary == "" || len(op.Tags) != 1 || len(op.Responses) < 2 || op.Responses["default"].Description != "" || ids[op.OperationID] {
				t.Errorf("%s %s: got %+v, want a summary, one tag, responses and a unique id", method, path, op)
			}
			ids[op.OperationID] = true
			if strings.Count(path, "{") != countIn(op, "path") {
				t.Errorf("%s %s: got parameters %+v, want those of the path", method, path, op.Parameters)
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("%s %s: got no description of parameter %s, want one", method, path, p.Name)
				}
			}
			for status, answer := range op.Responses {
				if status != "default" && answer.Description == "" {
					t.Errorf("%s %s: got no description of status %s, want one", method, path, status)
				}
			}
		}
	}
	// Our own schema names must not hide those of package wire.
	var published struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(wire.Schema()), &published); err != nil {
		t.Fatal(err)
	}
	ours := 0
	for name := range parts.Components["schemas"] {
		if published.Defs[name] == nil {
			ours++
		}
	}
	if ours < 20 {
		t.Errorf("schemas of our own: got %d, want at least 20", ours)
	}
}

func countIn(op operation, where string) int {
	n := 0
	for _, p := range op.Parameters {
		if p.In == where {
			n++
		}
	}
	return n
}

// checker validates responses against the API description.
type checker struct {
	d    document
	defs map[string]json.RawMessage
	seen map[string]bool
	// resolved caches schemas by their text: resolving one is slow.
	resolved map[string]*jsonschema.Resolved
}

func newChecker(t *testing.T, d document) *checker {
	t.Helper()
	var parts struct {
		Components struct {
			Schemas map[string]json.RawMessage
		}
	}
	text := bytes.ReplaceAll(d.raw, []byte("#/components/schemas/"), []byte("#/$defs/"))
	if err := json.Unmarshal(text, &parts); err != nil {
		t.Fatal(err)
	}
	return &checker{d: d, defs: parts.Components.Schemas, seen: map[string]bool{}, resolved: map[string]*jsonschema.Resolved{}}
}

// resolve prepares a schema of the API description for validation.
func (c *checker) resolve(t *testing.T, schema json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	if known := c.resolved[string(schema)]; known != nil {
		return known
	}
	var root jsonschema.Schema
	text := bytes.ReplaceAll(schema, []byte("#/components/schemas/"), []byte("#/$defs/"))
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	root.Defs = map[string]*jsonschema.Schema{}
	c.addDefinitions(t, root.Defs, text)
	resolved, err := root.Resolve(nil)
	if err != nil {
		t.Fatalf("schema %s: %v", schema, err)
	}
	c.resolved[string(schema)] = resolved
	return resolved
}

var inDefs = regexp.MustCompile(`"#/\$defs/([A-Za-z0-9]+)"`)

// addDefinitions adds the definitions that a text refers to; resolving with all of them would be
// slow.
func (c *checker) addDefinitions(t *testing.T, defs map[string]*jsonschema.Schema, text []byte) {
	t.Helper()
	for _, m := range inDefs.FindAllSubmatch(text, -1) {
		name := string(m[1])
		if defs[name] != nil {
			continue
		}
		defs[name] = &jsonschema.Schema{}
		if err := json.Unmarshal(c.defs[name], defs[name]); err != nil {
			t.Fatalf("schema %s: %v", name, err)
		}
		c.addDefinitions(t, defs, c.defs[name])
	}
}

// valid checks a JSON text against a schema of the API description.
func (c *checker) valid(t *testing.T, what string, schema json.RawMessage, text []byte) {
	t.Helper()
	resolved := c.resolve(t, schema)
	var instance any
	if err := json.Unmarshal(text, &instance); err != nil {
		t.Fatalf("%s: got %s, error %v, want JSON", what, text, err)
	}
	if err := resolved.Validate(instance); err != nil {
		t.Errorf("%s: got %.500s, error %v, want it as described", what, text, err)
	}
}

// answer checks a response, and the body of its request.
func (c *checker) answer(t *testing.T, method, path, sent string, got reply) {
	t.Helper()
	op, ok := c.d.Paths[path][strings.ToLower(method)]
	if !ok {
		t.Fatalf("%s %s is not described", method, path)
	}
	c.seen[method+" "+path] = true
	if sent != "" && op.RequestBody != nil {
		if body, ok := op.RequestBody.Content["application/json"]; ok {
			c.valid(t, method+" "+path+" request", body.Schema, []byte(sent))
		}
	}
	media, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
	answer, ok := op.Responses[strconv.Itoa(got.status)]
	switch {
	case !ok && media == "application/problem+json":
		c.valid(t, method+" "+path+" problem", json.RawMessage(`{"$ref":"#/$defs/ProblemError"}`), got.body)
	case !ok:
		t.Errorf("%s %s: %d is not described", method, path, got.status)
	case len(got.body) > 0:
		content, ok := answer.Content[media]
		switch _, isFile := answer.Content["application/octet-stream"]; {
		case ok && len(content.Schema) > 0:
			c.valid(t, method+" "+path, content.Schema, got.body)
		case !ok && !isFile && !strings.HasPrefix(path, "/api/storage/"): // which may be any file
			t.Errorf("%s %s: %q is not described", method, path, media)
		}
	}
}

// The responses of a real hub match the API description, for every operation.
func TestAnswersAreAsDescribed(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, withPages, func(p *hubOptions) {
		p.members, p.admin = true, pages(map[string]string{"index.html": "the monitor", "assets/a.js": "1"})
		p.metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/plain") })
	})
	c := newChecker(t, describe(t, h))
	root := h.userToken("root", "admin")
	id, doomed := h.newSession("root"), h.newSession("root")
	send := func(method, path, body string) reply {
		t.Helper()
		described, _, _ := strings.Cut(path, "?")
		actual := strings.NewReplacer("{session}", string(id), "{user}", "bob", "{path}", "a/b.txt", "{replica}", "replica-1", "{message}", "m", "{connection}", "conn-1", "{name}", "mine", "{id}", "a", "{mode}", "a", "{server}", "files", "{backend}", "demo", "{app}", "counter", "{sandbox}", "1", "{trash}", "0-a-1", "{agent}", "desktop", "{thread}", "t", "{link}", "0123456789abcdef", "{monitor}", "monitor-0", "{window}", "view", "{checkpoint}", "0123456").Replace(path)
		r := request{token: root, body: body}
		if strings.Contains(path, "{path}") {
			r.header = header("Content-Type", "application/octet-stream")
		}
		got := h.rest(method, actual, r)
		c.answer(t, method, described, body, got)
		return got
	}
	const (
		sessions = "/api/sessions"
		one      = sessions + "/{session}"
		file     = one + "/files/{path}"
		window   = `{"type":"window.create","windowId":"w","title":"W","bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"hi"}}`
		icon     = `{"type":"desktop.createShortcut","shortcut":{"id":"s","label":"L","icon":"i","type":"url","target":"t","createdAt":1}}`
	)
	send(http.MethodPost, sessions, `{"title":"x"}`).wantStatus(http.StatusCreated)
	send(http.MethodPost, sessions, "").wantStatus(http.StatusCreated)
	send(http.MethodGet, sessions+"?limit=1", "").wantStatus(http.StatusOK)
	send(http.MethodPatch, one, `{"title":"y"}`).wantStatus(http.StatusOK)
	send(http.MethodPut, one+"/shares/{user}", `{"access":"viewer"}`).wantStatus(http.StatusOK)
	send(http.MethodGet, one, "").wantStatus(http.StatusOK)
	send(http.MethodDelete, one+"/shares/{user}", "").wantStatus(http.StatusNoContent)
	var made mcpToken
	send(http.MethodPost, one+"/mcp-tokens", `{"name":"Editor","profile":"all","monitor":"monitor-0","ttl":60}`).wantStatus(http.StatusCreated).decode(&made)
	send(http.MethodGet, one+"/mcp-tokens", "").wantStatus(http.StatusOK)
	c.answer(t, http.MethodDelete, one+"/mcp-tokens/{token}", "", h.rest(http.MethodDelete, sessionPath(id, "/mcp-tokens/", made.ID), request{token: root}).wantStatus(http.StatusNoContent))
	var madeLink struct{ ID, URL string }
	send(http.MethodPost, one+"/links", `{"label":"Review","ttl":600}`).wantStatus(http.StatusCreated).decode(&madeLink)
	send(http.MethodGet, one+"/links", "").wantStatus(http.StatusOK)
	_, secret, _ := strings.Cut(madeLink.URL, "#")
	send(http.MethodPost, "/api/links/open", `{"link":"`+secret+`"}`).wantStatus(http.StatusOK)
	c.answer(t, http.MethodDelete, one+"/links/{link}", "", h.rest(http.MethodDelete, sessionPath(id, "/links/", madeLink.ID), request{token: root}).wantStatus(http.StatusNoContent))
	send(http.MethodPost, one+"/actions", `{"actions":[`+window+`,`+icon+`]}`).wantStatus(http.StatusOK)
	var emitted struct {
		At wire.Position `json:"message_id"`
	}
	h.post(sessionPath(id, "/actions"), root, `{"actions":[`+window+`]}`).wantStatus(http.StatusOK).decode(&emitted)
	guest := momentGuestOf(t, h, id, h.newMomentLink(root, id, emitted.At).secret())
	c.answer(t, http.MethodGet, one+"/moment", "", h.rest(http.MethodGet, sessionPath(id, "/moment"), request{header: guest}).wantStatus(http.StatusOK))
	send(http.MethodPost, one+"/messages", `{"content":"hi","messageId":"m"}`).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	send(http.MethodGet, one+"/snapshot", "").wantStatus(http.StatusOK)
	send(http.MethodGet, one+"/snapshot?monitor=monitor-0", "").wantStatus(http.StatusOK)
	send(http.MethodGet, one+"/events", "").wantStatus(http.StatusOK)
	send(http.MethodGet, one+"/tasks?q=x", "").wantStatus(http.StatusOK)
	send(http.MethodGet, one+"/plan", "").wantStatus(http.StatusOK)
	send(http.MethodPost, one+"/plan/answers", `{"type":"hitl_plan_response","request_id":"r","action":"approve"}`).wantProblem(http.StatusUnprocessableEntity, wire.CodeHITLInvalidResponse)
	send(http.MethodPost, one+"/plan/control", `{"action":"pause"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	send(http.MethodGet, one+"/rows", "").wantStatus(http.StatusOK)
	const nothing = `{"threadId":"t","runId":"r","messages":[]}`
	for _, path := range []string{"/agui", "/agui/{session}", "/agui/{session}/connect", "/agui/agent/{agent}/run", "/agui/agent/{agent}/connect"} {
		send(http.MethodPost, path, nothing).wantStatus(http.StatusOK)
	}
	send(http.MethodGet, "/agui/info", "").wantStatus(http.StatusOK)
	send(http.MethodPost, "/agui/agent/{agent}/stop/{thread}", "").wantStatus(http.StatusNoContent)
	log := send(http.MethodGet, one+"/export", "").wantStatus(http.StatusOK)
	send(http.MethodPost, sessions+"/import?policy=full", string(log.body)).wantStatus(http.StatusCreated)
	send(http.MethodGet, one+"/messages", "").wantStatus(http.StatusOK)
	send(http.MethodGet, one+"/events?after=1-1", "").wantProblem(http.StatusGone, wire.CodeSessionInvalidState)
	send(http.MethodPut, file, "x").wantStatus(http.StatusCreated)
	send(http.MethodPost, file, "x").wantStatus(http.StatusCreated)
	send(http.MethodGet, one+"/files?folder=a", "").wantStatus(http.StatusOK)
	send(http.MethodGet, file, "").wantStatus(http.StatusOK)
	send(http.MethodDelete, file, "").wantStatus(http.StatusNoContent)
	send(http.MethodGet, file, "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	c.fileChanges(t, h, root, send)
	send(http.MethodGet, one+"/notebooks/{window}", "").wantStatus(http.StatusNotFound)
	send(http.MethodPut, one+"/notebooks/{window}", `{"nbformat":3}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	send(http.MethodPut, one+"/notebooks/{window}", `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"code","source":"1+1","metadata":{},"outputs":[]}]}`).wantStatus(http.StatusNoContent)
	if got := send(http.MethodGet, one+"/notebooks/{window}", "").wantStatus(http.StatusOK); !strings.Contains(string(got.body), "1+1") {
		t.Errorf("the notebook: got %s, want the cell", got.body)
	}
	send(http.MethodGet, one+"/checkpoints", "").wantStatus(http.StatusOK)
	send(http.MethodPut, one+"/checkpoints", `{"enabled":true}`).wantStatus(http.StatusServiceUnavailable)
	send(http.MethodGet, one+"/checkpoints/diff?from=0123456", "").wantStatus(http.StatusServiceUnavailable)
	send(http.MethodGet, one+"/checkpoints/{checkpoint}/windows", "").wantStatus(http.StatusServiceUnavailable)
	send(http.MethodGet, one+"/checkpoints/{checkpoint}/files/{path}", "").wantStatus(http.StatusServiceUnavailable)
	send(http.MethodGet, one+"/film", "").wantStatus(http.StatusOK)
	send(http.MethodGet, one+"/workspace", "").wantStatus(http.StatusOK)
	send(http.MethodPut, one+"/workspace", `{"folder":"/"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	send(http.MethodPost, one+"/checkpoints/restore", `{"hash":"0123456"}`).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	send(http.MethodGet, "/api/market/{app}/icon", "").wantStatus(http.StatusOK)
	for _, path := range []string{"/api/hub", "/api/apps", "/api/market", "/api/shortcuts", "/api/providers", "/api/settings", "/api/settings/catalogue", "/api/settings/values", "/api/secrets", "/api/model-profiles", "/api/modes", "/api/auto-approval", "/api/mcp-servers", "/api/backends", "/api/me", "/health", "/healthz", "/readyz", "/api/openapi.json", "/", "/login"} {
		send(http.MethodGet, path, "").wantStatus(http.StatusOK)
	}
	send(http.MethodPut, "/api/apps/{app}", "").wantStatus(http.StatusOK)
	if err := h.userApps.Deploy(t.Context(), "root", "counter", testApp("<p>counter</p>")); err != nil {
		t.Fatal(err)
	}
	send(http.MethodGet, one+"/apps", "").wantStatus(http.StatusOK)
	send(http.MethodGet, "/api/apps/{app}/{path}", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodGet, one+"/apps/{app}/{path}", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodGet, "/api/sandbox/{sandbox}/{path}", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodGet, one+"/sandboxes/{sandbox}/{path}", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodPut, one+"/app-data/{app}/{path}", "x").wantStatus(http.StatusNoContent)
	send(http.MethodGet, one+"/app-data/{app}/{path}", "").wantStatus(http.StatusOK)
	send(http.MethodGet, one+"/app-data/{app}", "").wantStatus(http.StatusOK)
	send(http.MethodDelete, one+"/app-data/{app}/{path}", "").wantStatus(http.StatusNoContent)
	c.exerciseAppPage(t, h)
	send(http.MethodPatch, "/api/settings", `{"language":"ko","wallpaper":"dark-blue"}`).wantStatus(http.StatusOK)
	send(http.MethodPatch, "/api/settings/values", `{"values":{"language":"ko","userName":7},"was":{"language":"ko"}}`).wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/secrets/{name}", `{"value":"sk-1"}`).wantProblem(http.StatusConflict, wire.CodeInvalidMessage)
	send(http.MethodDelete, "/api/secrets/{name}", "").wantStatus(http.StatusNoContent)
	const profile = `{"name":"A","backend":"anthropic","prices":{"input":3,"currency":"USD"},"version":0}`
	send(http.MethodPut, "/api/model-profiles/{id}", profile).wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/model-profiles/{id}", profile).wantStatus(http.StatusConflict)
	send(http.MethodPost, "/api/backends/{backend}/models", `{}`).wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/model-profiles/test", `{"profile":{"name":"A","backend":"demo"},"key":"k"}`).wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/model-profiles/roles", `{"roles":{"main":"a"},"version":1}`).wantStatus(http.StatusOK)
	send(http.MethodDelete, "/api/model-profiles/{id}", "").wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/modes/{mode}", `{"name":"A","toolProfile":"read","approval":{"autoApprovalEnabled":true},"version":0}`).wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/modes/{mode}", `{"name":"A","version":0}`).wantStatus(http.StatusConflict)
	send(http.MethodDelete, "/api/modes/{mode}", "").wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/auto-approval", `{"rules":{"autoApprovalEnabled":true}}`).wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/auto-approval", `{"rules":{},"version":0}`).wantStatus(http.StatusConflict)
	send(http.MethodDelete, "/api/auto-approval", "").wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/mcp-servers", `{"config":"{\"mcpServers\":{\"a\":{\"url\":\"http://127.0.0.1:1\"}}}"}`).wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/mcp-servers/{server}", `{"url":"http://127.0.0.1:1","headers":{"A":"b"},"version":1}`).wantStatus(http.StatusOK)
	send(http.MethodPut, "/api/mcp-servers/{server}", `{"url":"http://127.0.0.1:1","version":0}`).wantStatus(http.StatusConflict)
	send(http.MethodPost, "/api/mcp-servers/{server}/try", "").wantStatus(http.StatusOK)
	send(http.MethodGet, "/api/mcp-servers/{server}/log", "").wantStatus(http.StatusOK)
	send(http.MethodDelete, "/api/mcp-servers/{server}", "").wantStatus(http.StatusOK)
	const view = one + "/views/{monitor}/{window}"
	send(http.MethodGet, view, "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodPost, view+"/call", `{"tool":"a"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodPost, view+"/resource", `{"uri":"a://b"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodPost, "/api/secrets/rotate", "").wantProblem(http.StatusConflict, wire.CodeInvalidMessage)
	send(http.MethodPut, one+"/owner", `{"user":"unknown"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage) // it is not shared with them
	send(http.MethodGet, one+"/transcript", "").wantStatus(http.StatusOK)
	send(http.MethodPost, one+"/restore", "").wantStatus(http.StatusOK)
	for _, path := range []string{"/api/domains", "/api/agents/stats", "/api/remote-info"} {
		send(http.MethodGet, path, "").wantStatus(http.StatusOK)
	}
	send(http.MethodPatch, "/api/domains", `{"allowAllDomains":true}`).wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/demo/crash", "").wantStatus(http.StatusConflict) // nothing would start this hub again
	send(http.MethodPost, "/api/approval-tests", `{"rules":{"autoApprovalEnabled":true,"alwaysAllowExecute":true,"allowedCommands":["git status"]},"command":"git push"}`).wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/fetch", `{"url":"http://127.0.0.1/"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	send(http.MethodPost, "/api/ws-ticket", "").wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/ws-ticket", `{"session":"`+string(id)+`"}`).wantStatus(http.StatusOK)
	var link struct{ URL string }
	send(http.MethodPost, "/api/join-tickets", `{"session":"`+string(id)+`","monitor":"monitor-0"}`).wantStatus(http.StatusOK).decode(&link)
	_, ticket, _ := strings.Cut(link.URL, "#")
	send(http.MethodPost, "/api/join", `{"ticket":"`+ticket+`"}`).wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/join", `{"ticket":"`+ticket+`"}`).wantProblem(http.StatusUnauthorized, wire.CodeAuthFailed)
	send(http.MethodGet, "/join", "").wantStatus(http.StatusOK)
	send(http.MethodGet, "/link", "").wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/tokens/keys", `{"user":"robot","roles":["user"],"name":"n","expires_in":60}`).wantStatus(http.StatusCreated)
	var keys struct{ Keys []struct{ ID string } }
	send(http.MethodGet, "/api/tokens/keys", "").wantStatus(http.StatusOK).decode(&keys)
	c.answer(t, http.MethodDelete, "/api/tokens/keys/{key}", "", h.rest(http.MethodDelete, "/api/tokens/keys/"+keys.Keys[0].ID, request{token: root}))
	send(http.MethodPost, "/api/tokens/tickets", `{"user":"guest","session":"ses-1"}`).wantStatus(http.StatusOK)
	c.answer(t, http.MethodDelete, one, "", h.rest(http.MethodDelete, sessionPath(doomed), request{token: root}).wantStatus(http.StatusNoContent))
	h.waitForBody("/api/admin/replicas", root, `"replica-1"`)
	for _, path := range []string{"me", "overview", "replicas", "sessions", "sessions/{session}", "sessions/{session}/events", "sessions/{session}/film", "limits", "audit/verify"} {
		send(http.MethodGet, "/api/admin/"+path, "").wantStatus(http.StatusOK)
	}
	for _, path := range []string{"live", "sessions/{session}/tail"} {
		x := h.openAdminStream(strings.ReplaceAll(path, "{session}", string(id)), root)
		c.answer(t, http.MethodGet, "/api/admin/"+path, "", reply{t: t, status: x.res.StatusCode, header: x.res.Header, body: []byte("data")})
		x.close()
	}
	send(http.MethodPost, "/api/admin/sessions/{session}/messages/{message}/cancel", `{"reason":"why not"}`)
	send(http.MethodPost, "/api/admin/sessions/{session}/tabs/{connection}/close", `{"reason":"why not"}`)
	send(http.MethodPost, "/api/admin/sessions/{session}/handover", `{"reason":"why not","to":"unknown"}`)
	send(http.MethodGet, "/metrics", "").wantStatus(http.StatusOK)
	send(http.MethodGet, "/admin", "").wantStatus(http.StatusOK)
	c.answer(t, http.MethodGet, "/admin/{path}", "", h.get("/admin/sessions/1", root).wantStatus(http.StatusOK))
	c.answer(t, http.MethodPost, "/admin", "", h.rest(http.MethodPost, "/admin", request{
		body: "token=" + root, header: header("Content-Type", "application/x-www-form-urlencoded"),
	}).wantStatus(http.StatusSeeOther))
	for _, path := range []string{"sessions/{session}/interrupt", "sessions/{session}/reset", "sessions/{session}/release", "replicas/{replica}/undrain", "replicas/{replica}/drain"} {
		send(http.MethodPost, "/api/admin/"+path, `{"reason":"why not"}`).wantStatus(http.StatusOK)
	}
	send(http.MethodGet, "/api/admin/audit?limit=2", "").wantStatus(http.StatusOK)
	send(http.MethodDelete, "/api/admin/sessions/{session}", `{"reason":"why not"}`).wantStatus(http.StatusOK)
	send(http.MethodPost, "/api/login", `{"token":"`+root+`"}`).wantStatus(http.StatusOK)
	c.answer(t, http.MethodPost, "/login", "", h.rest(http.MethodPost, "/login", request{
		body: "token=" + root, header: header("Content-Type", "application/x-www-form-urlencoded"),
	}).wantStatus(http.StatusSeeOther))
	send(http.MethodPost, "/api/logout", "").wantStatus(http.StatusNoContent)
	for path, methods := range c.d.Paths {
		for method := range methods {
			if !c.seen[strings.ToUpper(method)+" "+path] && !strings.HasPrefix(path, "/ws") {
				t.Errorf("%s %s is described but not tested", method, path)
			}
		}
	}
}

// The API description refuses the bodies that the hub refuses: a schema that accepts everything
// would pass the test above.
func TestDescriptionOfBodiesIsStrict(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	c := newChecker(t, describe(t, h))
	for where, bad := range map[string][]string{
		"post /api/sessions":                        {`{"title":7}`, `[]`},
		"put /api/sessions/{session}/shares/{user}": {`{}`, `{"access":true}`},
		"post /api/sessions/{session}/messages":     {`{}`, `{"content":7}`, `{"content":"a","monitorId":"a b"}`},
		"post /api/sessions/{session}/actions":      {`{}`, `{"actions":[]}`, `{"actions":[{"type":"nope"}]}`},
		"post /api/tokens/keys":                     {`{}`, `{"user":""}`, `{"user":"a","expires_in":-1}`},
		"patch /api/settings":                       {`{"language":7}`, `{"onboardingCompleted":"yes"}`},
		"patch /api/domains":                        {`{"allow":"example.org"}`, `{"allowAllDomains":"yes"}`},
		"put /api/secrets/{name}":                   {`{}`, `{"value":""}`},
		"patch /api/settings/values":                {`{}`, `{"values":[]}`},
		"put /api/model-profiles/{id}":              {`{}`, `{"name":"A","backend":"demo","contextWindow":"x"}`},
		"post /api/mcp-servers":                     {`{}`, `{"config":7}`},
		"put /api/mcp-servers/{server}":             {`{"args":7}`, `{"timeout":-1}`},
		"put /api/auto-approval":                    {`{}`, `{"rules":7}`},
		"put /api/modes/{mode}":                     {`{}`, `{"name":"A","approval":7}`},
		"put /api/model-profiles/roles":             {`{}`, `{"roles":{"main":7}}`},
		"post /api/model-profiles/test":             {`{}`, `{"profile":{"name":"A"}}`},
		"post /api/backends/{backend}/models":       {`{"baseUrl":7}`, `{"key":7}`},
		"post /api/fetch":                           {`{}`, `{"url":""}`},
		"post /api/login":                           {`{}`, `{"token":""}`},
		"post /api/join":                            {`{}`, `{"ticket":""}`},
		"post /api/join-tickets":                    {`{}`, `{"session":"a b"}`},
	} {
		method, path, _ := strings.Cut(where, " ")
		for _, body := range bad {
			if c.accepts(t, c.d.Paths[path][method].RequestBody.Content["application/json"].Schema, body) {
				t.Errorf("%s: got %s accepted by the description, want it refused", where, body)
			}
		}
	}
}

// accepts reports whether a schema accepts a JSON text.
func (c *checker) accepts(t *testing.T, schema json.RawMessage, text string) bool {
	t.Helper()
	var instance any
	if err := json.Unmarshal([]byte(text), &instance); err != nil {
		t.Fatal(err)
	}
	return c.resolve(t, schema).Validate(instance) == nil
}

// The API description has the parameters with their types and the names of the cookies.
func TestDescriptionOfParameters(t *testing.T) {
	t.Parallel()
	d := describe(t, newTestHub(t))
	for where, kind := range map[string]string{
		"/api/sessions limit": "integer", "/api/sessions/{session}/events limit": "integer", "/api/tokens/keys limit": "integer",
		"/api/sessions/{session}/events after": "string", "/api/sessions/{session}/events last_event_id": "string",
		"/api/sessions/{session}/events resume_from": "string", "/api/sessions/{session}/events client_id": "string",
		"/api/sessions/{session}/events monitor": "array",
		"/ws/{session} resume_from":              "string", "/ws/{session} client_id": "string", "/ws resume_from": "string", "/ws client_id": "string",
		"/api/sessions/{session}/files/{path} Range": "string", "/api/storage/{path} Range": "string",
	} {
		path, name, _ := strings.Cut(where, " ")
		found := ""
		for _, p := range d.Paths[path]["get"].Parameters {
			if p.Name == name {
				found = p.Schema.Type
			}
		}
		if found != kind {
			t.Errorf("%s: type %q, want %q", where, found, kind)
		}
	}
	var parts struct {
		Components struct {
			SecuritySchemes map[string]struct{ In, Name string }
		}
	}
	if err := json.Unmarshal(d.raw, &parts); err != nil {
		t.Fatal(err)
	}
	cookies := map[string]bool{}
	for scheme, s := range parts.Components.SecuritySchemes {
		if s.In == "cookie" {
			cookies[s.Name] = true
		}
		for path, methods := range d.Paths {
			for method, op := range methods {
				takes := slices.ContainsFunc(op.Security, func(one map[string][]string) bool { return one[scheme] != nil })
				// Pages of apps have a token, and nothing else.
				want := scheme == "bearer" || !strings.HasPrefix(path, "/api/app-page/")
				if len(op.Security) > 0 && takes != want {
					t.Errorf("%s %s takes %s: %v, want %v", method, path, scheme, takes, want)
				}
			}
		}
	}
	if !cookies["everdesk"] || !cookies["__Host-everdesk"] {
		t.Errorf("described cookies: got %v, want everdesk and __Host-everdesk", cookies)
	}
}
