package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/mcpclient/mcptest"
	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/wire"
)

// mcpServers is the answer of the routes of MCP servers.
type mcpServers struct {
	Servers []struct {
		Name, State, Error, URL, Scope string
		Own                            bool
		Secrets                        []string
		Tools                          []struct{ ModelName string }
	}
	Version  int
	Commands bool
	Warnings []string
	Inputs   []string
	Conflict string
}

func TestMCPServersOverREST(t *testing.T) {
	t.Parallel()
	remote := httptest.NewServer(mcptest.Handler())
	t.Cleanup(remote.Close)
	hosts, err := outbound.ParseHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	h := newTestHub(t, func(p *hubOptions) {
		p.webHosts = hosts
		p.mcpServers = []mcpclient.Server{{Name: "shared", Type: mcpclient.HTTP, URL: "http://127.0.0.1:1/?token=hidden"}}
	})
	ada, root := h.userToken("ada"), h.userToken("root", "admin")
	x := h.mustDial("/ws/"+string(h.newSession("ada")), as(ada))
	next[wire.SessionState](x)
	const all = "/api/mcp-servers"
	send := func(method, path, body string) reply { return h.rest(method, path, request{token: ada, body: body}) }
	var got mcpServers
	send(http.MethodGet, all, "").wantStatus(http.StatusOK).decode(&got)
	if len(got.Servers) != 1 || got.Servers[0].Own || got.Servers[0].URL != "" || got.Servers[0].State != "stopped" || got.Commands {
		t.Errorf("at first there are %+v, want that of the operator without its address", got)
	}
	config := strconv.Quote(`{"servers": {"mine": {"url": "` + remote.URL + `", "headers": {"X": "${input:key:-none}"}, "gallery": true}}, "inputs": [{"id": "key"}]} // pasted`)
	send(http.MethodPost, all, `{"config":`+config+`,"version":0}`).wantStatus(http.StatusOK).decode(&got)
	if len(got.Servers) != 2 || got.Servers[1].Name != "mine" || !got.Servers[1].Own || got.Servers[1].URL != remote.URL || !slices.Equal(got.Servers[1].Secrets, []string{"key"}) ||
		!slices.Equal(got.Inputs, []string{"key"}) || len(got.Warnings) != 1 || got.Version != 1 {
		t.Errorf("after the block was pasted there are %+v, want mine, its secret and a warning", got)
	}
	if e := next[wire.SettingsChanged](x); !slices.Equal(e.Names, []string{mcpclient.SettingName}) {
		t.Errorf("the tab got %+v, want %s", e, mcpclient.SettingName)
	}
	send(http.MethodPost, all+"/mine/try", "").wantStatus(http.StatusOK).decode(&got)
	if s := got.Servers[1]; s.State != "ready" || len(s.Tools) == 0 || s.Tools[0].ModelName != "mcp__mine__ask" {
		t.Errorf("after it was tried the server is %+v, want it ready with its tools", s)
	}
	send(http.MethodPost, all+"/shared/try", "").wantStatus(http.StatusOK).decode(&got)
	if s := got.Servers[0]; s.State != "failed" || !strings.Contains(s.Error, "admins") {
		t.Errorf("the server that cannot be reached is %+v, want that only admins see why", s)
	}
	if body := string(send(http.MethodGet, all+"/mine/log", "").wantStatus(http.StatusOK).body); !strings.Contains(body, "tools/list") {
		t.Errorf("the log is %s, want what was sent", body)
	}
	send(http.MethodGet, all+"/shared/log", "").wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodGet, all+"/shared/log", request{token: root}).wantStatus(http.StatusOK)
	send(http.MethodGet, all+"/none/log", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodPost, all+"/none/try", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)

	var conflict mcpServers
	send(http.MethodPut, all+"/mine", `{"url":"https://x.example.org/mcp","version":0}`).wantStatus(http.StatusConflict).decode(&conflict)
	if conflict.Conflict == "" || conflict.Version != 1 || conflict.Servers[1].URL != remote.URL {
		t.Errorf("the conflict is %+v, want what is stored", conflict)
	}
	send(http.MethodPut, all+"/mine", `{"url":"https://x.example.org/mcp","trusted":true,"version":1}`).wantStatus(http.StatusOK).decode(&got)
	if s := got.Servers[1]; s.URL != "https://x.example.org/mcp" || s.State != "stopped" {
		t.Errorf("the changed server is %+v, want its new address, stopped", s)
	}
	send(http.MethodPut, all+"/prog", `{"command":"sh"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	send(http.MethodPut, all+"/shared", `{"url":"https://x.example.org"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	for body, field := range map[string]string{`{"url":"x"}`: "mine.url", `{"url":"https://x","scope":"world"}`: "mine.scope"} {
		if p := send(http.MethodPut, all+"/mine", body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != field {
			t.Errorf("%s: the problem is %+v, want the field %s", body, p, field)
		}
	}
	send(http.MethodPost, all, `{"config":"{}"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.rest(http.MethodGet, all, request{token: h.userToken("bob")}).wantStatus(http.StatusOK).decode(&got)
	if len(got.Servers) != 1 {
		t.Errorf("another user has %+v, want only that of the operator", got.Servers)
	}
	send(http.MethodDelete, all+"/mine?version=2", "").wantStatus(http.StatusOK).decode(&got)
	if len(got.Servers) != 1 {
		t.Errorf("after it was deleted there are %+v, want only that of the operator", got.Servers)
	}
	send(http.MethodDelete, all+"/mine", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	guest := cookieOf(t, h.join(h.invite(ada, h.newSession("ada")).ticket(), nil).wantStatus(http.StatusOK))
	h.rest(http.MethodGet, all, request{header: h.ownHeaders(guest)}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
}
