package notebookfile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/notebookfile"
	"github.com/everdesk/everdesk/wire"
)

const old = `{"nbformat":4,"nbformat_minor":2,"metadata":{"kernelspec":{"name":"python3","language":"python","display_name":"P"},"x":{"y":1}},
"cells":[{"cell_type":"markdown","metadata":{},"source":["# A\n","b"]},
{"cell_type":"code","metadata":{"tags":["t"],"everdesk":{"agent":"main-1","state":"ok","state2":1}},"execution_count":3,"source":"1+1",
"outputs":[{"output_type":"stream","name":"stdout","text":["a\n","b\n"]},
{"output_type":"execute_result","execution_count":3,"metadata":{},"data":{"text/plain":["2"],"image/png":"aGk=\n","application/json":{"a":1}}},
{"output_type":"error","ename":"E","evalue":"v","traceback":["l1","l2"]}]},
{"cell_type":"heading","metadata":{},"source":"old"}]}`

func TestNotebooksAreReadAndWritten(t *testing.T) {
	t.Parallel()
	n, err := notebookfile.Decode([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	with := n
	with.Kernel.Variables = []wire.KernelVariable{{Name: "x", Type: "int", Value: "1"}}
	if file, err := notebookfile.Encode(with); err != nil || !strings.Contains(strings.Join(strings.Fields(string(file)), ""), `"everdesk":{"variables":[{"name":"x","type":"int","value":"1"}]}`) {
		t.Errorf("a notebook whose kernel has variables: got %s and %v, want them in the metadata", file, err)
	}
	if len(n.Cells) != 3 || n.Kernel.Name != "python3" || n.Kernel.Language != "python" {
		t.Fatalf("got %+v, want 3 cells for python3", n)
	}
	code := n.Cells[1]
	if n.Cells[0].Source != "# A\nb" || code.Count != 3 || code.AgentID != "main-1" || code.State != wire.CellOK || string(code.Metadata) != `{"tags":["t"]}` || n.Cells[2].Kind != wire.CellRaw {
		t.Errorf("got %+v, want the source, count, metadata and provenance of the file", n.Cells)
	}
	if len(code.Outputs) != 3 || code.Outputs[0].Text != "a\nb\n" || string(code.Outputs[1].Data) != `{"image/png":"aGk=","text/plain":"2"}` || code.Outputs[2].Text != "l1\nl2" {
		t.Errorf("outputs: got %+v, want those of the file", code.Outputs)
	}
	data, err := notebookfile.Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	again, err := notebookfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := json.Marshal(n)
	second, _ := json.Marshal(again)
	if string(first) != string(second) {
		t.Errorf("after writing and reading: got %s, want %s", second, first)
	}
}

// Jupyter's own checker accepts what is written.
func TestWrittenNotebooksAreValid(t *testing.T) {
	t.Parallel()
	n, err := notebookfile.Decode([]byte(old))
	if err != nil {
		t.Fatal(err)
	}
	n.Cells = append(n.Cells, wire.Cell{ID: "new", Kind: wire.CellCode, Source: "x", State: wire.CellUnknown})
	data, err := notebookfile.Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	const check = `import sys, nbformat; n = nbformat.reads(sys.stdin.read(), 4); nbformat.validate(n); print(n.nbformat_minor, len(n.cells))`
	cmd := exec.CommandContext(t.Context(), filepath.Join("/usr/bin", "python3"), "-c", check)
	cmd.Stdin = strings.NewReader(string(data))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "5 4" {
		t.Errorf("nbformat says %s (%v), want a valid notebook of 4.5 with 4 cells:\n%s", out, err, data)
	}
}

// Files of the formats before 4 are read as Jupyter converts them.
func TestOldFilesAreRead(t *testing.T) {
	t.Parallel()
	const source = `{"nbformat":%d,"nbformat_minor":0,"metadata":{"name":"x"},"worksheets":[{"metadata":{},"cells":[
{"cell_type":"heading","level":2,"metadata":{},"source":["Title"]},{"cell_type":"markdown","metadata":{},"source":"text"},
{"cell_type":"code","collapsed":false,"input":["print(1)\n","2"],"language":"python","metadata":{},"prompt_number":7,"outputs":[
{"output_type":"stream","stream":"stderr","text":["1\n"]},{"output_type":"pyout","prompt_number":7,"text":["2"],"html":"<b>2</b>","metadata":{}},
{"output_type":"display_data","png":"aGk=\n","metadata":{}},{"output_type":"pyerr","ename":"E","evalue":"v","traceback":["t"]}]}]},
{"cells":[{"cell_type":"raw","metadata":{},"source":"second sheet"}]}]}`
	for _, version := range []int{2, 3} {
		n, err := notebookfile.Decode(fmt.Appendf(nil, source, version))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range n.Cells {
			got = append(got, fmt.Sprintf("%s:%s:%d", c.Kind, c.Source, c.Count))
			for _, o := range c.Outputs {
				got = append(got, fmt.Sprintf("%s:%s:%s%s%s", o.Type, o.Name, o.Text, o.Data, o.Value))
			}
		}
		want := []string{
			"markdown:## Title:0", "markdown:text:0", "code:print(1)\n2:7", "stream:stderr:1\n", `execute_result::{"text/html":"\u003cb\u003e2\u003c/b\u003e","text/plain":"2"}`,
			`display_data::{"image/png":"aGk="}`, "error:E:tv", "raw:second sheet:0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("version %d: got %q, want %q", version, got, want)
		}
	}
}

func TestBadFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "[]", "{}", `{"nbformat":3}`, `{"nbformat":1,"cells":[]}`, `{"nbformat":5,"cells":[]}`, `{"nbformat":3,"worksheets":[{"cells":[{"input":1}]}]}`, `{"nbformat":4,"cells":[{"source":{}}]}`} {
		if _, err := notebookfile.Decode([]byte(bad)); !errors.Is(err, notebookfile.ErrFormat) {
			t.Errorf("%q: got %v, want that it is no notebook", bad, err)
		}
	}
}

func TestScriptsBecomeCells(t *testing.T) {
	t.Parallel()
	n := notebookfile.FromScript("import os\n\n# %% [markdown]\n# Title\n# text\n# %% second\nprint(1)\r\n\n\n# %%\n")
	var got []string
	for _, c := range n.Cells {
		got = append(got, string(c.Kind)+"="+c.Source)
	}
	if want := "code=import os|markdown=Title\ntext|code=print(1)"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}
