package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everdesk/everdesk/wire"
)

// sessionWithWindows creates a session of ada with a state of some megabytes.
func (h *testHub) sessionWithWindows(windows int) wire.SessionID {
	h.t.Helper()
	id := h.newSession("ada")
	token := h.userToken("ada")
	for i := range windows {
		h.post(sessionPath(id, "/actions"), token, fmt.Sprintf(`{"actions":[{"type":"window.create","windowId":"w%d","title":"W",`+
			`"bounds":{"x":1,"y":2,"w":300,"h":200},"content":{"renderer":"text","data":"%s"}}]}`, i, strings.Repeat("x", 60<<10))).wantStatus(http.StatusOK)
	}
	return id
}

// requestWithoutReading sends a request, reads the first line of the response and nothing more
// until the test ends.
func (h *testHub) requestWithoutReading(path, token string) string {
	h.t.Helper()
	c, err := h.dial()
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = c.Close() })
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, h.addr, token); err != nil {
		h.t.Fatal(err)
	}
	line := make([]byte, 12)
	if _, err := io.ReadFull(c, line); err != nil {
		h.t.Fatal(err)
	}
	return string(line)
}

// dial opens a TCP connection to the hub.
func (h *testHub) dial() (net.Conn, error) {
	if h.pipes != nil {
		return h.pipes.DialContext(h.t.Context(), "", "")
	}
	var d net.Dialer
	return d.DialContext(h.t.Context(), "tcp", h.addr)
}

// heap returns the live heap in bytes.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Slow clients share the encoded response.
func TestSlowReadersShareASnapshot(t *testing.T) { //nolint:paralleltest // it measures the heap
	h := newTestHub(t)
	id := h.sessionWithWindows(50) // 3 MiB
	path := sessionPath(id, "/snapshot")
	h.get(path, h.userToken("ada")).wantStatus(http.StatusOK)
	before := heap()
	for i := range 40 {
		if got := h.requestWithoutReading(path, h.userToken(fmt.Sprint("user-", i), "admin")); got != "HTTP/1.1 200" {
			t.Fatalf("reader %d: got %s, want HTTP/1.1 200", i, got)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 24<<20 {
		t.Errorf("memory of 40 slow readers of 3 MiB: got %d MiB, want at most 24", grown>>20)
	}
}

// A client that requests large responses without reading them has to wait, and does not affect
// other users.
func TestLargeAnswersAreFew(t *testing.T) { //nolint:paralleltest // it measures the heap
	synctest.Test(t, func(t *testing.T) {
		h := newBubbleHub(t)
		id := h.sessionWithWindows(60)
		eve := h.userToken("eve", "admin")
		before := heap()
		statusLine := func(i int, path string) string {
			h.post(sessionPath(id, "/actions"), h.userToken("ada"), badgeRequest(fmt.Sprint("app-", i))).wantStatus(http.StatusOK)
			return h.requestWithoutReading(sessionPath(id, path), eve)
		}
		n := 0
		for statusLine(n, "/snapshot") == "HTTP/1.1 200" {
			if n++; n > 10 {
				t.Fatalf("got %d pages and no end, want at most 10", n)
			}
		}
		h.get(sessionPath(id, "/snapshot"), eve).wantProblem(http.StatusServiceUnavailable, wire.CodeRateLimited)
		h.get(sessionPath(id, "/snapshot"), h.userToken("ada")).wantStatus(http.StatusOK)
		h.get(sessionPath(id, "/events"), h.userToken("ada")).wantStatus(http.StatusOK)
		answers := map[string]int{}
		for i := range 16 { // without the bound they would hold 70 MiB
			answers[statusLine(i, "/snapshot")]++
			answers[statusLine(i, "/events?limit=1000&after=0-0")]++
		}
		if grown := int64(heap()) - int64(before); grown > 48<<20 {
			t.Errorf("memory of 32 unread answers: got %d MiB, want at most 48", grown>>20)
		}
		if answers["HTTP/1.1 200"] == 0 || answers["HTTP/1.1 503"] == 0 || len(answers) != 2 {
			t.Errorf("answers: got %v, want both HTTP/1.1 200 and HTTP/1.1 503", answers)
		}
	})
}

// A page of the log is bounded by its bytes, and all pages together are the log.
func TestPagesHaveBytes(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.sessionWithWindows(40)
	h.post(sessionPath(id, "/actions"), ada, badgeRequest("mail")).wantStatus(http.StatusOK)
	pages, created := 0, 0
	for after := "0-0"; ; pages++ {
		got := h.get(sessionPath(id, "/events?limit=1000&after=", after), ada).wantStatus(http.StatusOK)
		if len(got.body) > 1<<20+256 {
			t.Fatalf("size of a page: got %d bytes, want at most 1 MiB", len(got.body))
		}
		var page eventsPage
		if err := json.Unmarshal(got.body, &page); err != nil {
			t.Fatal(err)
		}
		for _, frame := range page.Events {
			created += strings.Count(string(frame), `"window.create"`)
		}
		if after = page.Next.String(); page.Next.Compare(page.Top) >= 0 {
			break
		}
		if len(page.Events) == 0 {
			t.Fatal("got an empty page before the end, want events")
		}
	}
	if created != 40 || pages < 2 {
		t.Errorf("got %d windows on %d pages, want 40 on at least three", created, pages+1)
	}
}

func TestReadsAreCounted(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, func(p *hubOptions) { p.limits.Off, p.limits.Reads = false, 10 })
	ada := h.userToken("ada")
	var last reply
	for range 11 {
		if last = h.get("/api/me", ada); last.status != http.StatusOK {
			break
		}
	}
	if p := last.wantProblem(http.StatusTooManyRequests, wire.CodeRateLimited); p.RetryAfterMS <= 0 {
		t.Errorf("problem: got %+v, want a time to wait", p)
	}
	h.get("/api/me", h.userToken("bob")).wantStatus(http.StatusOK)
	// Reads do not use up the limit of changes.
	h.post("/api/sessions", ada, "").wantStatus(http.StatusCreated)
}
