package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/desktop"
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

// A notebook that is full says so once in each cell, counts what it leaves out, and stays within its bounds, also with many
// outputs that are empty.
func TestFullNotebook(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	d := startAgentHub(t, newFileDeployment(t), withKernels(k)).newDesktop(t, "ses-1")
	const shows = "from IPython.display import display, HTML\n"
	const large = shows + "print('x' * 120_000)\ndisplay(HTML('y' * 200_000))"
	send, waits := newSignal(t)
	d.openNotebook("n", shows+"for i in range(5000): display({}, raw=True)", large, large, large, "print('a' * 50_000, flush=True)\n"+waits+"\nprint('b' * 50_000)")
	d.send("r1", wire.RunCells{WindowID: "n"})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.CellID == "c5" && e.Cut > 0 })
	send()
	d.waitCell("n", "c5", done()...)
	n := d.notebook("n")
	content, err := json.Marshal(wire.NotebookContent{Data: n})
	requireNoError(t, err)
	if len(content) > desktop.MaxContent {
		t.Errorf("the notebook: got %d bytes, want at most %d", len(content), desktop.MaxContent)
	}
	if c := n.Cells[0]; len(c.Outputs) > 1000 || len(c.Outputs) == 0 || c.Cut == 0 || c.State != wire.CellOK {
		t.Errorf("empty outputs: got %d, %d bytes left out and state %s; want at most 1000, and that some were left out", len(c.Outputs), c.Cut, c.State)
	}
	last := n.Cells[4]
	var text strings.Builder
	for _, o := range last.Outputs {
		text.WriteString(o.Text)
	}
	if last.State != wire.CellOK || strings.Count(text.String(), "notebook is full") != 1 || last.Cut != 100_001 && last.Cut != 100_002 {
		t.Errorf("a cell without room: got state %s, %q and %d bytes left out; want it ok, one notice and 100,002 bytes", last.State, text.String(), last.Cut)
	}
	d.waitIdle()
}

// The answer to a question for a password reaches the code, and is nowhere in the log.
func TestPasswordsOfCodeAreNotLogged(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	o := startAgentHub(t, newFileDeployment(t), withKernels(k))
	d := o.newDesktop(t, "ses-1")
	const secret = "correct-horse-7421"
	d.openNotebook("n", "import getpass\ngiven = getpass.getpass('secret? ')\nprint(len(given), given[::-1])\ndel given")
	d.send("r1", wire.RunCells{WindowID: "n"})
	asked := waitEvent(t, d.eventLog, func(e wire.Actions) bool { _, is := e.Actions[0].(wire.PromptShow); return is })
	prompt, _ := asked.Actions[0].(wire.PromptShow)
	if prompt.InputField == nil || prompt.InputField.Type != wire.PromptPassword || prompt.Message != "secret? " {
		t.Errorf("the question: got %+v, want secret? with a field for a password", prompt)
	}
	d.send("a1", wire.UserPromptResponse{PromptID: prompt.ID, Text: secret})
	d.waitCell("n", "c1", done()...)
	if got, want := d.shownCell("n", "c1"), "ok:18 1247-esroh-tcerroc\n"; got != want {
		t.Errorf("the cell: got %q, want %q", got, want)
	}
	d.waitIdle()
	log, err := json.Marshal(d.all())
	requireNoError(t, err)
	stored, err := o.deployment.Load(t.Context(), d.id)
	requireNoError(t, err)
	for what, text := range map[string]string{"log": string(log), "state": fmt.Sprintf("%s", stored)} {
		if !strings.Contains(text, "secret?") && what == "log" || strings.Contains(text, secret) {
			t.Errorf("the %s: want the question and not the answer in it", what)
		}
	}
}
