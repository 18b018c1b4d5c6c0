package notebookfile_test

import (
	"cmp"
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
	n.Cells = append(n.Cells, wire.Cell{ID: "new", Kind: wire.CellCode, Source: "x", State: wire.CellUnknown}, wire.Cell{
		ID: "outputs", Kind: wire.CellCode, Outputs: []wire.CellOutput{
			{Type: wire.OutputError, Name: "KeyboardInterrupt"},
			{Type: wire.OutputError},
			{Type: wire.OutputStream},
			{Type: wire.OutputStream, Name: "stderr"},
			{Type: wire.OutputDisplay},
			{Type: wire.OutputDisplay, Data: json.RawMessage("{}")},
			{Type: wire.OutputDisplay, Data: json.RawMessage("null")},
			{Type: wire.OutputResult, Data: json.RawMessage(`{"text/plain":"1"}`)},
			{Type: wire.OutputResult},
		},
	}, wire.Cell{ID: "text", Kind: wire.CellMarkdown, Source: "![a](attachment:a.png)", Attachments: json.RawMessage(`{"a.png":{"image/png":"aGk="}}`)})
	data, err := notebookfile.Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	const check = `import sys, nbformat; n = nbformat.reads(sys.stdin.read(), 4); nbformat.validate(n); print(n.nbformat_minor, len(n.cells), n.cells[4].outputs[7].execution_count)`
	cmd := exec.CommandContext(t.Context(), filepath.Join("/usr/bin", "python3"), "-c", check)
	cmd.Stdin = strings.NewReader(string(data))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "5 6 None" {
		t.Errorf("nbformat says %s (%v), want a valid notebook of 4.5 with 6 cells and a result without a number:\n%s", out, err, data)
	}
}

// fileWith returns a notebook file with cells, and metadata if it is not empty.
func fileWith(t *testing.T, metadata string, cells ...map[string]any) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"nbformat": 4, "nbformat_minor": 5, "metadata": json.RawMessage(cmp.Or(metadata, "{}")), "cells": cells})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func codeWith(outputs ...map[string]any) map[string]any {
	return map[string]any{"cell_type": "code", "metadata": map[string]any{}, "source": "plot()", "outputs": outputs}
}

func displayOf(forms map[string]any) map[string]any {
	return map[string]any{"output_type": "display_data", "metadata": map[string]any{}, "data": forms}
}

// A file has more outputs than a window shows: the largest ones are left out and counted, and the rest fits.
func TestLargeFilesAreTrimmed(t *testing.T) {
	t.Parallel()
	var cells []map[string]any
	var want int64
	for i := range 12 {
		size := 100_000 + 1000*i
		cells = append(cells, codeWith(displayOf(map[string]any{"image/png": strings.Repeat("A", size), "text/plain": "<Figure>"}), map[string]any{"output_type": "stream", "name": "stdout", "text": "small\n"}))
		if i >= 9 {
			want += int64(size)
		}
	}
	n, err := notebookfile.Decode(fileWith(t, "", cells...))
	if err != nil {
		t.Fatal(err)
	}
	content, err := json.Marshal(wire.NotebookContent{Data: n})
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > 1<<20 || len(content) < 1<<20-150_000 {
		t.Errorf("the content: got %d bytes, want almost as many as a window shows", len(content))
	}
	var cut int64
	for i, c := range n.Cells {
		cut += c.Cut
		if gone := c.Cut > 0; gone != (i >= 9) || len(c.Outputs) != map[bool]int{true: 1, false: 2}[gone] {
			t.Errorf("cell %d: got %d outputs and %d bytes left out, want those of the largest displays left out", i, len(c.Outputs), c.Cut)
		}
	}
	if cut < want || cut > want+300 {
		t.Errorf("left out: got %d bytes, want the %d of the largest pictures and their texts", cut, want)
	}
	picture := map[string]any{"cell_type": "markdown", "metadata": map[string]any{}, "source": "text", "attachments": map[string]any{"a.png": map[string]string{"image/png": strings.Repeat("A", 2<<20)}}}
	if n, err := notebookfile.Decode(fileWith(t, "", picture)); err != nil || n.Cells[0].Attachments != nil || n.Cells[0].Cut < 2<<20 {
		t.Errorf("a picture that is too large: got %v, want the text without it", err)
	}
}

// What a cell may have while it runs, it has after its file was read.
func TestOutputsOfARunSurviveTheFile(t *testing.T) {
	t.Parallel()
	n := wire.Notebook{Cells: []wire.Cell{{ID: "a", Kind: wire.CellCode, Outputs: []wire.CellOutput{
		{Type: wire.OutputDisplay, Data: json.RawMessage(`{"image/png":"` + strings.Repeat("A", 250<<10) + `"}`)}, {Type: wire.OutputStream, Name: "stdout", Text: strings.Repeat("x", 128<<10)},
	}}}}
	data, err := notebookfile.Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	again, err := notebookfile.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if c := again.Cells[0]; len(c.Outputs) != 2 || c.Cut != 0 || len(c.Outputs[1].Text) != 128<<10 {
		t.Errorf("got %d outputs and %d bytes left out, want both outputs", len(c.Outputs), c.Cut)
	}
}

// Of metadata the largest values are left out until the rest is small enough, and forms that are no texts are counted.
func TestMetadataAndAttachments(t *testing.T) {
	t.Parallel()
	metadata := `{"kernelspec":{"name":"python3","display_name":"P"},"widgets":{"state":"` + strings.Repeat("x", 300_000) + `"},"mine":{"a":1},"deep":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`
	chart := displayOf(map[string]any{"application/vnd.plotly.v1+json": map[string]any{"data": []int{1, 2}}, "text/plain": "Figure"})
	markdown := map[string]any{"cell_type": "markdown", "metadata": map[string]any{}, "source": "![a](attachment:a.png)", "attachments": map[string]any{"a.png": map[string]any{"image/png": []string{"aG", "k="}}}}
	n, err := notebookfile.Decode(fileWith(t, metadata, codeWith(chart), markdown))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"kernelspec":{"display_name":"P","name":"python3"},"mine":{"a":1}}`; string(n.Metadata) != want {
		t.Errorf("metadata: got %.300s, want %s", n.Metadata, want)
	}
	if c := n.Cells[0]; c.Cut != int64(len(`{"data":[1,2]}`)) || len(c.Outputs) != 1 || string(c.Outputs[0].Data) != `{"text/plain":"Figure"}` {
		t.Errorf("a chart: got %+v, want its text, and its JSON counted as left out", c)
	}
	if want := `{"a.png":{"image/png":"aGk="}}`; string(n.Cells[1].Attachments) != want {
		t.Errorf("attachments: got %s, want %s", n.Cells[1].Attachments, want)
	}
	data, err := notebookfile.Encode(n)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := notebookfile.Decode(data); err != nil || string(again.Cells[1].Attachments) != string(n.Cells[1].Attachments) {
		t.Errorf("attachments after writing and reading: got %+v and %v, want them again", again.Cells, err)
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
