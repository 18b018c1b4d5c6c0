package gateway_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store/redisstore"
	"github.com/everdesk/everdesk/wire"
)

// auditRecord is a record of the audit API.
type auditRecord struct {
	Seq                                                                           uint64
	Time                                                                          int64
	ID, Who, Address, Action, Target, Reason, Replica, Result, Detail, Hash, Prev string
}

// auditRecords returns all audit records, newest first.
func (h *testHub) auditRecords() []auditRecord {
	h.t.Helper()
	var list struct{ Records []auditRecord }
	h.get("/api/admin/audit", h.userToken("root", "admin")).wantStatus(http.StatusOK).decode(&list)
	var verdict struct{ OK bool }
	if h.get("/api/admin/audit/verify", h.userToken("root", "admin")).wantStatus(http.StatusOK).decode(&verdict); !verdict.OK {
		h.t.Errorf("got verdict %+v on the audit log, want OK", verdict)
	}
	return list.Records
}

// begunRecords returns the records of the beginnings of all actions.
func (h *testHub) begunRecords() []auditRecord {
	h.t.Helper()
	return slices.DeleteFunc(h.auditRecords(), func(r auditRecord) bool { return r.Result != "begun" })
}

// adminRequest sends a request as an admin, with an Idempotency-Key unless key is empty.
func (h *testHub) adminRequest(method, path, key, body string) reply {
	h.t.Helper()
	r := request{token: h.userToken("root", "admin"), body: body, header: http.Header{}}
	if key != "" {
		r.header.Set("Idempotency-Key", key)
	}
	return h.rest(method, "/api/admin/"+path, r)
}

// twoHubs starts two hubs on one Redis.
func twoHubs(t *testing.T, tune ...func(*hubOptions)) (a, b *testHub) {
	t.Helper()
	return twoHubsOn(t, redistest.Standalone(t), tune...)
}

// twoHubsOn starts two hubs on a Redis.
func twoHubsOn(t *testing.T, server *redistest.Server, tune ...func(*hubOptions)) (a, b *testHub) {
	t.Helper()
	build := func(id wire.ReplicaID) *testHub {
		return newTestHub(t, append([]func(*hubOptions){func(p *hubOptions) {
			p.session.Replica, p.members = id, true
			p.store = func(log *slog.Logger) (engine, error) {
				s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{Logger: log})
				if err == nil {
					p.session.Signals = s.Signals
				}
				return joinRedis(s, err)
			}
		}}, tune...)...)
	}
	return build("one"), build("two")
}

// waitForBody repeats a request until its response contains want.
func (h *testHub) waitForBody(path, token, want string) {
	h.t.Helper()
	h.waitForReply(path, token, want, func(r reply) bool {
		return strings.Contains(fmt.Sprintf("%d %s", r.status, r.body), want)
	})
}

// waitForReply repeats a request until its response is as wanted.
func (h *testHub) waitForReply(path, token, want string, ok func(reply) bool) {
	h.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // each request is in the log
	defer tick.Stop()
	deadline := time.After(h.wait)
	for {
		r := h.get(path, token)
		if ok(r) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			h.t.Fatalf("%s: %d %s, want %s", path, r.status, r.body, want)
		}
	}
}

