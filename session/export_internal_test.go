package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// A plan that has ended is imported unchanged, except that its files are those of the new session
// and it cannot be resumed.
func TestImportedPlansAreReadOnly(t *testing.T) {
	t.Parallel()
	attached := func(urls ...string) []wire.PlanAttachment {
		list := []wire.PlanAttachment{}
		for _, u := range urls {
			list = append(list, wire.PlanAttachment{Type: "report", Title: "Report", URL: u})
		}
		return list
	}
	complete := func(urls ...string) *wire.PlanState {
		return &wire.PlanState{ID: "plan-3", Status: wire.PlanCompleted, TotalTodos: 1, Complete: &wire.PlanComplete{
			PlanID: "plan-3", Response: wire.PlanResponse{Format: "mixed", Text: "done", Attachments: attached(urls...), NextActions: []string{}},
			ReportPaths: append([]string{}, urls...),
		}}
	}
	failed := func(recoverable bool) *wire.PlanState {
		return &wire.PlanState{ID: "plan-3", Status: wire.PlanFailed, TotalTodos: 1, Failed: &wire.PlanFailure{
			PlanID: "plan-3", Error: wire.PlanFailureError{Code: "EXECUTION_FAILED", Recoverable: recoverable},
		}}
	}
	for name, tc := range map[string]struct{ before, after *wire.PlanState }{
		"none": {nil, nil},
		"complete": {
			complete(
				"/api/sessions/ses-old/files/reports/a%20b.md", "/api/sessions/ses-other/files/a.md", "javascript:alert(1)", "https://x.test/a.md",
				"/api/sessions/ses-old/files/../../../login", "/api/sessions/ses-old/files/%2e%2e/x", "%",
			),
			complete("/api/sessions/ses-new/files/reports/a%20b.md"),
		},
		"failed": {failed(true), failed(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			todos := []wire.Todo{}
			if tc.before != nil {
				todos = append(todos, wire.Todo{ID: "a", Task: "x", Status: wire.TodoStatusCompleted, DependsOn: []wire.TodoID{}, ResultSummary: []byte(`{"n":1}`)})
			}
			l := &sessionfile.Log{Meta: sessionfile.Metadata{SessionID: "ses-old"}, Desktop: wire.SessionState{
				Mode: wire.StateSnapshot, Monitors: []wire.MonitorStatus{{MonitorID: "monitor-0", State: wire.MonitorIdle}}, Plan: tc.before, Todos: todos,
			}}
			tables := map[string]map[string][]byte{}
			for _, op := range importOps("ses-new", "Mine", l, wire.Position{Epoch: 1}) {
				if op.Kind != store.OpSet {
					continue
				}
				if tables[op.Name] == nil {
					tables[op.Name] = map[string][]byte{}
				}
				tables[op.Name][op.Field] = op.Values[0]
			}
			state, err := desktop.Restore("ses-new", wire.Position{}, tables)
			if err != nil {
				t.Fatal(err)
			}
			now := state.Snapshot()
			if d := cmp.Diff(tc.after, now.Plan, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("plan (-want +got)\n%s", d)
			}
			if d := cmp.Diff(todos, now.Todos, cmpopts.EquateEmpty()); d != "" || now.Status != wire.SessionIdle {
				t.Errorf("the session is %s, todos (-want +got)\n%s", now.Status, d)
			}
		})
	}
}
