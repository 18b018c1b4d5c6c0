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
func (h *hall) story() []auditRecord {
	h.t.Helper()
	var list struct{ Records []auditRecord }
	h.get("/api/admin/audit", h.user("root", "admin")).want(http.StatusOK).decode(&list)
	var verdict struct{ OK bool }
	if h.get("/api/admin/audit/verify", h.user("root", "admin")).want(http.StatusOK).decode(&verdict); !verdict.OK {
		h.t.Error("the audit is broken")
	}
	return list.Records
}

// begunRecords returns the records of the beginnings of all actions.
func (h *hall) records() []auditRecord {
	h.t.Helper()
	return slices.DeleteFunc(h.story(), func(r auditRecord) bool { return r.Result != "begun" })
}

// adminRequest sends a request as an admin, with an Idempotency-Key unless key is empty.
func (h *hall) act(method, path, key, body string) reply {
	h.t.Helper()
	r := request{token: h.user("root", "admin"), body: body, header: http.Header{}}
	if key != "" {
		r.header.Set("Idempotency-Key", key)
	}
	return h.rest(method, "/api/admin/"+path, r)
}

// twoHubs starts two hubs on one Redis.
func twins(t *testing.T, tune ...func(*plan)) (a, b *hall) {
	t.Helper()
	server := redistest.Standalone(t)
	build := func(id wire.ReplicaID) *hall {
		return newHall(t, append([]func(*plan){func(p *plan) {
			p.session.Replica, p.members = id, true
			p.store = func(log *slog.Logger) (engine, error) {
				return redisstore.Open(t.Context(), server.Client(t), redisstore.Config{Logger: log})
			}
		}}, tune...)...)
	}
	return build("one"), build("two")
}

