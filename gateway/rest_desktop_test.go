package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers/outbound"
	"github.com/everdesk/everdesk/wire"
)

func TestTranscript(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.post(sessionPath(id, "/messages"), ada, `{"content":"What is *this*?","messageId":"m-1"}`).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	var got struct{ Transcript string }
	h.get(sessionPath(id, "/transcript"), ada).wantStatus(http.StatusOK).decode(&got)
	if !strings.HasPrefix(got.Transcript, "# "+string(id)+"\n") || !strings.Contains(got.Transcript, "**User** (20") || !strings.Contains(got.Transcript, "\nWhat is *this*?\n") {
		t.Errorf("got %q, want a heading and what the user said", got.Transcript)
	}
	h.get(sessionPath(id, "/transcript"), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.get(sessionPath("ses-gone", "/transcript"), ada).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}

// A session is restored onto one monitor of the caller's desktop, without locks of its windows, and
// does not change.
func TestRestore(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	open := func(monitor, window, text string) {
		h.post(sessionPath(id, "/actions"), ada, `{"monitorId":"`+monitor+`","actions":[{"type":"window.create","windowId":"`+window+
			`","title":"T","bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"`+text+`"}}]}`).wantStatus(http.StatusOK)
	}
	open("monitor-0", "w", "first")
	open("monitor-1", "w", "second")
	open("monitor-1", "v", "third")
	h.post(sessionPath(id, "/messages"), ada, `{"content":"hi","messageId":"m-1"}`).wantProblem(http.StatusServiceUnavailable, wire.CodeProviderUnavailable)
	const want = `{"actions":[` +
		`{"type":"window.create","windowId":"w","title":"T","bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"first"}},` +
		`{"type":"window.create","windowId":"v","title":"T","bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"third"}}],` +
		`"contextMessages":[{"role":"user","content":"hi"}]}`
	before := h.get(sessionPath(id, "/snapshot"), ada).wantStatus(http.StatusOK).header.Get("ETag")
	got := h.rest(http.MethodPost, sessionPath(id, "/restore"), request{token: ada}).wantStatus(http.StatusOK)
	if string(got.body) != want {
		t.Errorf("got %s\nwant %s", got.body, want)
	}
	if after := h.get(sessionPath(id, "/snapshot"), ada).wantStatus(http.StatusOK).header.Get("ETag"); after != before {
		t.Errorf("the session is at %s after it, want %s", after, before)
	}
	h.rest(http.MethodPost, sessionPath(id, "/restore"), request{token: h.userToken("bob")}).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}

func TestDomains(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, bob := h.userToken("ada"), h.userToken("bob")
	want := func(token, want string) {
		t.Helper()
		if got := h.get("/api/domains", token).wantStatus(http.StatusOK); string(got.body) != want {
			t.Errorf("got %s, want %s", got.body, want)
		}
	}
	want(ada, `{"allowAllDomains":false,"domains":[]}`)
	h.rest(http.MethodPatch, "/api/domains", request{token: ada, body: `{"allowAllDomains":true}`}).wantStatus(http.StatusOK)
	want(ada, `{"allowAllDomains":true,"domains":[]}`)
	want(bob, `{"allowAllDomains":false,"domains":[]}`)
	h.rest(http.MethodPatch, "/api/domains", request{token: h.userToken("eve", "viewer"), body: `{"allowAllDomains":true}`}).wantProblem(http.StatusForbidden, wire.CodeForbidden)
	change := func(body string) reply {
		t.Helper()
		return h.rest(http.MethodPatch, "/api/domains", request{token: ada, body: body})
	}
	change(`{"allowAllDomains":false,"allow":["Example.org.","münchen.example"]}`).wantStatus(http.StatusOK)
	change(`{"remove":["none.example"]}`).wantStatus(http.StatusOK)
	want(ada, `{"allowAllDomains":false,"domains":["example.org","xn--mnchen-3ya.example"]}`)
	change(`{"remove":["EXAMPLE.ORG"]}`).wantStatus(http.StatusOK)
	want(ada, `{"allowAllDomains":false,"domains":["xn--mnchen-3ya.example"]}`)
	change(`{"allow":["https://example.org/"]}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
}

// Pages are fetched from domains that the user has allowed and that have public or listed addresses.
func TestFetch(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Method", r.Method)
		w.Header().Set("Set-Cookie", "a=b")
		if r.URL.Path == "/binary" {
			_, _ = w.Write([]byte{0xff, 0xfe, 0})
			return
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, r.Body)
	}))
	t.Cleanup(site.Close)
	listed, err := outbound.ParseHosts("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	h := newTestHub(t, func(o *hubOptions) { o.webHosts = listed })
	ada := h.userToken("ada")
	post := func(path string) reply {
		return h.post("/api/fetch", ada, `{"url":"`+site.URL+path+`","method":"POST","headers":{"Accept":"*/*"},"body":"hello"}`)
	}
	post("/").wantProblem(http.StatusForbidden, wire.CodeForbidden)
	h.rest(http.MethodPatch, "/api/domains", request{token: ada, body: `{"allow":["127.0.0.1","169.254.169.254","nowhere.invalid"]}`}).wantStatus(http.StatusOK)
	var got struct {
		OK                             bool
		Status                         int
		StatusText, Body, BodyEncoding string
		Headers                        map[string]string
	}
	post("/").wantStatus(http.StatusOK).decode(&got)
	if got.OK || got.Status != http.StatusTeapot || got.StatusText != "I'm a teapot" || got.Body != "hello" || got.Headers["x-method"] != "POST" || got.Headers["set-cookie"] != "" {
		t.Errorf("got %+v, want the answer of the server without its cookie", got)
	}
	post("/binary").wantStatus(http.StatusOK).decode(&got)
	if !got.OK || got.Body != "//4A" || got.BodyEncoding != "base64" {
		t.Errorf("got %+v, want the bytes in base64", got)
	}
	if p := h.post("/api/fetch", ada, `{"url":"http://169.254.169.254/"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden); !strings.Contains(p.Detail, "metadata") {
		t.Errorf("got %q, want the reason", p.Detail)
	}
	h.post("/api/fetch", ada, `{"url":"http://nowhere.invalid/"}`).wantProblem(http.StatusBadGateway, wire.CodeConnectionFailed)
	h.post("/api/fetch", ada, `{"url":"ftp://127.0.0.1/"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	h.post("/api/fetch", h.userToken("eve", "viewer"), `{"url":"`+site.URL+`"}`).wantProblem(http.StatusForbidden, wire.CodeForbidden)
}

func TestAgentStatsAreThoseOfTheCaller(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	const none = `{"agents":{"maxAgents":0,"currentCount":0,"waitingCount":0},"connections":{"connectionCount":0},` +
		`"warmPool":{"poolSize":0,"available":0,"preferredProvider":"","warmedSessions":0}}`
	id, x := h.sessionWithTab() // of ann, with a tab
	next[wire.Presence](x)
	if got := h.get("/api/agents/stats", h.userToken("bob")).wantStatus(http.StatusOK); string(got.body) != none {
		t.Errorf("got %s, want %s", got.body, none)
	}
	h.get("/api/agents/stats?sessionId="+string(id), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	if got := h.get("/api/agents/stats", h.userToken("ann")).wantStatus(http.StatusOK); !contains(got.body, `"connectionCount":1`) {
		t.Errorf("got %s, want one connection", got.body)
	}
	if got := h.get("/api/remote-info", h.userToken("bob")).wantStatus(http.StatusOK); string(got.body) != `{"remote":false}` {
		t.Errorf("remote info: got %s, want false", got.body)
	}
}

func TestFaviconOfAnotherDesktop(t *testing.T) {
	t.Parallel()
	newDesktopHub(t).get("/favicon.ico", "").wantStatus(http.StatusNoContent)
}
