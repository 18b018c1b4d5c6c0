package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/mcpclient/mcptest"
	"github.com/everdesk/everdesk/wire"
)

// The view in a window is for everybody who sees the window; only the owner of the session uses the server with it.
func TestViewsOverREST(t *testing.T) {
	t.Parallel()
	remote := httptest.NewServer(mcptest.Handler())
	t.Cleanup(remote.Close)
	h := newTestHub(t, func(p *hubOptions) {
		p.mcpServers = []mcpclient.Server{{Name: "board", Type: mcpclient.HTTP, URL: remote.URL}}
	})
	ada, bob := h.userToken("ada"), h.userToken("bob")
	id := h.newSession("ada")
	open := func(window, content string) {
		h.rest(http.MethodPost, sessionPath(id)+"/actions", request{token: ada, body: `{"actions":[{"type":"window.create","windowId":"` + window +
			`","title":"B","bounds":{"x":1,"y":2,"w":300,"h":200},"content":` + content + `}]}`}).wantStatus(http.StatusOK)
	}
	open("board", `{"renderer":"mcp-app","data":{"server":"board","tool":"view","uri":"ui://view"}}`)
	open("gone", `{"renderer":"mcp-app","data":{"server":"none","tool":"view","uri":"ui://view"}}`)
	open("text", `{"renderer":"text","data":"hi"}`)
	path := sessionPath(id) + "/views/monitor-0/"
	var view struct {
		HTML               string
		Connect, Resources []string
	}
	h.get(path+"board", ada).wantStatus(http.StatusOK).decode(&view)
	if view.HTML != "<p>a view</p>" || len(view.Connect) != 2 || len(view.Resources) != 1 {
		t.Errorf("the view is %+v, want its document and its public origins", view)
	}
	for _, window := range []string{"gone", "text", "none"} {
		h.get(path+window, ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	}
	h.get(path+"board", bob).wantStatus(http.StatusNotFound)
	read := func(token, uri string) reply {
		return h.rest(http.MethodPost, path+"board/resource", request{token: token, body: `{"uri":"` + uri + `"}`})
	}
	if body := string(read(ada, "ui://text").wantStatus(http.StatusOK).body); !strings.Contains(body, "no view") {
		t.Errorf("the resource is %s, want its text", body)
	}
	read(ada, "ui://none").wantStatus(http.StatusBadGateway)
	h.rest(http.MethodPut, sessionPath(id)+"/shares/bob", request{token: ada, body: `{"access":"operator"}`}).wantStatus(http.StatusOK)
	h.get(path+"board", bob).wantStatus(http.StatusOK)
	read(bob, "ui://text").wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPost, path+"board/call", request{token: bob, body: `{"tool":"echo"}`}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPost, path+"board/call", request{token: ada, body: `{"tool":""}`}).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	h.rest(http.MethodPost, path+"board/call", request{token: ada, body: `{"tool":"echo"}`}).wantStatus(http.StatusOK).decode(&result)
	if !result.IsError || len(result.Content) != 1 || !strings.Contains(result.Content[0].Text, "no agents") {
		t.Errorf("in a hub without tools the result is %+v, want an error result", result)
	}
}
