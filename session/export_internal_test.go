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

// An imported notebook has no kernel: nothing runs, and there are no variables.
func TestImportedNotebooksRunNothing(t *testing.T) {
	t.Parallel()
	n := wire.Notebook{
		Kernel: wire.NotebookKernel{Name: "python3", State: wire.KernelBusy, Reason: "r", Variables: []wire.KernelVariable{{Name: "x", Type: "int", Value: "1"}}},
		Cells: []wire.Cell{
			{ID: "a", Kind: wire.CellCode, Source: "1", State: wire.CellRunning, Outputs: []wire.CellOutput{{Type: wire.OutputStream, Name: "stdout", Text: "begun"}}},
			{ID: "b", Kind: wire.CellCode, Source: "2", State: wire.CellQueued},
			{ID: "c", Kind: wire.CellCode, Source: "3", State: wire.CellOK},
		},
	}
	l := &sessionfile.Log{Meta: sessionfile.Metadata{SessionID: "ses-old"}, Desktop: wire.SessionState{
		Mode: wire.StateSnapshot, Monitors: []wire.MonitorStatus{{MonitorID: "monitor-0", State: wire.MonitorIdle}},
		Windows: []wire.WindowState{{WindowID: "n", MonitorID: "monitor-0", Title: "N", Content: wire.NotebookContent{Data: n}}},
	}}
	got, ok := importedState("ses-new", "Mine", l, nil).Notebook("monitor-0", "n")
	if !ok || got.Kernel.State != "" || got.Kernel.Reason != "" || len(got.Kernel.Variables) > 0 || got.Kernel.Name != "python3" {
		t.Fatalf("the kernel: got %+v (%v), want only its name", got.Kernel, ok)
	}
	var states []wire.CellState
	for _, c := range got.Cells {
		states = append(states, c.State)
	}
	if want := []wire.CellState{"", "", wire.CellOK}; !cmp.Equal(states, want) || len(got.Cells[0].Outputs) != 1 {
		t.Errorf("cells: got states %q and %d outputs, want %q and the output", states, len(got.Cells[0].Outputs), want)
	}
	if n.Cells[0].State != wire.CellRunning || l.Desktop.Windows[0].Content.(wire.NotebookContent).Data.Kernel.State != wire.KernelBusy { //nolint:forcetypeassert // it is one
		t.Error("the file was changed")
	}
}
