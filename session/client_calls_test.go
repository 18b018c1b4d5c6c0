package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/tools"
	"github.com/everdesk/everdesk/wire"
)

func clientCall(id wire.MessageID, tool, input string) session.ClientCall {
	return session.ClientCall{
		ID: id, Token: "token-1", Name: "Editor", Monitor: firstMonitor, Profile: tools.ProfileDefault, Tool: tool, Input: json.RawMessage(input),
	}
}

const openNote = `{"windowId":"note","title":"N","content":{"renderer":"text","content":"hi"}}`

// A program calls tools through any replica. The calls are those of the program in the session.
func TestClientCallThroughAnyReplica(t *testing.T) {
	t.Parallel()
	for name, open := range deployments() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			near := startAgentHub(t, s, hubConfig{})
			d := near.newDesktop(t, "ses-1")
			far := startAgentHub(t, s, hubConfig{replica: "b"})
			got, err := near.CallTool(t.Context(), "ses-1", clientCall("mcp-1", "window_create", openNote))
			requireNoError(t, err)
			if got.IsError || got.Text != `Opened window "note".` {
				t.Errorf("at the owner: got %+v, want the window opened", got)
			}
			got, err = far.CallTool(t.Context(), "ses-1", clientCall("mcp-2", "window_list", `{}`))
			requireNoError(t, err)
			if got.IsError || !strings.Contains(got.Text, `"note"`) {
				t.Errorf("at another replica: got %+v, want a list with the window", got)
			}
			p := waitEvent(t, d.eventLog, func(p wire.ToolProgress) bool { return p.ToolUseID == "mcp-2" && p.Status == wire.ToolComplete })
			if p.AgentID != "client-Editor" || p.MessageID != "" {
				t.Errorf("the call is %+v, want it of client-Editor and of no message", p)
			}
			d.waitIdle()
			if _, err := near.CallTool(t.Context(), "ses-9", clientCall("mcp-3", "window_list", `{}`)); err == nil {
				t.Error("a call in a session that does not exist gives no error, want one")
			}
		})
	}
}

// A call that was admitted for the user before is not executed on behalf of the new one; also not when it is for a view.
func TestClientCallOfAFormerUser(t *testing.T) {
	t.Parallel()
	board := &boardServers{}
	hub := startAgentHub(t, newFileDeployment(t), hubConfig{servers: board})
	d := hub.newDesktop(t, "ses-1")
	openBoard(d)
	d.waitIdle()
	requireNoError(t, hub.Share(t.Context(), d.id, "bob", session.ShareOperator))
	requireNoError(t, hub.ChangeUser(t.Context(), d.id, "ada", "bob"))
	old, now := clientCall("mcp-1", "window_list", `{}`), clientCall("mcp-2", "window_list", `{}`)
	old.User, now.User = "ada", "bob"
	view := viewCall("v-1", "count")
	view.User, view.Pressed = "ada", true
	if got, err := hub.CallTool(t.Context(), d.id, old); err != nil || !got.IsError || !strings.Contains(got.Text, "another user") {
		t.Errorf("a call for the user before gives %+v and error %v, want a refusal", got, err)
	}
	if got := callBoard(t, hub, d, view)(); !got.IsError || len(board.called()) != 0 {
		t.Errorf("a view of the user before gets %+v and the server got %q, want a refusal and no call", got, board.called())
	}
	if got, err := hub.CallTool(t.Context(), d.id, now); err != nil || got.IsError {
		t.Errorf("a call for the new user gives %+v and error %v, want a list", got, err)
	}
	info, err := hub.Info(t.Context(), d.id)
	requireNoError(t, err)
	if info.UserChanges != 1 {
		t.Errorf("the session was given %d times, want 1", info.UserChanges)
	}
}

