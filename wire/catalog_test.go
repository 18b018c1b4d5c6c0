package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// named are the types that the design names.
const (
	namedClient = `USER_MESSAGE WINDOW_MESSAGE COMPONENT_ACTION INTERRUPT INTERRUPT_AGENT RESET SET_PROVIDER SET_MODE SET_INSTRUCTIONS SET_AUTO_APPROVAL
		RENDERING_FEEDBACK DIALOG_FEEDBACK TOAST_ACTION USER_INTERACTION APP_PROTOCOL_RESPONSE APP_PROTOCOL_READY VIEW_USED POINTER NOTEBOOK_EDIT RUN_CELLS CONTROL_KERNEL
		USER_PROMPT_RESPONSE SUBSCRIBE_MONITOR REMOVE_MONITOR auth pong hitl_plan_response hitl_approval_response
		hitl_input_response hitl_clarification_response control_pause control_resume control_cancel control_retry
		control_skip ASK_RESPONSE RESTORE_CHECKPOINT SET_CHECKPOINTS REWIND EDIT_MESSAGE DELETE_QUEUED_MESSAGE CONDENSE EMIT`
	namedServer = `ACTIONS AGENT_THINKING AGENT_RESPONSE CONNECTION_STATUS TOOL_PROGRESS ERROR WINDOW_AGENT_STATUS
		MESSAGE_ACCEPTED MESSAGE_QUEUED MESSAGE_REJECTED MESSAGE_REPEATED APPROVAL_REQUEST APP_PROTOCOL_REQUEST VIEW_ACTIVE POINTER_MOVED MONITOR_STATUS
		DIALOG_CLOSED PROMPT_CLOSED PRESENCE OWNER_CHANGED PROVIDER_CHANGED MODE_CHANGED INSTRUCTIONS_CHANGED AUTO_APPROVAL_CHANGED SESSION_RENAMED SESSION_USER_CHANGED TURN_INTERRUPTED session_state ping auth_result auth_refresh_required layer_start
		layer_complete plan_generated plan_approved plan_modified todo_started todo_progress todo_completed todo_failed
		execution_progress hitl_plan_review hitl_approval_request hitl_input_request hitl_clarification hitl_paused hitl_resumed hitl_closed todo_updated
		complete failed plan_cleared error reconnect store_status SETTINGS_CHANGED messageUpdated HISTORY_REWOUND CHECKPOINT_SAVED CHECKPOINT_RESTORED QUEUE_UPDATED taskCreated
		taskStarted taskCompleted taskAborted taskFocused taskUnfocused taskActive taskInteractive taskResumable taskIdle
		taskPaused taskUnpaused taskSpawned taskModeSwitched taskAskResponded taskUserMessage taskToolFailed
		taskTokenUsageUpdated EMITTED FILES_CHANGED NOTEBOOK_CHANGED CELL_EXECUTED CELL_OUTPUTS KERNEL_STATUS`
)

func TestTheCatalogIsComplete(t *testing.T) {
	t.Parallel()
	for from, names := range map[wire.Direction]string{wire.FromClient: namedClient, wire.FromServer: namedServer} {
		var got []string
		for _, e := range wire.Events().All() {
			if e.Direction == from {
				got = append(got, e.Type)
			}
		}
		want := strings.Fields(names)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("from the %s:\ngot  %v\nwant %v", from, got, want)
		}
	}
}

