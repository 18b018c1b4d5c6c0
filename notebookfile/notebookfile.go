package notebookfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// Limits of files.
const (
	// MaxFile bounds a file that is read, in bytes.
	MaxFile = 16 << 20
	// maxCells bounds the cells of a notebook.
	maxCells = 500
	// maxOutput bounds the outputs of a cell that are read, in bytes, as those of cells that run. The rest is left out.
	maxOutput = 384 << 10
	// maxContent bounds a notebook that is read, in bytes: more than a window shows would be refused. Outputs beyond it are
	// left out, the largest ones first.
	maxContent = 1<<20 - 4<<10
)

// ErrFormat means that a file is no notebook that can be read.
var ErrFormat = errors.New("no notebook that can be read")

// file is a notebook as a file.
type file struct {
	Cells    []cell          `json:"cells"`
	Metadata json.RawMessage `json:"metadata"`
	Format   int             `json:"nbformat"`
	Minor    int             `json:"nbformat_minor"`
}

// cell is a cell in a file. Outputs and Count are of code only.
type cell struct {
	Kind     string          `json:"cell_type"`
	ID       string          `json:"id,omitempty"`
	Count    *int            `json:"execution_count,omitempty"`
	Metadata json.RawMessage `json:"metadata"`
	Outputs  []output        `json:"outputs,omitempty"`
	Source   text            `json:"source"`
	// Attachments are pictures that the text of a Markdown cell names, by name and media type.
	Attachments json.RawMessage `json:"attachments,omitempty"`
}

