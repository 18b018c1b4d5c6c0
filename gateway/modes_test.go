package gateway_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/wire"
)

// modeList is the answer to requests for modes.
type modeList struct {
	Modes []struct {
		ID, Name, Instructions, ToolProfile, Model string
		Approval                                   *wire.AutoApproval
		Shipped, Overridden                        bool
	}
	Version  int
	Conflict string
}

func (m modeList) ids() string {
	var all []string
	for _, o := range m.Modes {
		all = append(all, o.ID)
	}
	return strings.Join(all, " ")
}

func TestModesOverREST(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	x := h.mustDial("/ws/"+string(h.newSession("ada")), as(ada))
	next[wire.SessionState](x)
	send := func(method, path, body string) reply { return h.rest(method, path, request{token: ada, body: body}) }
	var got modeList
	send(http.MethodGet, "/api/modes", "").wantStatus(http.StatusOK).decode(&got)
	if got.ids() != "code architect ask debug" || !got.Modes[0].Shipped || got.Modes[0].Instructions == "" || got.Version != 0 {
		t.Errorf("at first there are %+v, want the four of the hub", got)
	}
	const mine = `{"name":"내 모드","instructions":"Rhyme.","toolProfile":"show","model":"sonnet","approval":{"autoApprovalEnabled":true},"version":0}`
	send(http.MethodPut, "/api/modes/mine", mine).wantStatus(http.StatusOK).decode(&got)
	if m := got.Modes[len(got.Modes)-1]; m.ID != "mine" || m.Name != "내 모드" || m.ToolProfile != "show" || m.Model != "sonnet" || m.Approval == nil || m.Shipped {
		t.Errorf("the modes are %+v, want mine as it was sent", got)
	}
	if e := next[wire.SettingsChanged](x); !slices.Equal(e.Names, []string{modes.SettingName}) {
		t.Errorf("the tab got %+v, want %s", e, modes.SettingName)
	}
	send(http.MethodPut, "/api/modes/ask", `{"name":"Ask me"}`).wantStatus(http.StatusOK).decode(&got)
	if m := got.Modes[2]; m.Name != "Ask me" || m.ToolProfile != "all" || !m.Shipped || !m.Overridden {
		t.Errorf("ask is %+v, want the override", m)
	}
	var conflict modeList
	send(http.MethodPut, "/api/modes/mine", mine).wantStatus(http.StatusConflict).decode(&conflict)
	if conflict.Conflict == "" || conflict.Version != 2 || conflict.ids() != got.ids() {
		t.Errorf("the conflict is %+v, want what is stored", conflict)
	}
	send(http.MethodDelete, "/api/modes/ask", "").wantStatus(http.StatusOK).decode(&got)
	if m := got.Modes[2]; m.Name != "Ask" {
		t.Errorf("ask is %+v after its override was deleted, want that of the hub", m)
	}
	send(http.MethodDelete, "/api/modes/ask", "").wantProblem(http.StatusForbidden, wire.CodeForbidden)
	send(http.MethodDelete, "/api/modes/none", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodDelete, "/api/modes/mine?version=x", "").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	for field, body := range map[string]string{
		"toolProfile": `{"name":"A","toolProfile":"none"}`, "name": `{"name":" a"}`, "instructions": `{"name":"A","instructions":"` + strings.Repeat("모", 5462) + `"}`,
	} {
		if p := send(http.MethodPut, "/api/modes/bad", body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field != field {
			t.Errorf("%.60s: the problem is %+v, want the field %s", body, p, field)
		}
	}
	h.rest(http.MethodGet, "/api/modes", request{token: h.userToken("bob")}).wantStatus(http.StatusOK).decode(&got)
	if got.ids() != "code architect ask debug" {
		t.Errorf("another user has %s, want the modes of the hub", got.ids())
	}
}

// A session chooses a mode of its user over the wire; the mode limits its agents.
func TestASessionChoosesAModeOverTheWire(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ada := h.userToken("ada")
	h.rest(http.MethodPut, "/api/modes/mine", request{token: ada, body: `{"name":"Mine","toolProfile":"read"}`}).wantStatus(http.StatusOK)
	x := h.mustDial("/ws/"+string(h.newSession("ada")), as(ada))
	next[wire.SessionState](x)
	x.sendWithID("s1", wire.SetMode{Mode: "mine"})
	if e := next[wire.ModeChanged](x); e.Mode.ID != "mine" || e.Mode.ToolProfile != "read" || e.MessageID != "s1" {
		t.Errorf("got %+v, want the mode mine", e)
	}
	x.sendWithID("s2", wire.SetInstructions{Instructions: "Short."})
	if e := next[wire.InstructionsChanged](x); e.Instructions != "Short." {
		t.Errorf("got %+v, want the instructions", e)
	}
	x.sendWithID("s3", wire.SetMode{Mode: "nothing"})
	if e := next[wire.ErrorNotice](x); e.MessageID != "s3" || e.Code != wire.CodeInvalidMessage {
		t.Errorf("got %+v, want s3 rejected", e)
	}
}

func TestTheDefaultOfApprovalRulesOverREST(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	x := h.mustDial("/ws/"+string(h.newSession("ada")), as(ada))
	next[wire.SessionState](x)
	send := func(method, query, body string) reply {
		return h.rest(method, "/api/auto-approval"+query, request{token: ada, body: body})
	}
	type answer struct {
		Rules    wire.AutoApproval
		IsSet    bool
		Version  int
		Conflict string
	}
	var got, conflict answer
	send(http.MethodGet, "", "").wantStatus(http.StatusOK).decode(&got)
	if got.IsSet || got.Rules.AutoApprovalEnabled || got.Version != 0 {
		t.Errorf("at first there is %+v, want no rules", got)
	}
	const rules = `{"rules":{"autoApprovalEnabled":true,"alwaysAllowExecute":true,"allowedCommands":["git status"]},"version":0}`
	send(http.MethodPut, "", rules).wantStatus(http.StatusOK).decode(&got)
	if !got.IsSet || !got.Rules.AlwaysAllowExecute || !slices.Equal(got.Rules.AllowedCommands, []string{"git status"}) || got.Version != 1 {
		t.Errorf("the rules are %+v, want them as they were sent", got)
	}
	if e := next[wire.SettingsChanged](x); !slices.Equal(e.Names, []string{modes.SettingName}) {
		t.Errorf("the tab got %+v, want %s", e, modes.SettingName)
	}
	send(http.MethodPut, "", rules).wantStatus(http.StatusConflict).decode(&conflict)
	if conflict.Conflict == "" || conflict.Version != 1 || !conflict.IsSet {
		t.Errorf("the conflict is %+v, want what is stored", conflict)
	}
	if p := send(http.MethodPut, "", `{"rules":{"allowedMaxCost":-1}}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage); p.Field == "" {
		t.Errorf("the problem is %+v, want a field", p)
	}
	send(http.MethodDelete, "?version=7", "").wantStatus(http.StatusConflict)
	send(http.MethodDelete, "?version=x", "").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	send(http.MethodDelete, "?version=1", "").wantStatus(http.StatusOK).decode(&got)
	if got.IsSet || got.Version != 2 {
		t.Errorf("after the removal there is %+v, want none", got)
	}
	h.rest(http.MethodGet, "/api/auto-approval", request{}).wantStatus(http.StatusUnauthorized)
}