func TestTransientEvents(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range wire.Events().All() {
		if e.Direction == wire.FromServer && !e.Durable {
			got = append(got, e.Type)
		}
		if e.Direction == wire.FromClient && e.Durable {
			t.Errorf("%s comes from a client and cannot be in the log", e.Type)
		}
	}
	want := []string{"POINTER_MOVED", "session_state", "ping", "auth_result", "auth_refresh_required", "reconnect", "store_status", "SETTINGS_CHANGED", "CONNECTION_STATUS", "EMITTED"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestEntries(t *testing.T) {
	t.Parallel()
	reserved := []string{"type", "session_id", "message_id", "timestamp", "data"}
	for _, e := range wire.Events().All() {
		if e.Doc == "" || !strings.HasSuffix(e.Doc, ".") {
			t.Errorf("Doc of %s: got %q, want a sentence with its period", e.Type, e.Doc)
		}
		if len(e.Shape.Fields) > 64 {
			t.Errorf("fields of %s: got %d, want at most 64, which the decoder can count", e.Type, len(e.Shape.Fields))
		}
		for _, f := range e.Shape.Fields {
			if e.Direction == wire.FromClient && slices.Contains(reserved, f.Name) {
				t.Errorf("%s has the field %s, which a flat frame needs for itself", e.Type, f.Name)
			}
			switch f.Name {
			case "monitorId":
				if e.Monitor != f.Name {
					t.Errorf("%s: got the monitor from field %q, want %q", e.Type, e.Monitor, f.Name)
				}
			case "agentId":
				if e.Agent != f.Name {
					t.Errorf("%s: got the agent from field %q, want %q", e.Type, e.Agent, f.Name)
				}
			}
		}
		if e.Direction == wire.FromClient && e.Message == "" && !slices.Contains([]string{"auth", "pong", "DELETE_QUEUED_MESSAGE"}, e.Type) {
			t.Errorf("%s: got no messageId, want one as in every message of a client", e.Type)
		}
		// Every message of the desktop family may name its monitor and its id.
		if e.Direction == wire.FromClient && e.Family == wire.FamilyDesktop && (e.Monitor == "" || e.Message == "") {
			t.Errorf("%s: got monitor field %q and message field %q, want both", e.Type, e.Monitor, e.Message)
		}
	}
}

func TestPayloadSubjects(t *testing.T) {
	t.Parallel()
	p := wire.AgentResponse{AgentID: "a", MonitorID: "monitor-0", MessageID: "m"}
	if wire.MonitorOf(p) != "monitor-0" || wire.AgentOf(p) != "a" || wire.MessageOf(p) != "m" {
		t.Errorf("subjects of %+v: got %q %q %q, want monitor-0, a, m", p, wire.MonitorOf(p), wire.AgentOf(p), wire.MessageOf(p))
	}
	task := wire.TaskIdle{Task: wire.Task{TaskID: "t", MonitorID: "monitor-1", AgentID: "b"}}
	if wire.MonitorOf(task) != "monitor-1" || wire.AgentOf(task) != "b" || wire.MessageOf(task) != "" {
		t.Errorf("subjects of %+v: got %q %q %q, want monitor-1, b and no message", task, wire.MonitorOf(task), wire.AgentOf(task), wire.MessageOf(task))
	}
	if wire.MonitorOf(wire.Ping{}) != "" || wire.MessageOf(wire.DeleteQueuedMessage{Target: "t"}) != "" {
		t.Error("a ping has a monitor, or a target is taken for a key")
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	c := wire.Events()
	if e, ok := c.Lookup("USER_MESSAGE"); !ok || e.Family != wire.FamilyDesktop {
		t.Errorf("USER_MESSAGE: got %+v, %v, want an entry of the desktop family", e, ok)
	}
	if e, ok := c.Of(wire.Ping{}); !ok || e.Type != "ping" {
		t.Errorf("entry of a ping: got %+v, %v, want the type ping", e, ok)
	}
	if _, ok := c.Lookup("NOPE"); ok {
		t.Error("lookup of NOPE: got an entry, want none")
	}
	if _, ok := c.Of(42); ok {
		t.Error("entry of 42: got one, want none")
	}
}

// A payload of another package is a mistake in the program, so it panics.
func TestForeignPayloadsPanic(t *testing.T) {
	t.Parallel()
	type foreign struct{ wire.Outbound }
	defer func() {
		if got, ok := recover().(string); !ok || !strings.Contains(got, "foreign is not in the catalog") {
			t.Errorf("panic: got %v, want one that says %q", got, "foreign is not in the catalog")
		}
	}()
	wire.AppendEvent(nil, wire.Event{Data: foreign{}})
}

func TestVariantsMayBePointers(t *testing.T) {
	t.Parallel()
	got := wire.AppendEvent(nil, wire.Event{Data: wire.Actions{Actions: []wire.Action{
		&wire.WindowFocus{WindowID: "w"}, (*wire.WindowFocus)(nil), nil,
	}}})
	const want = `"data":{"actions":[{"type":"window.focus","windowId":"w"},null,null]}}`
	if !strings.HasSuffix(string(got), want) {
		t.Errorf("got %s, want …%s", got, want)
	}
}

func TestForeignVariantsPanic(t *testing.T) {
	t.Parallel()
	type foreign struct{ wire.ActionMeta }
	defer func() {
		if got, ok := recover().(string); !ok || !strings.Contains(got, "foreign is no variant of Action") {
			t.Errorf("panic: got %v, want one that says %q", got, "foreign is no variant of Action")
		}
	}()
	wire.AppendEvent(nil, wire.Event{Data: wire.Actions{Actions: []wire.Action{foreign{}}}})
}