type output struct {
	Type      string                     `json:"output_type"`
	Name      string                     `json:"name"`
	Text      text                       `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Count     *int                       `json:"execution_count"`
	ErrorName string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// MarshalJSON implements [json.Marshaler]: the format requires all keys of the type, and allows no others.
func (o output) MarshalJSON() ([]byte, error) {
	keys := map[string]any{"output_type": o.Type}
	switch o.Type {
	case string(wire.OutputStream):
		keys["name"], keys["text"] = o.Name, o.Text
	case string(wire.OutputError):
		keys["ename"], keys["evalue"], keys["traceback"] = o.ErrorName, o.Value, o.Traceback
	case string(wire.OutputResult):
		keys["execution_count"] = o.Count
		fallthrough
	default:
		keys["data"], keys["metadata"] = o.Data, struct{}{}
	}
	return json.Marshal(keys) //nolint:wrapcheck // the caller names the cell
}

// text is a text, or a list of its lines.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = text(s)
		return nil
	}
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return errors.New("neither a text nor a list of lines")
	}
	*t = text(strings.Join(lines, ""))
	return nil
}

// metadataKey is the key of the hub in the metadata of cells.
const metadataKey = "everdesk"

// provenance is what the metadata of a cell says beyond the format.
type provenance struct {
	Agent wire.AgentID   `json:"agent,omitempty"`
	State wire.CellState `json:"state,omitempty"`
	Began wire.Millis    `json:"began,omitempty"`
	Ended wire.Millis    `json:"ended,omitempty"`
	Cut   int64          `json:"outputBytesLeftOut,omitempty"`
}

// Decode reads a notebook file.
func Decode(data []byte) (wire.Notebook, error) {
	if len(data) > MaxFile {
		return wire.Notebook{}, fmt.Errorf("%w: it has %d bytes, at most %d can be read", ErrFormat, len(data), MaxFile)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return wire.Notebook{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if f.Format == 2 || f.Format == 3 {
		if err := f.readOld(data); err != nil {
			return wire.Notebook{}, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	if f.Format != 4 {
		return wire.Notebook{}, fmt.Errorf("%w: its version is %d.%d", ErrFormat, f.Format, f.Minor)
	}
	if len(f.Cells) > maxCells {
		return wire.Notebook{}, fmt.Errorf("%w: it has %d cells, at most %d can be read", ErrFormat, len(f.Cells), maxCells)
	}
	n := wire.Notebook{Metadata: plainObject(f.Metadata), Cells: []wire.Cell{}}
	n.Kernel.Name, n.Kernel.Language = kernelOf(f.Metadata)
	seen := map[wire.CellID]bool{}
	for i, c := range f.Cells {
		id := wire.CellID(c.ID)
		if id.Validate() != nil || seen[id] {
			id = wire.CellID("cell-" + strconv.Itoa(i+1))
			for seen[id] {
				id += "x"
			}
		}
		seen[id] = true
		n.Cells = append(n.Cells, c.decode(id))
	}
	trim(&n)
	return n, nil
}

// kernelOf returns the kind of kernel that a notebook was written for.
func kernelOf(metadata json.RawMessage) (name, language string) {
	var m struct {
		Kernel struct {
			Name     string `json:"name"`
			Language string `json:"language"`
		} `json:"kernelspec"`
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	}
	_ = json.Unmarshal(metadata, &m) // any metadata is allowed
	language = m.Kernel.Language
	if language == "" {
		language = m.Language.Name
	}
	return begin(m.Kernel.Name, 100), begin(language, 100)
}

func begin(s string, size int) string {
	if len(s) > size {
		s = s[:size]
	}
	return strings.ToValidUTF8(s, "")
}

func (c *cell) decode(id wire.CellID) wire.Cell {
	out := wire.Cell{ID: id, Kind: wire.CellKind(c.Kind), Source: string(c.Source)}
	if out.Kind != wire.CellMarkdown && out.Kind != wire.CellCode {
		out.Kind = wire.CellRaw
	}
	var m map[string]json.RawMessage
	_ = json.Unmarshal(c.Metadata, &m) // cells without metadata are allowed
	var p provenance
	_ = json.Unmarshal(m[metadataKey], &p) // as above
	delete(m, metadataKey)
	if rest, err := json.Marshal(m); err == nil {
		out.Metadata = plainObject(rest)
	}
	if p.Agent.Validate() == nil {
		out.AgentID = p.Agent
	}
	if p.State != wire.CellQueued && p.State != wire.CellRunning && slices.Contains([]wire.CellState{wire.CellOK, wire.CellFailed, wire.CellAborted, wire.CellUnknown}, p.State) {
		out.State, out.Began, out.Ended = p.State, p.Began, p.Ended
	}
	out.Cut = max(p.Cut, 0)
	if c.Count != nil {
		out.Count = max(*c.Count, 0)
	}
	out.Attachments = plainAttachments(c.Attachments)
	used := 0
	for i := range c.Outputs {
		o, cut := c.Outputs[i].decode()
		out.Cut += cut
		size := bytesOf(&o)
		if used += size; used > maxOutput {
			out.Cut += int64(size)
			used -= size
			continue
		}
		out.Outputs = append(out.Outputs, o)
	}
	return out
}

// decode returns an output, and the number of bytes that were left out of it.
func (o *output) decode() (out wire.CellOutput, cut int64) {
	switch o.Type {
	case "stream":
		return wire.CellOutput{Type: wire.OutputStream, Name: begin(o.Name, 20), Text: string(o.Text)}, 0
	case "error":
		return wire.CellOutput{Type: wire.OutputError, Name: o.ErrorName, Value: o.Value, Text: strings.Join(o.Traceback, "\n")}, 0
	}
	kind := wire.OutputDisplay
	if o.Type == "execute_result" {
		kind = wire.OutputResult
	}
	forms := map[string]string{}
	for name, raw := range o.Data {
		var t text
		if t.UnmarshalJSON(raw) != nil { // JSON, such as that of charts and widgets, which the page cannot show
			cut += int64(len(raw))
			continue
		}
		if forms[name] = string(t); strings.HasPrefix(name, "image/") && name != "image/svg+xml" {
			forms[name] = strings.Join(strings.Fields(string(t)), "")
		}
	}
	data, _ := json.Marshal(forms) // strings only
	return wire.CellOutput{Type: kind, Data: data}, cut
}

// Encode returns a notebook as a file.
func Encode(n wire.Notebook) ([]byte, error) {
	f := file{Format: 4, Minor: 5, Metadata: metadataOf(n), Cells: []cell{}}
	for i := range n.Cells {
		c, err := encodeCell(&n.Cells[i])
		if err != nil {
			return nil, fmt.Errorf("cell %s: %w", n.Cells[i].ID, err)
		}
		f.Cells = append(f.Cells, c)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(f); err != nil {
		return nil, fmt.Errorf("notebook: %w", err)
	}
	return b.Bytes(), nil
}

// metadataOf returns the metadata of a notebook, with its kernel.
func metadataOf(n wire.Notebook) json.RawMessage {
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(n.Metadata, &m) // it was an object, or nothing
	if name, _ := kernelOf(n.Metadata); n.Kernel.Name != "" && n.Kernel.Name != name {
		name, _ := json.Marshal(map[string]string{"name": n.Kernel.Name, "display_name": n.Kernel.Name, "language": n.Kernel.Language}) // strings only
		m["kernelspec"] = name
	}
	delete(m, metadataKey) // variables of an earlier kernel
	if len(n.Kernel.Variables) > 0 {
		m[metadataKey], _ = json.Marshal(map[string][]wire.KernelVariable{"variables": n.Kernel.Variables}) // strings only
	}
	data, err := json.Marshal(m)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}

// MarshalJSON implements [json.Marshaler]: code has its outputs and its number even if there are none.
func (c cell) MarshalJSON() ([]byte, error) {
	type plain cell
	if c.Kind != string(wire.CellCode) {
		return json.Marshal(plain(c)) //nolint:wrapcheck // the caller names the cell
	}
	out := struct {
		plain

		Count   *int     `json:"execution_count"`
		Outputs []output `json:"outputs"`
	}{plain(c), c.Count, c.Outputs}
	if out.Outputs == nil {
		out.Outputs = []output{}
	}
	return json.Marshal(out) //nolint:wrapcheck // as above
}

func encodeCell(c *wire.Cell) (cell, error) {
	out := cell{Kind: string(c.Kind), ID: string(c.ID), Source: text(c.Source)}
	if c.Kind != wire.CellCode {
		out.Attachments = c.Attachments
	}
	m := map[string]json.RawMessage{}
	_ = json.Unmarshal(c.Metadata, &m) // it was an object, or nothing
	if p := (provenance{Agent: c.AgentID, State: c.State, Began: c.Began, Ended: c.Ended, Cut: c.Cut}); p != (provenance{}) {
		data, err := json.Marshal(p)
		if err != nil {
			return out, fmt.Errorf("metadata: %w", err)
		}
		m[metadataKey] = data
	}
	data, err := json.Marshal(m)
	if err != nil {
		return out, fmt.Errorf("metadata: %w", err)
	}
	out.Metadata = data
	if c.Kind != wire.CellCode {
		return out, nil
	}
	if c.Count > 0 {
		out.Count = &c.Count
	}
	for i := range c.Outputs {
		o, err := encodeOutput(&c.Outputs[i], out.Count)
		if err != nil {
			return out, err
		}
		out.Outputs = append(out.Outputs, o)
	}
	return out, nil
}

func encodeOutput(o *wire.CellOutput, count *int) (output, error) {
	out := output{Type: string(o.Type)}
	switch o.Type {
	case wire.OutputStream:
		out.Name, out.Text = cmp.Or(o.Name, "stdout"), text(o.Text)
		return out, nil
	case wire.OutputError:
		out.ErrorName, out.Value, out.Traceback = o.Name, o.Value, strings.Split(o.Text, "\n")
		return out, nil
	case wire.OutputResult:
		out.Count = count
	case wire.OutputDisplay:
	}
	if len(o.Data) > 0 {
		if err := json.Unmarshal(o.Data, &out.Data); err != nil {
			return out, fmt.Errorf("output: %w", err)
		}
	}
	if out.Data == nil {
		out.Data = map[string]json.RawMessage{}
	}
	return out, nil
}

// FromScript returns a notebook with the cells of a script. Lines that begin with "# %%" separate cells, as editors
// have them; "# %% [markdown]" begins a cell of comments.
func FromScript(source string) wire.Notebook {
	n := wire.Notebook{Cells: []wire.Cell{}}
	var lines []string
	kind := wire.CellCode
	add := func() {
		body := strings.Trim(strings.Join(lines, "\n"), "\n")
		if body != "" && len(n.Cells) < maxCells {
			n.Cells = append(n.Cells, wire.Cell{ID: wire.CellID("cell-" + strconv.Itoa(len(n.Cells)+1)), Kind: kind, Source: body})
		}
		lines, kind = nil, wire.CellCode
	}
	for line := range strings.Lines(strings.ReplaceAll(source, "\r\n", "\n")) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# %%"); ok {
			add()
			if strings.Contains(rest, "[markdown]") {
				kind = wire.CellMarkdown
			}
			continue
		}
		if kind == wire.CellMarkdown {
			line = strings.TrimPrefix(strings.TrimPrefix(line, "#"), " ")
		}
		lines = append(lines, line)
	}
	add()
	return n
}
