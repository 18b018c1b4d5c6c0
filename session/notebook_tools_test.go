package session_test

import (
	"encoding/json"
	"fmt"
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