// asked starts a call that waits for the user, and returns its result and the question.
func asked(t *testing.T, hub *agentHub, d *testDesktop, id wire.MessageID) (result func() (providers.ToolResult, error), stop context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	var wg sync.WaitGroup
	var r providers.ToolResult
	var err error
	wg.Go(func() {
		r, err = hub.CallTool(ctx, d.id, clientCall(id, "user_request", `{"title":"T","message":"M"}`))
	})
	d.waitPrompt("client-Editor")
	return func() (providers.ToolResult, error) {
		wg.Wait()
		return r, err
	}, cancel
}

// A revoked token, a program that gives up and a lost owner end a running call.
func TestClientCallIsCut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(t *testing.T, near, far *agentHub, stop context.CancelFunc)
		want string // in the result; empty for an error
	}{
		"revoked at the owner": {func(t *testing.T, near, _ *agentHub, _ context.CancelFunc) {
			t.Helper()
			requireNoError(t, near.StopCalls(t.Context(), "ses-1", "token-1", "the MCP token was revoked"))
		}, "revoked"},
		"revoked elsewhere": {func(t *testing.T, _, far *agentHub, _ context.CancelFunc) {
			t.Helper()
			requireNoError(t, far.StopCalls(t.Context(), "ses-1", "token-1", "the MCP token was revoked"))
		}, "revoked"},
		"given up": {func(_ *testing.T, _, _ *agentHub, stop context.CancelFunc) { stop() }, ""},
		"lost":     {func(_ *testing.T, near, _ *agentHub, _ context.CancelFunc) { near.stop() }, "not known"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFileDeployment(t)
			near := startAgentHub(t, s, hubConfig{})
			near.newDesktop(t, "ses-1")
			far := startAgentHub(t, s, hubConfig{replica: "b"})
			d := far.openDesktop(t, "ses-1")
			result, stop := asked(t, far, d, "mcp-1")
			tt.end(t, near, far, stop)
			got, err := result()
			switch {
			case tt.want == "" && !errors.Is(err, context.Canceled):
				t.Errorf("got %+v and error %v, want %v", got, err, context.Canceled)
			case tt.want != "" && (err != nil || !got.IsError || !strings.Contains(got.Text, tt.want)):
				t.Errorf("got %+v and error %v, want an error result with %q", got, err, tt.want)
			}
			waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.IsComplete && r.AgentID == "client-Editor" })
			if next, err := far.CallTool(t.Context(), "ses-1", clientCall("mcp-2", "window_list", `{}`)); err != nil || next.IsError {
				t.Errorf("the next call gives %+v and error %v, want a list", next, err)
			}
			d.waitIdle()
		})
	}
}

// heldDocuments holds every look at the result of a call until the caller gives up.
type heldDocuments struct {
	agentStore
	looks chan<- struct{}
}

func (h heldDocuments) Get(ctx context.Context, collection, name string) (store.Document, error) {
	if collection != "client-calls" {
		return h.agentStore.Get(ctx, collection, name)
	}
	select {
	case h.looks <- struct{}{}:
	default:
	}
	<-ctx.Done()
	return store.Document{}, ctx.Err()
}

// A program that gives up while the hub looks for the result interrupts its call too.
func TestClientCallIsCutWhileItsResultIsLookedUp(t *testing.T) {
	t.Parallel()
	looks := make(chan struct{}, 1)
	inner := openStore(t)
	s := newDeployment(t, func(*testing.T) agentStore { return heldDocuments{inner, looks} })
	near := startAgentHub(t, s, hubConfig{})
	near.newDesktop(t, "ses-1")
	far := startAgentHub(t, s, hubConfig{replica: "b"})
	d := far.openDesktop(t, "ses-1")
	result, stop := asked(t, far, d, "mcp-1")
	<-looks
	stop()
	if got, err := result(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v and error %v, want %v", got, err, context.Canceled)
	}
	waitEvent(t, d.eventLog, func(r wire.AgentResponse) bool { return r.IsComplete && r.AgentID == "client-Editor" })
	d.waitIdle()
}