// waitForBody repeats a request until its response contains want.
func (h *hall) await(path, token, want string) {
	h.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // each request is in the log
	defer tick.Stop()
	deadline := time.After(h.wait)
	for {
		r := h.get(path, token)
		if got := fmt.Sprintf("%d %s", r.status, r.body); strings.Contains(got, want) {
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
	h := newHall(t)
	id := string(h.session("ann"))
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
		h.rest(r.method, path, request{body: body}).problem(http.StatusUnauthorized, wire.CodeAuthRequired)
		for _, token := range []string{h.user("ann"), h.user("eve", "viewer")} {
			h.rest(r.method, path, request{token: token, body: body}).problem(http.StatusNotFound, wire.CodeInvalidMessage)
		}
	}
	if got := h.records(); len(got) != 0 {
		t.Errorf("records: %+v", got)
	}
	h.get(at(wire.SessionID(id)), h.user("ann")).want(http.StatusOK)
}

func TestAdminBadInput(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id := string(h.session("ann"))
	reset := "sessions/" + id + "/reset"
	for _, body := range []string{``, `{}`, `{"reason":""}`, `{"reason":"  "}`, `{"reason":7}`, `{"reason":"` + strings.Repeat("x", 501) + `"}`, `[`} {
		h.act(http.MethodPost, reset, "", body).problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.act(http.MethodDelete, "sessions/"+id, "", "").problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if p := h.act(http.MethodPost, reset, strings.Repeat("k", 65), `{"reason":"x"}`).problem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != "Idempotency-Key" {
		t.Errorf("field %q", p.Field)
	}
	h.act(http.MethodPost, "sessions/nobody/reset", "", `{"reason":"x"}`).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.act(http.MethodPost, "sessions/a%20b/reset", "", `{"reason":"x"}`).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.act(http.MethodPost, "replicas/nobody/drain", "", `{"reason":"x"}`).problem(http.StatusNotFound, wire.CodeInvalidMessage)
	for _, query := range []string{"owner=a%20b", "quarantined=perhaps", "limit=0", "limit=x"} {
		h.act(http.MethodGet, "sessions?"+query, "", "").problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	h.act(http.MethodGet, "audit?after=%00", "", "").problem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if got := h.records(); len(got) != 0 {
		t.Errorf("records of what was refused: %+v", got)
	}
}

// The same action through any replica has one record, one effect and one response.
func TestAdminActsOnce(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	id := a.session("ann")
	x := a.enter("/ws/"+string(id), as(a.user("ann"))).attend()
	next[wire.SessionState](x)
	open := func(window wire.WindowID) {
		t.Helper()
		a.post(at(id, "/actions"), a.user("ann"), fmt.Sprintf(
			`{"actions":[{"type":"window.create","windowId":%q,"title":"w","bounds":{"x":0,"y":0,"w":100,"h":100},"content":{"renderer":"text","data":""}}]}`, window)).want(http.StatusOK)
	}
	windows := func() int {
		t.Helper()
		var state struct{ Windows []json.RawMessage }
		b.get(at(id, "/snapshot"), b.user("ann")).want(http.StatusOK).decode(&state)
		return len(state.Windows)
	}
	open("w1")
	var answers [3]reply
	for i, h := range []*hall{a, b, b} {
		answers[i] = h.act(http.MethodPost, "sessions/"+string(id)+"/reset", "key-1", `{"reason":"it hangs"}`).want(http.StatusOK)
		if string(answers[i].body) != string(answers[0].body) {
			t.Errorf("answer %d: %s, want %s", i, answers[i].body, answers[0].body)
		}
		if got := windows(); got != i {
			t.Errorf("%d windows after %d, want %d", got, i, i)
		}
		open(wire.WindowID(fmt.Sprint("after-", i)))
	}
	b.act(http.MethodPost, "sessions/"+string(id)+"/reset", "key-1", `{"reason":"another one"}`).problem(http.StatusConflict, wire.CodeSessionInvalidState)
	b.act(http.MethodPost, "sessions/"+string(id)+"/interrupt", "key-1", `{"reason":"it hangs"}`).problem(http.StatusConflict, wire.CodeSessionInvalidState)
	b.act(http.MethodPost, "sessions/"+string(id)+"/reset", "", `{"reason":"again"}`).want(http.StatusOK)
	if got := windows(); got != 0 {
		t.Errorf("%d windows after another reset", got)
	}
	b.act(http.MethodPost, "sessions/"+string(id)+"/interrupt", "key-2", `{"reason":"too loud"}`).want(http.StatusOK)
	for range 2 {
		b.act(http.MethodDelete, "sessions/"+string(id)+"?reason=gone", "key-3", "").want(http.StatusOK)
	}
	a.act(http.MethodDelete, "sessions/"+string(id), "key-4", `{"reason":"gone"}`).problem(http.StatusNotFound, wire.CodeSessionNotFound)
	x.closed(wire.CloseExpired)
	got := a.records()
	var actions []string
	for _, r := range got {
		actions = append(actions, r.Action+" "+r.Reason)
	}
	if want := []string{"session.delete gone", "session.interrupt too loud", "session.reset again", "session.reset it hangs"}; fmt.Sprint(actions) != fmt.Sprint(want) {
		t.Fatalf("records: %q, want %q", actions, want)
	}
	first := got[3]
	if first.ID != "key-1" || first.Who != "root" || first.Target != string(id) || first.Replica != "one" || first.Address != "127.0.0.1" {
		t.Errorf("record %+v", first)
	}
}

// Idempotency keys of admins and message ids are independent.
func TestAdminKeyIsNoMessageID(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id := h.session("ann")
	x := h.enter("/ws/"+string(id), as(h.user("ann")))
	x.emit("key-1")
	x.sayAs("key-2", wire.Emit{MessageID: "key-2", Actions: []wire.Action{wire.AppBadge{AppID: "mail", Count: 2}}})
	next[wire.Emitted](x)
	badges := func() int {
		t.Helper()
		var state struct{ Badges map[string]int }
		h.get(at(id, "/snapshot"), h.user("ann")).want(http.StatusOK).decode(&state)
		return len(state.Badges)
	}
	if got := badges(); got != 1 {
		t.Fatalf("%d badges, want one", got)
	}
	for range 2 {
		h.act(http.MethodPost, "sessions/"+string(id)+"/reset", "key-1", `{"reason":"it hangs"}`).want(http.StatusOK)
	}
	if got := badges(); got != 0 {
		t.Errorf("%d badges after a reset", got)
	}
	h.act(http.MethodPost, "sessions/"+string(id)+"/reset", "key-3", `{"reason":"again"}`).want(http.StatusOK)
	x.emit("key-3")
	if got := badges(); got != 1 {
		t.Errorf("%d badges, want one", got)
	}
}

// An action that the session's owner refuses is refused through every replica, and every time.
func TestAdminIsRefused(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	id := a.session("ann")
	a.enter("/ws/"+string(id), as(a.user("ann"))).alive() // so that this replica owns it
	for i, h := range []*hall{a, b} {
		for range 2 {
			p := h.act(http.MethodPost, "sessions/"+string(id)+"/interrupt", fmt.Sprint("key-", i), `{"reason":"too loud","agentId":"nobody"}`).
				problem(http.StatusConflict, wire.CodeSessionInvalidState)
			if !strings.Contains(p.Detail, "no such agent") {
				t.Errorf("at %d: %+v", i, p)
			}
		}
	}
	if got := a.records(); len(got) != 2 {
		t.Errorf("%d records of what was tried, want two", len(got))
	}
}

// A draining hub executes no action on its sessions, and records none.
func TestAdminAsksADrainedHub(t *testing.T) {
	t.Parallel()
	h := newHall(t)
	id := h.session("ann")
	h.server.Drain()
	h.hub.Drain(t.Context())
	for _, act := range []string{"reset", "interrupt"} {
		p := h.act(http.MethodPost, "sessions/"+string(id)+"/"+act, "key-"+act, `{"reason":"it hangs"}`).
			problem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
		if !strings.Contains(p.Detail, "another") {
			t.Errorf("%s: %+v", act, p)
		}
	}
	if got := h.records(); len(got) != 0 {
		t.Errorf("records of what was not done: %+v", got)
	}
	h.get(at(id, "/snapshot"), h.user("ann")).problem(http.StatusServiceUnavailable, wire.CodeStoreUnavailable)
	h.server.Undrain()
	h.hub.Undrain()
	h.act(http.MethodPost, "sessions/"+string(id)+"/reset", "key-reset", `{"reason":"it hangs"}`).want(http.StatusOK)
	h.act(http.MethodDelete, "sessions/"+string(id)+"?reason=gone", "", "").want(http.StatusOK)
}

func TestAdminManyAtOnce(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	id := a.session("ann")
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			[]*hall{a, b}[i%2].act(http.MethodPost, "sessions/"+string(id)+"/reset", "same", `{"reason":"x"}`).want(http.StatusOK)
		})
	}
	wg.Wait()
	if got := b.records(); len(got) != 1 {
		t.Errorf("%d records, want one", len(got))
	}
	// Requests after the deletion get the same response.
	const sessions = 8
	for n := range sessions {
		id, key := a.session("ann"), fmt.Sprintf("delete-%d", n)
		for i := range 6 {
			wg.Go(func() {
				[]*hall{a, b}[i%2].act(http.MethodDelete, "sessions/"+string(id), key, `{"reason":"x"}`).want(http.StatusOK)
			})
		}
	}
	wg.Wait()
	if got := b.records(); len(got) != 1+sessions {
		t.Errorf("%d records, want %d", len(got), 1+sessions)
	}
}

