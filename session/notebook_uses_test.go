package session_test

import (
	"strings"
	"testing"

	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/wire"
)

// Checkpoints have the cells of notebooks. What a kernel did is not restored.
func TestCheckpointsHaveNotebooks(t *testing.T) {
	t.Parallel()
	s := newFileDeployment(t)
	f := newSessionFiles(t, s)
	d := startAgentHub(t, s, withCheckpoints(f)).newDesktop(t, "ses-1")
	d.openNotebook("n", "first")
	d.sendText(firstMonitor, "m1", writeFile("a.txt", "one"))
	d.waitTurnEnd("m1")
	saved := d.savedFor("tool")
	d.send("e1", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookEdit, CellID: "c1", Source: "second"})
	d.send("e2", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookInsert, CellID: "new", Kind: wire.CellCode})
	waitEvent(t, d.eventLog, func(e wire.NotebookChanged) bool { return e.Op == wire.NotebookInsert })
	if done, is := d.sendAndWait("r1", wire.RestoreCheckpoint{Hash: saved.Hash}).(wire.CheckpointRestored); !is || done.Windows != 1 {
		t.Fatalf("restore: got %+v, want that it restored a window", done)
	}
	if got := d.notebook("n").Cells; len(got) != 1 || got[0].Source != "first" {
		t.Errorf("cells after the restore: got %+v, want only the first source", got)
	}
	d.waitIdle()
}

// The todos of a plan run cells, with the permission of the user, and share the kernel of the notebook.
func TestPlanRunsCells(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	d := startAgentHub(t, newFileDeployment(t), planConfig(withKernels(k))).newDesktop(t, "ses-1")
	d.openNotebook("n")
	d.approvePlan(d.submitPlan(`{"id":"a","task":"/call notebook:run_cell {\"notebook\":\"n\",\"code\":\"x = 6\"}"},` +
		`{"id":"b","task":"/call notebook:run_cell {\"notebook\":\"n\",\"code\":\"print(x * 7)\"}","depends_on":["a"]}`))
	for _, code := range []string{"x = 6", "print(x * 7)"} {
		asked := waitEvent(t, d.eventLog, func(q wire.ApprovalRequest) bool { return strings.Contains(q.Message, code) })
		d.send(wire.MessageID("yes-"+asked.DialogID), wire.DialogFeedback{DialogID: asked.DialogID, Confirmed: true})
	}
	d.waitTurnEnd("m1")
	cells := d.notebook("n").Cells
	if len(cells) != 2 || cells[1].AgentID == "" || d.shownCell("n", cells[1].ID) != "ok:42\n" {
		t.Errorf("cells of the plan: got %+v, want the second one with 42", cells)
	}
	d.waitIdle()
}

// However much code prints, the log and the notebook get a bounded part of it, and say what is missing.
func TestPrintedTextIsBounded(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	d := startAgentHub(t, newFileDeployment(t), withKernels(k)).newDesktop(t, "ses-1")
	const printed = 100 << 20
	d.openNotebook("n", "for i in range(1600): print('x' * 65535)")
	d.send("r1", wire.RunCells{WindowID: "n"})
	d.waitCell("n", "c1", done()...)
	events, size := 0, 0
	for _, e := range payloads[wire.CellOutputs](d.all()) {
		events++
		for _, o := range e.Outputs {
			size += len(o.Text)
		}
	}
	cell := d.notebook("n").Cells[0]
	// A frame that is too large to be read counts with its headers.
	if all := size + int(cell.Cut); cell.State != wire.CellOK || size > kernels.MaxOutput || all < printed || all > printed+printed/100 {
		t.Errorf("got state %s, %d bytes and %d left out; want it ok and %d together, with little more", cell.State, size, cell.Cut, printed)
	}
	if events > 20 { // each writes the notebook
		t.Errorf("got %d events with outputs, want a few: text beyond the bound causes none", events)
	}
	d.waitIdle()
}

// A Jupyter server that belongs to another user refuses the hub: no code runs, and the notebook says why, without secrets.
func TestNotebookOnAServerOfAnotherUser(t *testing.T) {
	t.Parallel()
	server, _ := startJupyter(t)
	k, err := kernels.New(kernels.Config{URL: server.URL, Token: "of-another-user"})
	requireNoError(t, err)
	t.Cleanup(k.Close)
	d := startAgentHub(t, newFileDeployment(t), withKernels(k)).newDesktop(t, "ses-1")
	d.openNotebook("n", "print(1)")
	d.send("r1", wire.RunCells{WindowID: "n"})
	e := d.waitCell("n", "c1", done()...)
	if e.State != wire.CellAborted || !strings.Contains(e.Reason, "refuses the token") || strings.Contains(e.Reason, server.URL) || strings.Contains(e.Reason, "of-another-user") {
		t.Errorf("got %+v, want that the cell did not run because of the token, and neither that nor the address", e)
	}
	d.waitIdle()
}
