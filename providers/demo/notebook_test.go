package demo_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/providers"
)

// newPlotSession opens a session whose notebooks open.
func newPlotSession(t *testing.T) *demoSession {
	t.Helper()
	d := newDemoSession(t, nil)
	d.results["notebook_open"] = providers.ToolResult{Text: `Opened the notebook "x" with 2 cells: cell-1-1, cell-1-2.`}
	return d
}

// plotted returns the notebook that a message opened, and the code that ran in it.
func (d *demoSession) plotted() (notebook, code string) {
	d.Helper()
	var open struct {
		Notebook string
		Cells    []struct{ Source string }
	}
	var run struct{ Notebook, Cell string }
	calls := d.calls[max(0, len(d.calls)-2):]
	if len(calls) != 2 || calls[0].Name != "notebook_open" || calls[1].Name != "notebook_run_cell" {
		d.Fatalf("calls are %v, want notebook_open and notebook_run_cell", d.used())
	}
	for i, into := range []any{&open, &run} {
		if err := json.Unmarshal(calls[i].Input, into); err != nil {
			d.Fatal(err)
		}
	}
	if open.Notebook != run.Notebook || run.Cell != "cell-1-2" || len(open.Cells) != 2 {
		d.Fatalf("the cell %q of %q runs, want cell-1-2 of the notebook %q with 2 cells", run.Cell, run.Notebook, open.Notebook)
	}
	return open.Notebook, open.Cells[1].Source
}

func TestMonthlySumsArePlottedInANotebook(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Plot the monthly sums of this CSV [file: sales 2026.csv]":          `open("sales 2026.csv"`,
		"[file: folder/sales.csv] plot the monthly sums of this CSV":        `open("folder/sales.csv"`,
		"이 CSV의 월별 합계를 그려 줘 [파일: 매출.csv]":                                   `open("매출.csv"`,
		"chart the monthly totals in sales.csv":                             `open("sales.csv"`,
		"Plot the monthly sums of this CSV:\ndate,x\n2026-01-02,4":          `io.StringIO("date,x\n2026-01-02,4\n")`,
		"Plot the monthly sums of this CSV":                                 `io.StringIO("date,amount\n`,
		"plot the monthly sums of this csv [file: \"); import os; (\".csv]": `open("\"); import os; (\".csv"`,
	} {
		d := newPlotSession(t)
		said := d.says("m-1", text)
		_, code := d.plotted()
		d.has(code, want, "matplotlib")
		if !strings.Contains(said, "Shift+Enter") {
			t.Errorf("the answer to %q is %q, want how to go on", text, said)
		}
	}
}

func TestNotebooksOfTheDemoHaveNewIDs(t *testing.T) {
	t.Parallel()
	d := newPlotSession(t)
	d.says("m-1", "plot the monthly sums")
	first, _ := d.plotted()
	d.says("m-2", "월별 합계를 그려 줘")
	second, _ := d.plotted()
	if first != "sums-1" || second != "sums-2" {
		t.Errorf("the notebooks are %q and %q, want sums-1 and sums-2", first, second)
	}
	d.has(d.says("m-3", "open a notebook"), "“Notebook”")
	d.has(d.says("m-4", "노트북 열어 줘"), "“노트북 2”")
}

func TestCodeThatDidNotRunIsReported(t *testing.T) {
	t.Parallel()
	d := newPlotSession(t)
	d.results["notebook_run_cell"] = providers.ToolResult{Text: "The user said no.", IsError: true}
	d.has(d.says("m-1", "plot the monthly sums"), "not run to its end", "The user said no.")
}

// The code works: Python computes the sums of dates in any order, also without matplotlib.
func TestCodeOfThePlotComputesTheSums(t *testing.T) {
	t.Parallel()
	d := newPlotSession(t)
	d.says("m-1", "plot the monthly sums:\nwho,when,amount\nMina,2026-02-01,2.5\nJun,2026-01-31,4\nMina,2026-02-28,1\nJun,2026-03-01,\n")
	_, code := d.plotted()
	python, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		t.Fatalf("Python is missing (%v): run scripts/need.sh jupyter-server", err)
	}
	without := "import sys\nfor m in ('matplotlib', 'matplotlib.pyplot'): sys.modules[m] = None\n" +
		"import types\nshown = []\nfake = types.ModuleType('IPython.display')\nfake.SVG, fake.display = str, shown.append\n" +
		"sys.modules['IPython'], sys.modules['IPython.display'] = types.ModuleType('IPython'), fake\n"
	run := exec.CommandContext(t.Context(), python, "-c", without+code+"\nprint(shown[0].count('<rect'))")
	run.Dir = filepath.Dir(t.TempDir())
	out, err := run.CombinedOutput()
	if want := "2026-01 4\n2026-02 3.5\n2026-03 0\n3\n"; err != nil || string(out) != want {
		t.Errorf("the code printed %q (%v), want %q", out, err, want)
	}
}