func TestAdminDirectory(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	mine, _ := a.room()
	for range 7 {
		a.session("bob")
	}
	bad := a.session("ann")
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
			b.act(http.MethodGet, "sessions?limit=2&sort=user&"+query+after, "", "").want(http.StatusOK).decode(&p)
			for _, s := range p.Rows {
				found = append(found, s.SessionID)
			}
			if p.Next == "" {
				if p.Total != len(found) {
					t.Errorf("%s: %d sessions, %d in all", query, len(found), p.Total)
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
		t.Errorf("owned by two: %v", got)
	}
	if got := walk("quarantined=true"); len(got) != 1 || got[0] != bad {
		t.Errorf("set aside: %v, want %s", got, bad)
	}
	b.await("/api/admin/sessions?tabs=0", b.user("root", "admin:read"), `"total":8`)
	got := string(b.act(http.MethodGet, "sessions/"+string(mine), "", "").want(http.StatusOK).body)
	for _, part := range []string{`"owner":"one"`, `"known":true`, `"epoch":1`, `"top":"1`, `"updatedAt":1`, `"tabs":[{"connectionId":"conn-`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	b.act(http.MethodPost, "sessions/"+string(bad)+"/reset", "", `{"reason":"x"}`).problem(http.StatusConflict, wire.CodeSessionInvalidState)
	b.act(http.MethodPost, "sessions/"+string(bad)+"/release", "key", `{"reason":"looked at it"}`).want(http.StatusOK)
	a.get(at(bad, "/snapshot"), a.user("ann")).want(http.StatusOK)
	if r := b.done("sessions/"+string(bad)+"/release", "", `{"reason":"to be sure"}`); r.Detail != "it was not set aside" {
		t.Errorf("released twice: %+v", r)
	}
	if err := a.store.Quarantine(t.Context(), bad, "again"); err != nil {
		t.Fatal(err)
	}
	b.act(http.MethodPost, "sessions/"+string(bad)+"/release", "key", `{"reason":"looked at it"}`).want(http.StatusOK)
	if info, err := a.hub.Info(t.Context(), bad); err != nil || info.Quarantined == "" {
		t.Errorf("what was done once was done again: %+v %v", info, err)
	}
	b.act(http.MethodDelete, "sessions/"+string(bad), "", `{"reason":"nobody can read it"}`).want(http.StatusOK)
	b.act(http.MethodGet, "sessions/"+string(bad), "", "").problem(http.StatusNotFound, wire.CodeSessionNotFound)
	var limits struct{ UserSessions, UserConnections int }
	b.act(http.MethodGet, "limits", "", "").want(http.StatusOK).decode(&limits)
	if limits.UserSessions != 200 || limits.UserConnections != 2000 {
		t.Errorf("limits %+v", limits)
	}
}

// A replica is drained through another one: it refuses new clients, its tabs are disconnected, the
// session continues on the other replica, and the drain can be undone.
func TestAdminDrain(t *testing.T) {
	t.Parallel()
	a, b := twins(t)
	root := a.user("root", "admin")
	b.await("/api/admin/replicas", root, `"id":"one"`)
	a.await("/api/admin/replicas", root, `"id":"two"`)
	id := a.session("ann")
	x := a.enter("/ws/"+string(id), as(a.user("ann")))
	x.alive()
	y := b.enter("/ws/"+string(id), as(b.user("ann")))
	y.alive()
	for range 2 {
		b.act(http.MethodPost, "replicas/one/drain", "d-1", `{"reason":"upgrade"}`).want(http.StatusOK)
	}
	x.closed(wire.CloseDraining)
	b.await("/api/admin/replicas", root, `"id":"one","state":"drained"`)
	y.alive()
	a.get("/readyz", "").problem(http.StatusServiceUnavailable, wire.CodeConnectionFailed)
	a.get("/healthz", "").want(http.StatusOK)
	a.refused("/ws/"+string(id), as(a.user("ann")), http.StatusServiceUnavailable, wire.CodeConnectionFailed)
	b.await("/api/admin/sessions/"+string(id), root, `"owner":"two"`)
	a.await("/api/admin/replicas", root, `"state":"drained"`)
	a.act(http.MethodPost, "replicas/one/undrain", "d-2", `{"reason":"done"}`).want(http.StatusOK)
	a.await("/readyz", "", "200 ")
	b.await("/api/admin/replicas", root, `"id":"one","state":"serving"`)
	// An earlier action is not executed again.
	b.act(http.MethodPost, "replicas/one/drain", "d-1", `{"reason":"upgrade"}`).want(http.StatusOK)
	z := a.enter("/ws/"+string(id), as(a.user("ann")))
	z.alive()
	y.alive()
	if got := a.records(); len(got) != 2 || got[0].Action != "replica.undrain" || got[1].Action != "replica.drain" || got[1].Target != "one" || got[1].Replica != "two" {
		t.Errorf("records %+v", got)
	}
	z.alive()
}
