package gateway_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// twoAgentHubs starts two hubs on one Redis that know each other and together run one agent at a
// time.
func twoAgentHubs(t *testing.T) (a, b *testHub) {
	t.Helper()
	server := redistest.Standalone(t)
	build := func(id wire.ReplicaID) *testHub {
		return newTestHub(t, func(p *hubOptions) {
			p.session.Replica, p.members = id, true
			addAgents(t, p, func(log *slog.Logger) (agentStore, error) {
				return joinRedis(redisstore.Open(t.Context(), server.Client(t), redisstore.Config{Logger: log}))
			}, agentpool.Limits{Agents: 1})
		})
	}
	a, b = build("one"), build("two")
	a.waitForReplica(b)
	return a, b
}

// waitForReplica waits until two hubs know each other.
func (h *testHub) waitForReplica(o *testHub) {
	h.t.Helper()
	root := h.userToken("root", "admin")
	h.waitForBody("/api/admin/replicas", root, `"id":"two"`)
	o.waitForBody("/api/admin/replicas", root, `"id":"one"`)
}

// adminDone executes an admin action and returns its audit record.
func (h *testHub) adminDone(path, key, body string) (r auditRecord) {
	h.t.Helper()
	h.adminRequest(http.MethodPost, path, key, body).wantStatus(http.StatusOK).decode(&r)
	if r.Result != "done" {
		h.t.Errorf("%s: got %+v, want it done", path, r)
	}
	return r
}

