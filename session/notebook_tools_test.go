package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// pictures returns the media types of the pictures in the results of an agent's tools.
func (d *testDesktop) pictures(s *deployment, agent string) (all []string) {
	d.t.Helper()
	kept, err := s.Load(d.t.Context(), d.id)
	requireNoError(d.t, err)
	for _, item := range kept.Lists["api:"+agent] {
		var e providers.Entry
		requireNoError(d.t, json.Unmarshal(item, &e))
		for _, block := range e.Blocks {
			for _, i := range block.Images {
				all = append(all, i.MediaType)
			}
		}
	}
	return all
}

// Agents change, read, interrupt, restart and complete with tools. What they read is bounded and says what is missing,
// and they see pictures.
func TestAgentsUseAllToolsOfNotebooks(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	o := startAgentHub(t, newFileDeployment(t), withKernels(k))
	d := o.newDesktop(t, "ses-1")
	calls := 0
	call := func(tool string, input map[string]any) string {
		t.Helper()
		calls++
		id := wire.MessageID(fmt.Sprintf("call-%d", calls))
		if tool != "notebook:list" {
			input["notebook"] = "n"
		}
		data, err := json.Marshal(input)
		requireNoError(t, err)
		before := len(d.conversation(o.deployment, "main-monitor-0"))
		d.sendText(firstMonitor, id, "/call "+tool+" "+string(data))
		if tool == "notebook:run_cell" {
			asked := waitEvent(t, d.eventLog, func(q wire.ApprovalRequest) bool { return strings.Contains(q.Message, "# "+string(id)) })
			// The lines of the code are lines of the question, what could hide code is visible, and the code cannot look like what
			// the hub adds behind an empty line.
			if want := `# call-8 \u{202e}` + "\na = 6\n \nif a:\n    print("; !strings.HasPrefix(asked.Message, want) {
				t.Errorf("the question: got %.100q, want it to begin with %q", asked.Message, want)
			}
			d.send("yes-"+id, wire.DialogFeedback{DialogID: asked.DialogID, Confirmed: true})
		}
		d.waitTurnEnd(id)
		return d.conversation(o.deployment, "main-monitor-0")[before:]
	}
	want := func(got, what string) {
		t.Helper()
		if !strings.Contains(got, what) {
			t.Errorf("the agent got %.2000q, want %q in it", got, what)
		}
	}
	call("notebook:open", map[string]any{"cells": []any{map[string]string{"source": "a = 6"}, map[string]string{"source": "b = 7"}}})
	cells := d.notebook("n").Cells
	if len(cells) != 2 {
		t.Fatalf("the opened notebook: got %+v, want two cells", cells)
	}
	call("notebook:insert_cell", map[string]any{"source": "# Sums", "kind": "markdown", "after": cells[0].ID})
	call("notebook:edit_cell", map[string]any{"cell": cells[0].ID, "source": "a = 60"})
	call("notebook:delete_cell", map[string]any{"cell": cells[1].ID})
	if got := d.notebook("n").Cells; len(got) != 2 || got[0].Source != "a = 60" || got[1].Kind != wire.CellMarkdown || got[1].Source != "# Sums" || got[1].AgentID == "" {
		t.Errorf("after the edits: got %+v, want the changed cell and the new text of the agent", got)
	}
	want(call("notebook:delete_cell", map[string]any{"cell": "nope"}), "has no cell")
	want(call("notebook:list", map[string]any{}), `"cells":2`)
	want(call("notebook:read", map[string]any{}), "# Sums")

	got := call("notebook:run_cell", map[string]any{"code": "# call-8 \u202e\na = 6\r\n\nif a:\n\tprint('begin' + 'x' * 90_000 + 'end')\n" +
		"import base64\nfrom IPython.display import display, Image\ndisplay(Image(data=base64.b64decode('" + strings.TrimPrefix(onePixel, "data:image/png;base64,") + "'), format='png'))"})
	want(got, "begin")
	want(got, "characters are left out]")
	want(got, "end")
	want(got, "[picture 1]")
	if len(got) > 50_000 { // the demo repeats it
		t.Errorf("the agent got %d bytes, want about twice 20,000 characters", len(got))
	}
	if seen := d.pictures(o.deployment, "main-monitor-0"); len(seen) != 1 || seen[0] != "image/png" {
		t.Errorf("pictures for the agent: got %q, want the one that the code displayed", seen)
	}
	want(call("kernel:complete", map[string]any{"code": "prin"}), "print")

	// The user's cell is interrupted, and its kernel is restarted.
	d.send("e1", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookInsert, CellID: "loop", Kind: wire.CellCode, Source: "print('begun', flush=True)\nwhile True: pass"})
	d.send("e2", wire.NotebookEditMessage{WindowID: "n", Op: wire.NotebookInsert, CellID: "has", Kind: wire.CellCode, Source: "print('a' in globals())"})
	d.send("r1", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"loop"}})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.CellID == "loop" && len(e.Outputs) > 0 })
	call("kernel:interrupt", map[string]any{})
	d.waitCell("n", "loop", wire.CellFailed)
	call("kernel:restart", map[string]any{})
	d.send("r2", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"has"}})
	d.waitCell("n", "has", done()...)
	if got := d.shownCell("n", "has"); got != "ok:False\n" {
		t.Errorf("a variable after the restart: got %q, want that it is gone", got)
	}
	d.waitIdle()
}