// Users without an admin role get 404 for the admin API.
func TestAdminRights(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := string(h.newSession("ann"))
	for _, r := range []struct{ method, path string }{
		{http.MethodGet, "replicas"},
		{http.MethodPost, "replicas/replica-1/drain"},
		{http.MethodPost, "replicas/replica-1/undrain"},
		{http.MethodGet, "sessions"},
		{http.MethodGet, "sessions/" + id},
		{http.MethodDelete, "sessions/" + id + "?reason=x"},
		{http.MethodPost, "sessions/" + id + "/interrupt"},
		{http.MethodPost, "sessions/" + id + "/messages/m-1/cancel"},
		{http.MethodPost, "sessions/" + id + "/tabs/conn-1/close"},
		{http.MethodPost, "sessions/" + id + "/handover"},
		{http.MethodPost, "sessions/" + id + "/reset"},
		{http.MethodPost, "sessions/" + id + "/release"},
		{http.MethodGet, "limits"},
		{http.MethodGet, "audit"},
		{http.MethodGet, "audit/verify"},
	} {
		body := ""
		if r.method == http.MethodPost {
			body = `{"reason":"because"}`
		}
		path := "/api/admin/" + r.path
		h.rest(r.method, path, request{body: body}).wantProblem(http.StatusUnauthorized, wire.CodeAuthRequired)
		for _, token := range []string{h.userToken("ann"), h.userToken("eve", "viewer")} {
			h.rest(r.method, path, request{token: token, body: body}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
		}
	}
	if got := h.begunRecords(); len(got) != 0 {
		t.Errorf("audit records: got %+v, want none", got)
	}
	h.get(sessionPath(wire.SessionID(id)), h.userToken("ann")).wantStatus(http.StatusOK)
}

func TestAdminBadInput(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := string(h.newSession("ann"))
	reset := "sessions/" + id + "/reset"
	for _, body := range []string{``, `{}`, `{"reason":""}`, `{"reason":"  "}`, `{"reason":7}`, `{"reason":"` + strings.Repeat("x", 501) + `"}`, `[`} {
		h.adminRequest(http.MethodPost, reset, "", body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.adminRequest(http.MethodDelete, "sessions/"+id, "", "").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if p := h.adminRequest(http.MethodPost, reset, strings.Repeat("k", 65), `{"reason":"x"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "Idempotency-Key" {
		t.Errorf("long Idempotency-Key: got field %q, want Idempotency-Key", p.Field)
	}
	h.adminRequest(http.MethodPost, "sessions/unknown/reset", "", `{"reason":"x"}`).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.adminRequest(http.MethodPost, "sessions/a%20b/reset", "", `{"reason":"x"}`).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.adminRequest(http.MethodPost, "replicas/unknown/drain", "", `{"reason":"x"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	for _, query := range []string{"owner=a%20b", "quarantined=perhaps", "limit=0", "limit=x"} {
		h.adminRequest(http.MethodGet, "sessions?"+query, "", "").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.adminRequest(http.MethodGet, "audit?after=%00", "", "").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if got := h.begunRecords(); len(got) != 0 {
		t.Errorf("audit records of refused actions: got %+v, want none", got)
	}
}

// The same action through any replica has one record, one effect and one response.
func TestAdminActsOnce(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	id := a.newSession("ann")
	x := a.mustDial("/ws/"+string(id), as(a.userToken("ann"))).readInBackground()
	next[wire.SessionState](x)
	open := func(window wire.WindowID) {
		t.Helper()
		a.post(sessionPath(id, "/actions"), a.userToken("ann"), fmt.Sprintf(
			`{"actions":[{"type":"window.create","windowId":%q,"title":"w","bounds":{"x":0,"y":0,"w":100,"h":100},"content":{"renderer":"text","data":""}}]}`, window)).wantStatus(http.StatusOK)
	}
	// The other replica follows the session, so its snapshot may be a moment old.
	waitForWindows := func(want int) {
		t.Helper()
		b.waitForReply(sessionPath(id, "/snapshot"), b.userToken("ann"), fmt.Sprint(want, " windows"), func(r reply) bool {
			var state struct{ Windows []json.RawMessage }
			r.wantStatus(http.StatusOK).decode(&state)
			return len(state.Windows) == want
		})
	}
	open("w1")
	var answers [3]reply
	for i, h := range []*testHub{a, b, b} {
		answers[i] = h.adminRequest(http.MethodPost, "sessions/"+string(id)+"/reset", "key-1", `{"reason":"it hangs"}`).wantStatus(http.StatusOK)
		if string(answers[i].body) != string(answers[0].body) {
			t.Errorf("answer %d: %s, want %s", i, answers[i].body, answers[0].body)
		}
		waitForWindows(i)
		open(wire.WindowID(fmt.Sprint("after-", i)))
	}
	b.adminRequest(http.MethodPost, "sessions/"+string(id)+"/reset", "key-1", `{"reason":"another one"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	b.adminRequest(http.MethodPost, "sessions/"+string(id)+"/interrupt", "key-1", `{"reason":"it hangs"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	b.adminRequest(http.MethodPost, "sessions/"+string(id)+"/reset", "", `{"reason":"again"}`).wantStatus(http.StatusOK)
	waitForWindows(0)
	b.adminRequest(http.MethodPost, "sessions/"+string(id)+"/interrupt", "key-2", `{"reason":"too loud"}`).wantStatus(http.StatusOK)
	for range 2 {
		b.adminRequest(http.MethodDelete, "sessions/"+string(id)+"?reason=gone", "key-3", "").wantStatus(http.StatusOK)
	}
	a.adminRequest(http.MethodDelete, "sessions/"+string(id), "key-4", `{"reason":"gone"}`).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	x.wantClosed(wire.CloseExpired)
	got := a.begunRecords()
	var actions []string
	for _, r := range got {
		actions = append(actions, r.Action+" "+r.Reason)
	}
	if want := []string{"session.delete gone", "session.interrupt too loud", "session.reset again", "session.reset it hangs"}; fmt.Sprint(actions) != fmt.Sprint(want) {
		t.Fatalf("records: %q, want %q", actions, want)
	}
	first := got[3]
	if first.ID != "key-1" || first.Who != "root" || first.Target != string(id) || first.Replica != "one" || first.Address != "127.0.0.1" {
		t.Errorf("audit record: got %+v, want key-1 of root at one for %s", first, id)
	}
}

// Idempotency keys of admins and message ids are independent.
func TestAdminKeyIsNoMessageID(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	x := h.mustDial("/ws/"+string(id), as(h.userToken("ann")))
	x.emit("key-1")
	x.sendWithID("key-2", wire.Emit{MessageID: "key-2", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 2}}})
	next[wire.Emitted](x)
	badges := func() int {
		t.Helper()
		var state struct{ Badges map[string]int }
		h.get(sessionPath(id, "/snapshot"), h.userToken("ann")).wantStatus(http.StatusOK).decode(&state)
		return len(state.Badges)
	}
	if got := badges(); got != 1 {
		t.Fatalf("%d badges, want one", got)
	}
	for range 2 {
		h.adminRequest(http.MethodPost, "sessions/"+string(id)+"/reset", "key-1", `{"reason":"it hangs"}`).wantStatus(http.StatusOK)
	}
	if got := badges(); got != 0 {
		t.Errorf("badges after a reset: got %d, want 0", got)
	}
	h.adminRequest(http.MethodPost, "sessions/"+string(id)+"/reset", "key-3", `{"reason":"again"}`).wantStatus(http.StatusOK)
	x.emit("key-3")
	if got := badges(); got != 1 {
		t.Errorf("%d badges, want one", got)
	}
}

// An action that the session's owner refuses is refused through every replica, and every time.
func TestAdminIsRefused(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	id := a.newSession("ann")
	a.mustDial("/ws/"+string(id), as(a.userToken("ann"))).wantAlive() // so that this replica owns it
	for i, h := range []*testHub{a, b} {
		for range 2 {
			p := h.adminRequest(http.MethodPost, "sessions/"+string(id)+"/interrupt", fmt.Sprint("key-", i), `{"reason":"too loud","agentId":"unknown"}`).
				wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
			if !strings.Contains(p.Detail, "no such agent") {
				t.Errorf("interrupt %d: got %+v, want no such agent", i, p)
			}
		}
	}
	if got := a.begunRecords(); len(got) != 2 {
		t.Errorf("%d records of what was tried, want two", len(got))
	}
}

// A draining hub executes no action on its sessions, and records none.
func TestAdminAsksADrainedHub(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	id := h.newSession("ann")
	h.server.Drain()
	h.hub.Drain(t.Context())
	for _, act := range []string{"reset", "interrupt"} {
		p := h.adminRequest(http.MethodPost, "sessions/"+string(id)+"/"+act, "key-"+act, `{"reason":"it hangs"}`).
			wantProblem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
		if !strings.Contains(p.Detail, "another") {
			t.Errorf("%s: got %+v, want a hint at another replica", act, p)
		}
	}
	if got := h.begunRecords(); len(got) != 0 {
		t.Errorf("audit records of what was not done: got %+v, want none", got)
	}
	h.get(sessionPath(id, "/snapshot"), h.userToken("ann")).wantProblem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
	h.server.Undrain()
	h.hub.Undrain()
	h.adminRequest(http.MethodPost, "sessions/"+string(id)+"/reset", "key-reset", `{"reason":"it hangs"}`).wantStatus(http.StatusOK)
	h.adminRequest(http.MethodDelete, "sessions/"+string(id)+"?reason=gone", "", "").wantStatus(http.StatusOK)
}

func TestAdminManyAtOnce(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	id := a.newSession("ann")
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			[]*testHub{a, b}[i%2].adminRequest(http.MethodPost, "sessions/"+string(id)+"/reset", "same", `{"reason":"x"}`).wantStatus(http.StatusOK)
		})
	}
	wg.Wait()
	if got := b.begunRecords(); len(got) != 1 {
		t.Errorf("%d records, want one", len(got))
	}
	// Requests after the deletion get the same response.
	const sessions = 8
	for n := range sessions {
		id, key := a.newSession("ann"), fmt.Sprintf("delete-%d", n)
		for i := range 6 {
			wg.Go(func() {
				[]*testHub{a, b}[i%2].adminRequest(http.MethodDelete, "sessions/"+string(id), key, `{"reason":"x"}`).wantStatus(http.StatusOK)
			})
		}
	}
	wg.Wait()
	if got := b.begunRecords(); len(got) != 1+sessions {
		t.Errorf("%d records, want %d", len(got), 1+sessions)
	}
}

func TestAdminDirectory(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	mine, _ := a.sessionWithTab()
	for range 7 {
		a.newSession("bob")
	}
	bad := a.newSession("ann")
	if err := a.store.Quarantine(t.Context(), bad, "a bit fell over"); err != nil {
		t.Fatal(err)
	}
	type page struct {
		Rows  []struct{ SessionID wire.SessionID }
		Total int
		Next  string
	}
	// Sorted by keys that do not change during the test: a moving row is seen twice or never.
	walk := func(query string) (found []wire.SessionID) {
		t.Helper()
		for after := ""; ; {
			var p page
			b.adminRequest(http.MethodGet, "sessions?limit=2&sort=user&"+query+after, "", "").wantStatus(http.StatusOK).decode(&p)
			for _, s := range p.Rows {
				found = append(found, s.SessionID)
			}
			if p.Next == "" {
				if p.Total != len(found) {
					t.Errorf("%s: got a total of %d, want %d", query, p.Total, len(found))
				}
				return found
			}
			after = "&after=" + p.Next
		}
	}
	if got := walk(""); len(got) != 9 {
		t.Errorf("%d sessions, want 9", len(got))
	}
	if got := walk("user=bob"); len(got) != 7 {
		t.Errorf("%d sessions of bob, want 7", len(got))
	}
	if got := walk("owner=one"); len(got) != 1 || got[0] != mine {
		t.Errorf("owned by one: %v, want %s", got, mine)
	}
	if got := walk("owner=two"); len(got) != 0 {
		t.Errorf("sessions of two: got %v, want none", got)
	}
	if got := walk("quarantined=true"); len(got) != 1 || got[0] != bad {
		t.Errorf("quarantined: %v, want %s", got, bad)
	}
	b.waitForBody("/api/admin/sessions?tabs=0", b.userToken("root", "admin:read"), `"total":8`)
	got := string(b.adminRequest(http.MethodGet, "sessions/"+string(mine), "", "").wantStatus(http.StatusOK).body)
	for _, part := range []string{`"owner":"one"`, `"known":true`, `"epoch":1`, `"top":"1`, `"updatedAt":1`, `"tabs":[{"connectionId":"conn-`} {
		if !strings.Contains(got, part) {
			t.Errorf("detail: got %s, want it to contain %s", got, part)
		}
	}
	b.adminRequest(http.MethodPost, "sessions/"+string(bad)+"/reset", "", `{"reason":"x"}`).wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	b.adminRequest(http.MethodPost, "sessions/"+string(bad)+"/release", "key", `{"reason":"looked at it"}`).wantStatus(http.StatusOK)
	a.get(sessionPath(bad, "/snapshot"), a.userToken("ann")).wantStatus(http.StatusOK)
	if r := b.adminDone("sessions/"+string(bad)+"/release", "", `{"reason":"to be sure"}`); r.Detail != "it was not quarantined" {
		t.Errorf("second release: got %+v, want that it was not quarantined", r)
	}
	if err := a.store.Quarantine(t.Context(), bad, "again"); err != nil {
		t.Fatal(err)
	}
	b.adminRequest(http.MethodPost, "sessions/"+string(bad)+"/release", "key", `{"reason":"looked at it"}`).wantStatus(http.StatusOK)
	if info, err := a.hub.Info(t.Context(), bad); err != nil || info.Quarantined == "" {
		t.Errorf("repeated release: got %+v, error %v, want it still quarantined", info, err)
	}
	b.adminRequest(http.MethodDelete, "sessions/"+string(bad), "", `{"reason":"it cannot be read"}`).wantStatus(http.StatusOK)
	b.adminRequest(http.MethodGet, "sessions/"+string(bad), "", "").wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	var limits struct{ UserSessions, UserConnections int }
	b.adminRequest(http.MethodGet, "limits", "", "").wantStatus(http.StatusOK).decode(&limits)
	if limits.UserSessions != 200 || limits.UserConnections != 2000 {
		t.Errorf("limits: got %+v, want 200 sessions and 2000 connections", limits)
	}
}

// A replica is drained through another one: it refuses new clients, its tabs are disconnected, the
// session continues on the other replica, and the drain can be undone.
func TestAdminDrain(t *testing.T) {
	t.Parallel()
	a, b := twoHubs(t)
	root := a.userToken("root", "admin")
	b.waitForBody("/api/admin/replicas", root, `"id":"one"`)
	a.waitForBody("/api/admin/replicas", root, `"id":"two"`)
	id := a.newSession("ann")
	x := a.mustDial("/ws/"+string(id), as(a.userToken("ann")))
	x.wantAlive()
	y := b.mustDial("/ws/"+string(id), as(b.userToken("ann")))
	y.wantAlive()
	for range 2 {
		b.adminRequest(http.MethodPost, "replicas/one/drain", "d-1", `{"reason":"upgrade"}`).wantStatus(http.StatusOK)
	}
	x.wantClosed(wire.CloseDraining)
	b.waitForBody("/api/admin/replicas", root, `"id":"one","state":"drained"`)
	y.wantAlive()
	a.get("/readyz", "").wantProblem(http.StatusServiceUnavailable, wire.CodeConnectionFailed)
	a.get("/healthz", "").wantStatus(http.StatusOK)
	a.wantRefused("/ws/"+string(id), as(a.userToken("ann")), http.StatusServiceUnavailable, wire.CodeConnectionFailed)
	b.waitForBody("/api/admin/sessions/"+string(id), root, `"owner":"two"`)
	a.waitForBody("/api/admin/replicas", root, `"state":"drained"`)
	a.adminRequest(http.MethodPost, "replicas/one/undrain", "d-2", `{"reason":"done"}`).wantStatus(http.StatusOK)
	a.waitForBody("/readyz", "", "200 ")
	b.waitForBody("/api/admin/replicas", root, `"id":"one","state":"serving"`)
	// An earlier action is not executed again.
	b.adminRequest(http.MethodPost, "replicas/one/drain", "d-1", `{"reason":"upgrade"}`).wantStatus(http.StatusOK)
	z := a.mustDial("/ws/"+string(id), as(a.userToken("ann")))
	z.wantAlive()
	y.wantAlive()
	got := slices.DeleteFunc(a.begunRecords(), func(r auditRecord) bool { return r.Action == "session.detail" })
	if len(got) != 2 || got[0].Action != "replica.undrain" || got[1].Action != "replica.drain" || got[1].Target != "one" || got[1].Replica != "two" {
		t.Errorf("audit records: got %+v, want the undrain and the drain of one by two", got)
	}
	z.wantAlive()
}