// A queued message is cancelled through a replica that does not own the session, once; a message
// that is not queued is not.
func TestAdminCancelsAMessage(t *testing.T) {
	t.Parallel()
	a, b := twoAgentHubs(t)
	id := a.newSession("ann")
	x := a.mustDial("/ws/"+string(id), as(a.userToken("ann")))
	x.sendToAgent("monitor-0", "m1", "/nosteer", "/say hi", "/hang")
	next[wire.AgentResponse](x) // it holds the only slot
	x.sendToAgent("monitor-0", "m2", "/say never")
	x.sendToAgent("monitor-0", "m3", "/say at last")
	for queued := wire.MessageID(""); queued != "m3"; {
		queued = next[wire.MessageQueued](x).MessageID
	}
	path := "sessions/" + string(id)
	for i, h := range []*testHub{b, a, b} {
		r := h.adminDone(path+"/messages/m2/cancel", "c-1", `{"reason":"a mistake"}`)
		if r.Detail != "waiting messages: 2, then 1" || r.Action != "message.cancel" || r.Target != string(id)+"/m2" {
			t.Errorf("cancel %d: got %+v, want message.cancel of %s/m2 with two waiting messages, then one", i, r, id)
		}
	}
	if r := next[wire.MessageRejected](x); r.MessageID != "m2" || !strings.Contains(r.Reason, "an administrator took it out of the queue") {
		t.Errorf("answer of the sender: got %+v, want m2 rejected by an administrator", r)
	}
	for _, h := range []*testHub{a, b} {
		h.adminRequest(http.MethodPost, path+"/messages/m2/cancel", "", `{"reason":"x"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		h.adminRequest(http.MethodPost, path+"/messages/unknown/cancel", "", `{"reason":"x"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		h.adminRequest(http.MethodPost, path+"/messages/m1/cancel", "", `{"reason":"x"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
		h.adminRequest(http.MethodPost, path+"/interrupt", "", `{"reason":"x","monitorId":"nowhere"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
		h.adminRequest(http.MethodPost, path+"/interrupt", "", `{"reason":"x","monitorId":"monitor-0","agentId":"a"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	if r := b.adminDone(path+"/interrupt", "i-1", `{"reason":"too loud","monitorId":"monitor-0"}`); r.Target != string(id)+"/monitor-0" || r.Detail != "agents stopped: 1 of 1 at work" {
		t.Errorf("got %+v, want one stopped agent of monitor-0", r)
	}
	x.untilTurnEnd("m3")
	if r := b.adminDone(path+"/interrupt", "", `{"reason":"is it quiet"}`); r.Detail != "agents stopped: 0 of 0 at work" {
		t.Errorf("interrupt without running agents: got %+v, want none stopped", r)
	}
	for _, e := range a.logEvents(id, "MESSAGE_ACCEPTED") {
		if e.Data.(wire.MessageAccepted).MessageID == "m2" { //nolint:forcetypeassert // it is asked for
			t.Error("got an acceptance of the cancelled message m2, want none")
		}
	}
	failed := 0
	for _, r := range a.auditRecords() {
		if r.Result == "failed" {
			if failed++; !strings.HasPrefix(r.Detail, "WS_") {
				t.Errorf("got %+v, want a detail with an error code", r)
			}
		}
	}
	if failed != 8 {
		t.Errorf("%d actions failed, want 8", failed)
	}
}

// Messages are cancelled at the moment in which they begin: each begins or is rejected, and the
// admin gets the right outcome.
func TestAdminCancelsWhatBegins(t *testing.T) {
	t.Parallel()
	a, b := twoAgentHubs(t)
	id := a.newSession("ann")
	x := a.mustDial("/ws/"+string(id), as(a.userToken("ann")))
	const messages = 6
	x.sendToAgent("monitor-0", "m0", "/nosteer", "/say hi", "/sleep 50ms", "/say hi")
	next[wire.AgentResponse](x) // it holds the only slot
	for i := 1; i < messages; i++ {
		x.sendToAgent("monitor-0", wire.MessageID(fmt.Sprint("m", i)), "/nosteer", "/say hi")
	}
	next[wire.MessageQueued](x)
	var wg sync.WaitGroup
	var mu sync.Mutex
	cancelled := map[wire.MessageID]bool{}
	for i := 1; i < messages; i++ {
		wg.Go(func() {
			message := wire.MessageID(fmt.Sprint("m", i))
			r := []*testHub{a, b}[i%2].adminRequest(http.MethodPost, "sessions/"+string(id)+"/messages/"+string(message)+"/cancel", "", `{"reason":"x"}`)
			mu.Lock()
			defer mu.Unlock()
			switch r.status {
			case http.StatusOK:
				cancelled[message] = true
			case http.StatusNotFound, http.StatusConflict:
			default:
				t.Errorf("cancel of %s: got %d %s, want %d, %d or %d", message, r.status, r.body, http.StatusOK, http.StatusNotFound, http.StatusConflict)
			}
		})
	}
	wg.Wait()
	x.sendToAgent("monitor-0", "last", "/say hi")
	x.untilTurnEnd("last")
	began, rejected := map[wire.MessageID]int{}, map[wire.MessageID]int{}
	for _, e := range a.logEvents(id, "MESSAGE_ACCEPTED") {
		began[e.Data.(wire.MessageAccepted).MessageID]++ //nolint:forcetypeassert // it is asked for
	}
	for _, e := range a.logEvents(id, "MESSAGE_REJECTED") {
		rejected[e.Data.(wire.MessageRejected).MessageID]++ //nolint:forcetypeassert // it is asked for
	}
	for i := 1; i < messages; i++ {
		message := wire.MessageID(fmt.Sprint("m", i))
		if began[message]+rejected[message] != 1 || cancelled[message] != (rejected[message] == 1) {
			t.Errorf("%s: got begun %d times, rejected %d times and cancelled %v, want begun or rejected once, cancelled if rejected", message, began[message], rejected[message], cancelled[message])
		}
	}
}

// A connection is closed on whichever replica it is, and its client does not reconnect on its own.
func TestAdminClosesATab(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	a.waitForReplica(b)
	id := a.newSession("ann")
	x := a.mustDial("/ws/"+string(id)+"?client_id=x", as(a.userToken("ann")))
	y := b.mustDial("/ws/"+string(id)+"?client_id=y", as(b.userToken("ann")))
	z := b.mustDial("/ws/"+string(id)+"?client_id=z", as(b.userToken("ann")))
	known := map[wire.ClientID]wire.ConnectionID{}
	for len(known) < 3 {
		for _, c := range next[wire.Presence](x).Connections {
			known[c.ClientID] = c.ConnectionID
		}
	}
	here, there := known["x"], known["y"]
	path := "sessions/" + string(id) + "/tabs/"
	for _, h := range []*testHub{a, b} {
		h.adminRequest(http.MethodPost, path+"unknown/close", "", `{"reason":"x"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		h.adminRequest(http.MethodPost, path+"a%20b/close", "", `{"reason":"x"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		h.adminRequest(http.MethodPost, path+string(here)+"/close", "", `{"reason":""}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	if r := b.adminDone(path+string(here)+"/close", "t-1", `{"reason":"who is that"}`); r.Detail != "it was at one" || r.Action != "tab.close" {
		t.Errorf("got %+v, want tab.close of a tab at one", r)
	}
	if reason := x.wantClosed(wire.CloseExpelled); !strings.Contains(reason, "administrator") {
		t.Errorf("reason of the close: got %q, want the administrator", reason)
	}
	if r := b.adminDone(path+string(there)+"/close", "t-2", `{"reason":"and that"}`); r.Detail != "it was at two" {
		t.Errorf("got %+v, want a tab at two", r)
	}
	y.wantClosed(wire.CloseExpelled)
	z.wantAlive()
	a.adminDone(path+string(here)+"/close", "t-1", `{"reason":"who is that"}`)
	if info := wire.CloseExpelled.Info(); info.Reconnect != wire.ReconnectUser {
		t.Errorf("reconnect after being expelled: got %s, want %s", info.Reconnect, wire.ReconnectUser)
	}
}

// A session moves to another replica during a stream, requested through any replica, and back, and
// the tabs see one complete stream.
func TestAdminHandsOver(t *testing.T) {
	t.Parallel()
	a, b := twoAgentHubs(t)
	root := a.userToken("root", "admin")
	id := a.newSession("ann")
	x := a.mustDial("/ws/"+string(id), as(a.userToken("ann"))).readInBackground()
	x.wantAlive() // the first to open it owns it
	y := b.mustDial("/ws/"+string(id), as(b.userToken("ann")))
	y.wantAlive()
	x.sendToAgent("monitor-0", "m1", "/nosteer", "/stream 100 100", "/window w Hello | there", "/say end")
	for said := ""; !strings.Contains(said, "w5"); {
		said = next[wire.AgentResponse](x).Delta
	}
	path := "sessions/" + string(id) + "/handover"
	for i, h := range []*testHub{b, a} {
		r := h.adminDone(path, "h-1", `{"reason":"balance","to":"two"}`)
		if !strings.HasPrefix(r.Detail, "owner: one, then two (epoch ") || r.Target != string(id)+"/two" || r.Replica != "two" {
			t.Errorf("handover %d: got %+v, want the owner one, then two", i, r)
		}
	}
	b.waitForBody("/api/admin/sessions/"+string(id), root, `"owner":"two"`)
	if r := a.adminDone(path, "h-2", `{"reason":"balance","to":"two"}`); r.Detail != "owner: two already" {
		t.Errorf("got %+v, want owner: two already", r)
	}
	words := make([]string, 100)
	for i := range words {
		words[i] = fmt.Sprint("w", i+1)
	}
	want := strings.Join(words, " ")
	text := ""
	for _, e := range y.untilTurnEnd("m1") {
		if r, ok := e.Data.(wire.AgentResponse); ok {
			text = text[:min(r.Offset, len(text))] + r.Delta
		}
	}
	x.untilTurnEnd("m1")
	if text != want+"\nend" {
		t.Errorf("text: got %q, want %q", text, want+"\nend")
	}
	if got := len(b.logEvents(id, "OWNER_CHANGED")); got != 2 {
		t.Errorf("%d owners, want two", got)
	}
	for _, h := range []*testHub{a, b} {
		h.adminRequest(http.MethodPost, path, "", `{"reason":"x","to":"three"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		h.adminRequest(http.MethodPost, path, "", `{"reason":"x"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
		h.adminRequest(http.MethodPost, path, "", `{"reason":"x","to":"no name"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	b.adminRequest(http.MethodPost, "sessions/unknown/handover", "", `{"reason":"x","to":"one"}`).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	// Two concurrent handovers to different replicas are both executed, one after the other.
	var wg sync.WaitGroup
	for i, to := range []string{"one", "two", "one", "two"} {
		wg.Go(func() {
			[]*testHub{a, b}[i/2].adminDone(path, fmt.Sprint("r-", i), fmt.Sprintf(`{"reason":"x","to":%q}`, to))
		})
	}
	wg.Wait()
	b.adminRequest(http.MethodPost, "replicas/one/drain", "", `{"reason":"upgrade"}`).wantStatus(http.StatusOK)
	b.waitForBody("/api/admin/replicas", root, `"id":"one","state":"drained"`)
	b.adminRequest(http.MethodPost, path, "", `{"reason":"x","to":"one"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	y.wantAlive()
	b.auditRecords()
}