// Completing code runs none: modules in the folder of the kernel, which agents can write, are not imported.
func TestCompletingRunsNoCode(t *testing.T) {
	t.Parallel()
	_, k := startJupyter(t)
	o := startAgentHub(t, newFileDeployment(t), withKernels(k))
	d := o.newDesktop(t, "ses-1")
	effect := filepath.Join(t.TempDir(), "effect")
	evil := fmt.Sprintf("open(%q, 'w')\nsecret = 1\n", effect)
	d.openNotebook("n", fmt.Sprintf("for name in ('evil', 'evil2', 'evil3'): _ = open(name + '.py', 'w').write(%q)\n"+
		"class Trap:\n    @property\n    def x(self): open(%q, 'w')\n    def __getattr__(self, name): open(%q, 'w')\ntrap = Trap()\nimport json", evil, effect, effect), "import sys, time\nprint('begun', flush=True)\ntime.sleep(600)")
	d.send("r1", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c1"}})
	if e := d.waitCell("n", "c1", done()...); e.State != wire.CellOK {
		t.Fatalf("the cell that writes the modules: got %+v, want it done", e)
	}
	complete := func(code string) string {
		t.Helper()
		id := wire.MessageID(fmt.Sprintf("complete-%d", len(d.conversation(o.deployment, "main-monitor-0"))))
		before := len(d.conversation(o.deployment, "main-monitor-0"))
		input, err := json.Marshal(map[string]any{"notebook": "n", "code": code})
		requireNoError(t, err)
		d.sendText(firstMonitor, id, "/call kernel:complete "+string(input))
		d.waitTurnEnd(id)
		return d.conversation(o.deployment, "main-monitor-0")[before:]
	}
	for code, want := range map[string]string{
		"from evil import ": "", "import evil2.": "", "from evil3 import se": "", "%aimport evil3.": "", "__import__('evil').": "", "trap.x.": "", "trap.y.": "",
		"json.du": "json.dumps", "x = trap.": "trap.x",
	} {
		got := complete(code)
		if _, err := os.Stat(effect); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("completing %q ran code (%v); want that it runs none", code, err)
		}
		if !strings.Contains(got, want) {
			t.Errorf("completing %q: the agent got %.1000q, want %q in it", code, got, want)
		}
	}
	// It also works while a cell runs.
	d.send("r2", wire.RunCells{WindowID: "n", CellIDs: []wire.CellID{"c2"}})
	waitEvent(t, d.eventLog, func(e wire.CellOutputs) bool { return e.CellID == "c2" && len(e.Outputs) > 0 })
	if got := complete("json.du"); !strings.Contains(got, "json.dumps") {
		t.Errorf("completing while a cell runs: the agent got %.1000q, want json.dumps", got)
	}
	d.send("i1", wire.ControlKernel{WindowID: "n", Op: wire.KernelInterrupt})
	d.waitCell("n", "c2", wire.CellFailed)
	d.waitIdle()
}
