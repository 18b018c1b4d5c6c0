package tools

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/kernels"
	"github.com/everdesk/everdesk/notebookfile"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Notebooks changes notebooks and executes their cells.
type Notebooks interface {
	// ChangeNotebook inserts, changes or deletes a cell.
	ChangeNotebook(ctx context.Context, c Caller, p wire.NotebookChanged) error
	// CheckRun returns why no cell of a notebook can be executed now, or nil.
	CheckRun(ctx context.Context, c Caller, window wire.WindowID) error
	// RunCell executes a cell and waits for its end. It refuses a cell with another source than the given one, which
	// was approved. If ctx ends first, the code is interrupted.
	RunCell(ctx context.Context, c Caller, window wire.WindowID, cell wire.CellID, source string) (wire.Cell, error)
	// ControlKernel interrupts or restarts the kernel of a notebook. A notebook without one stays as it is.
	ControlKernel(ctx context.Context, c Caller, window wire.WindowID, op wire.KernelOp) error
	// CompleteCode returns how code may continue at a place, in characters.
	CompleteCode(ctx context.Context, c Caller, window wire.WindowID, code string, at int) (kernels.Completion, error)
}

func notebookTools() []tool {
	return []tool{
		{
			name: "notebook:open", in: everyone, stays: true, repeatable: true, use: with(openNotebook),
			about: "Open a notebook: a window with cells of code and text that the user sees and can run, too. Use it to compute, to analyse data and to plot. " +
				"Variables stay between cells. Give cells, or a file of storage (.ipynb or .py), or nothing. A notebook that is open under the id is replaced.",
		},
		{
			name: "notebook:run_cell", in: everyone, covers: covering(coversOwnNotebook), use: guarded(runCell, askToRun),
			about: "Run code in a notebook and read its outputs, pictures included. With code a new cell is added at the end and run; with cell an existing cell is run. " +
				"The code starts in the folder of this desktop's storage, if the kernel can reach it. The user is asked before, unless they allowed it.",
		},
		{name: "notebook:insert_cell", in: everyone, stays: true, use: with(insertCell), about: "Add a cell to a notebook without running it."},
		{name: "notebook:edit_cell", in: everyone, stays: true, use: with(editCell), about: "Replace the source of a cell."},
		{name: "notebook:delete_cell", in: everyone, stays: true, use: with(deleteCell), about: "Delete a cell."},
		{name: "notebook:list", in: everyone, parallel: true, repeatable: true, use: with(listNotebooks), about: "List the open notebooks of your monitor."},
		{
			name: "notebook:read", in: everyone, parallel: true, repeatable: true, use: with(readNotebook),
			about: "Read the cells of a notebook with their outputs, or one cell.",
		},
		{name: "kernel:interrupt", in: everyone, repeatable: true, use: with(interruptKernel), about: "Interrupt the code that a notebook runs."},
		{name: "kernel:restart", in: everyone, stays: true, use: with(restartKernel), about: "Restart the kernel of a notebook. All its variables are lost."},
		{
			name: "kernel:complete", in: everyone, parallel: true, repeatable: true, use: with(completeCode),
			about: "Ask the kernel how code may continue, such as the methods of an object.",
		},
	}
}

type newCell struct {
	Kind   wire.CellKind `json:"kind,omitempty" jsonschema:"code when absent."`
	Source string        `json:"source" wire:"max=262144"`
}

type openNotebookInput struct {
	Notebook wire.WindowID `json:"notebook" jsonschema:"Id of the notebook and its window, such as sales."`
	Title    string        `json:"title,omitempty" wire:"max=500"`
	Cells    []newCell     `json:"cells,omitempty" wire:"max=200"`
	File     string        `json:"file,omitempty" jsonschema:"Path of a file in storage, .ipynb or .py, instead of cells."`
	Kernel   string        `json:"kernel,omitempty" jsonschema:"Kind of kernel, such as python3; the default of the hub when absent." wire:"max=100"`
}

// Size of the window of a notebook in pixels.
const notebookW, notebookH = 760, 560

func openNotebook(ctx context.Context, u *use, in openNotebookInput) providers.ToolResult {
	content := wire.Notebook{Kernel: wire.NotebookKernel{Name: in.Kernel}, Cells: []wire.Cell{}}
	if in.File != "" {
		data, err := fileCall{u}.readAll(ctx, in.File, notebookfile.MaxFile)
		if err != nil {
			return u.refuse(ctx, "%s", sentence(err.Error()))
		}
		if content, err = notebookOf(in.File, data); err != nil {
			return u.refuse(ctx, "%s", sentence(err.Error()))
		}
		content.Kernel.Name = cmp.Or(in.Kernel, content.Kernel.Name)
	}
	for i, c := range in.Cells {
		content.Cells = append(content.Cells, wire.Cell{
			ID: wire.CellID(fmt.Sprintf("%s-%d", u.id("cell"), i+1)), Kind: cmp.Or(c.Kind, wire.CellCode), Source: c.Source, AgentID: u.Agent,
		})
	}
	return u.act(ctx, func(s *desktop.State) Plan {
		id := windowCall{u}.raw(in.Notebook)
		w, h := float64(notebookW), float64(notebookH)
		create := wire.WindowCreate{
			WindowID: id, Title: cmp.Or(in.Title, string(id)), Bounds: place{Width: &w, Height: &h}.bounds(s, u.Caller, wire.WindowCreate{WindowID: id}),
			Content: wire.NotebookContent{Data: content}, ActionMeta: u.meta(),
		}
		r := textf("Opened the notebook %q with %d cells%s.", id, len(content.Cells), cellIDs(content.Cells))
		if in.File != "" {
			r = outsideFile(fileSource(in.File), r)
		}
		return Plan{Actions: []wire.Action{create}, Result: r}
	})
}

func cellIDs(cells []wire.Cell) string {
	if len(cells) == 0 {
		return ""
	}
	var b strings.Builder
	for i := range cells {
		b.WriteString(map[bool]string{true: ": ", false: ", "}[i == 0])
		b.WriteString(string(cells[i].ID))
	}
	return b.String()
}

// notebookOf returns the notebook in a file.
func notebookOf(name string, data []byte) (wire.Notebook, error) {
	if strings.EqualFold(path.Ext(name), ".ipynb") {
		n, err := notebookfile.Decode(data)
		if err != nil {
			return n, fmt.Errorf("%q: %w", truncate(name, 200), err)
		}
		return n, nil
	}
	if !utf8.Valid(data) {
		return wire.Notebook{}, fmt.Errorf("%q is no text", truncate(name, 200))
	}
	return notebookfile.FromScript(string(data)), nil
}

type runCellInput struct {
	Notebook wire.WindowID `json:"notebook"`
	Cell     wire.CellID   `json:"cell,omitempty" jsonschema:"An existing cell to run, instead of code."`
	Code     string        `json:"code,omitempty" jsonschema:"Code for a new cell at the end; or, with cell, the new source of that cell." wire:"max=262144"`
}

// coversOwnNotebook says that data of a notebook is no reason to ask before code in that notebook.
func coversOwnNotebook(u *use, in runCellInput) coverage {
	return coverage{own: notebookSource(windowCall{u}.raw(in.Notebook))}
}

func notebookSource(id wire.WindowID) string { return "the notebook " + string(id) }

// notebookCall is a call of a tool for a notebook.
type notebookCall struct{ *use }

// findNotebook returns a notebook of the caller's monitor.
func (u notebookCall) findNotebook(ctx context.Context, id wire.WindowID) (n wire.Notebook, err error) {
	found := false
	if err := u.Desktop.Steps.View(ctx, func(s *desktop.State) { n, found = s.Notebook(u.Monitor, windowCall(u).raw(id)) }); err != nil {
		return n, fmt.Errorf("the notebook cannot be read: %w", err)
	}
	if !found {
		return n, fmt.Errorf("there is no notebook %q on this monitor; open it first", truncate(string(id), 64))
	}
	return n, nil
}

func findCell(n wire.Notebook, id wire.CellID) (wire.Cell, error) {
	for _, c := range n.Cells {
		if c.ID == id {
			return c, nil
		}
	}
	return wire.Cell{}, fmt.Errorf("the notebook has no cell %q; its cells are%s", id, cmp.Or(strings.TrimPrefix(cellIDs(n.Cells), ":"), " none"))
}

// askToRun returns the question before code runs. Users see all of the code, because they cannot approve what they
// cannot see.
func askToRun(ctx context.Context, u *use, in runCellInput) (*question, error) {
	n, err := notebookCall{u}.findNotebook(ctx, in.Notebook)
	if err != nil {
		return nil, err
	}
	code := in.Code
	switch {
	case in.Cell == "" && code == "":
		return nil, errors.New("cell: either it or code must be there")
	case in.Cell != "":
		c, err := findCell(n, in.Cell)
		if err != nil {
			return nil, err
		}
		if c.Kind != wire.CellCode {
			return nil, fmt.Errorf("the cell %q is no code", in.Cell)
		}
		code = cmp.Or(code, c.Source)
	}
	if utf8.RuneCountInString(code) > shownInput {
		return nil, fmt.Errorf("the code has more than %d characters, which users cannot check; split it into cells", shownInput)
	}
	if err := u.Desktop.Notebooks.CheckRun(ctx, u.Caller, windowCall{u}.raw(in.Notebook)); err != nil {
		return nil, err //nolint:wrapcheck // it says what is wrong
	}
	u.approvedCode = code
	return &question{title: "Run code in " + string(windowCall{u}.raw(in.Notebook)) + "?", yes: "Run", topic: "notebook:run_cell", message: visibleCode(code)}, nil
}

func runCell(ctx context.Context, u *use, in runCellInput) providers.ToolResult {
	id := windowCall{u}.raw(in.Notebook)
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		n, err := notebookCall{u}.findNotebook(ctx, id)
		if err != nil {
			return providers.ToolResult{}, err
		}
		change := wire.NotebookChanged{WindowID: id, MonitorID: u.Monitor, AgentID: u.Agent, Op: wire.NotebookEdit, CellID: in.Cell, Source: in.Code}
		if in.Cell == "" {
			change.Op, change.CellID, change.Kind = wire.NotebookInsert, wire.CellID(u.id("cell")), wire.CellCode
			if last := len(n.Cells) - 1; last >= 0 {
				change.After = n.Cells[last].ID
			}
		}
		if in.Code != "" {
			if err := u.Desktop.Notebooks.ChangeNotebook(ctx, u.Caller, change); err != nil {
				return providers.ToolResult{}, err //nolint:wrapcheck // it says what is wrong
			}
		}
		c, err := u.Desktop.Notebooks.RunCell(ctx, u.Caller, id, change.CellID, u.approvedCode)
		if err != nil {
			return providers.ToolResult{}, err //nolint:wrapcheck // as above
		}
		r := cellResult(c, cellRoom)
		r.Text = fmt.Sprintf("Cell %s: %s.%s\n", c.ID, stateText(c), cmp.Or(" "+c.Reason, "")) + r.Text
		r.IsError = c.State != wire.CellOK
		if now, err := (notebookCall{u}).findNotebook(ctx, id); err == nil && now.Kernel.Reason != "" { // such as that it has no files
			r.Text += "\nThe kernel: " + now.Kernel.Reason
		}
		return OutsideResult(notebookSource(id), r), nil
	})
}

func stateText(c wire.Cell) string {
	switch c.State {
	case wire.CellOK:
		return "done"
	case wire.CellFailed:
		return "it failed"
	case wire.CellAborted:
		return "it was not run, or interrupted"
	case wire.CellUnknown:
		return "it may or may not have run"
	case wire.CellQueued, wire.CellRunning:
		return "it is running"
	}
	return "not run"
}

// Bounds of what models read of a notebook, in characters, and of the pictures of a result.
const (
	cellRoom         = 20_000
	notebookRoom     = 40_000
	maxCellPictures  = 4
	notebookCellRoom = 3_000
)

// escapes are the escape sequences of terminals.
var escapes = regexp.MustCompile(`\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])`)

// plainText returns terminal output without escape sequences and without what carriage returns overwrite.
func plainText(s string) string {
	lines := strings.Split(escapes.ReplaceAllString(s, ""), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = line[strings.LastIndexByte(line, '\r')+1:]
	}
	return strings.Join(lines, "\n")
}

// cellResult returns the outputs of a cell for a model, at most room characters, with the number of those left out.
func cellResult(c wire.Cell, room int) providers.ToolResult {
	var r providers.ToolResult
	var b strings.Builder
	pictures := 0
	for _, o := range c.Outputs {
		switch o.Type {
		case wire.OutputStream:
			b.WriteString(plainText(o.Text))
		case wire.OutputError:
			fmt.Fprintf(&b, "%s: %s\n%s\n", o.Name, o.Value, plainText(o.Text))
		default:
			text, image := displayed(o)
			if image != nil {
				if pictures++; pictures <= maxCellPictures {
					r.Images = append(r.Images, *image)
					text = "[picture " + strconv.Itoa(pictures) + "]"
				} else {
					text = "[a picture that is left out]"
				}
			}
			b.WriteString(text + "\n")
		}
	}
	r.Text = b.String()
	if n := utf8.RuneCountInString(r.Text); n > room { // the end matters as much as the beginning
		head, tail := truncate(r.Text, room*2/3), []rune(r.Text)
		r.Text = head + fmt.Sprintf("\n[cut: %d characters are left out]\n", n-room) + string(tail[len(tail)-room/3:])
	}
	if c.Cut > 0 {
		r.Text += fmt.Sprintf("\n[%d bytes of output exceeded the limit of a cell and are lost]", c.Cut)
	}
	return r
}

// displayed returns the best form of a display for a model: a picture, or a text.
func displayed(o wire.CellOutput) (string, *providers.Image) {
	var forms map[string]string
	if json.Unmarshal(o.Data, &forms) != nil {
		return "[an output that cannot be read]", nil
	}
	for _, kind := range []string{"image/png", "image/jpeg", "image/gif", "image/webp"} {
		if data, err := base64.StdEncoding.DecodeString(forms[kind]); err == nil && len(data) > 0 && len(data) <= maxImage {
			return "", &providers.Image{MediaType: kind, Data: data}
		}
	}
	for _, kind := range []string{"text/markdown", "text/latex", "text/plain", "text/html", "image/svg+xml"} {
		if text := forms[kind]; text != "" {
			return plainText(text), nil
		}
	}
	return "[an output without text]", nil
}

type insertCellInput struct {
	Notebook wire.WindowID `json:"notebook"`
	Source   string        `json:"source" wire:"max=262144"`
	Kind     wire.CellKind `json:"kind,omitempty" jsonschema:"code when absent."`
	After    wire.CellID   `json:"after,omitempty" jsonschema:"The cell before it; the last one when absent."`
}

// changeCell changes a cell between Begin and End of the call.
func (u notebookCall) changeCell(ctx context.Context, p wire.NotebookChanged, done string) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		n, err := u.findNotebook(ctx, p.WindowID)
		if err != nil {
			return providers.ToolResult{}, err
		}
		if p.Op != wire.NotebookInsert {
			if _, err := findCell(n, p.CellID); err != nil {
				return providers.ToolResult{}, err
			}
		} else if last := len(n.Cells) - 1; p.After == "" && last >= 0 {
			p.After = n.Cells[last].ID
		}
		p.WindowID, p.MonitorID, p.AgentID = windowCall(u).raw(p.WindowID), u.Monitor, u.Agent
		if err := u.Desktop.Notebooks.ChangeNotebook(ctx, u.Caller, p); err != nil {
			return providers.ToolResult{}, err //nolint:wrapcheck // it says what is wrong
		}
		return textf("%s the cell %s.", done, p.CellID), nil
	})
}

func insertCell(ctx context.Context, u *use, in insertCellInput) providers.ToolResult {
	return notebookCall{u}.changeCell(ctx, wire.NotebookChanged{
		WindowID: in.Notebook, Op: wire.NotebookInsert, CellID: wire.CellID(u.id("cell")), Kind: cmp.Or(in.Kind, wire.CellCode), Source: in.Source, After: in.After,
	}, "Added")
}

type editCellInput struct {
	Notebook wire.WindowID `json:"notebook"`
	Cell     wire.CellID   `json:"cell"`
	Source   string        `json:"source" wire:"max=262144"`
}

func editCell(ctx context.Context, u *use, in editCellInput) providers.ToolResult {
	return notebookCall{u}.changeCell(ctx, wire.NotebookChanged{WindowID: in.Notebook, Op: wire.NotebookEdit, CellID: in.Cell, Source: in.Source}, "Changed")
}

type cellInput struct {
	Notebook wire.WindowID `json:"notebook"`
	Cell     wire.CellID   `json:"cell"`
}

func deleteCell(ctx context.Context, u *use, in cellInput) providers.ToolResult {
	return notebookCall{u}.changeCell(ctx, wire.NotebookChanged{WindowID: in.Notebook, Op: wire.NotebookDelete, CellID: in.Cell}, "Deleted")
}

// notebookLine is a notebook in the result of notebook:list.
type notebookLine struct {
	Notebook wire.WindowID    `json:"notebook"`
	Title    string           `json:"title"`
	Cells    int              `json:"cells"`
	Kernel   wire.KernelState `json:"kernel,omitempty"`
}

func listNotebooks(ctx context.Context, u *use, _ none) providers.ToolResult {
	return u.act(ctx, func(s *desktop.State) Plan {
		all := []notebookLine{}
		for _, w := range s.Windows(u.Monitor) {
			if n, ok := w.Content.(wire.NotebookContent); ok {
				all = append(all, notebookLine{Notebook: w.WindowID, Title: w.Title, Cells: len(n.Data.Cells), Kernel: n.Data.Kernel.State})
			}
		}
		return Plan{Result: asJSON(all)}
	})
}

type readNotebookInput struct {
	Notebook wire.WindowID `json:"notebook"`
	Cell     wire.CellID   `json:"cell,omitempty" jsonschema:"Only this cell, with more of its output and its pictures."`
}

func readNotebook(ctx context.Context, u *use, in readNotebookInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		n, err := notebookCall{u}.findNotebook(ctx, in.Notebook)
		if err != nil {
			return providers.ToolResult{}, err
		}
		cells, room := n.Cells, notebookCellRoom
		if in.Cell != "" {
			c, err := findCell(n, in.Cell)
			if err != nil {
				return providers.ToolResult{}, err
			}
			cells, room = []wire.Cell{c}, cellRoom
		}
		var b strings.Builder
		var r providers.ToolResult
		for i := range cells {
			out := cellResult(cells[i], room)
			fmt.Fprintf(&b, "--- cell %s (%s, %s)\n%s\n--- output\n%s\n", cells[i].ID, cells[i].Kind, stateText(cells[i]), truncate(cells[i].Source, cellRoom), out.Text)
			if in.Cell != "" {
				r.Images = out.Images
			}
			if rest := len(cells) - i - 1; rest > 0 && b.Len() > notebookRoom {
				fmt.Fprintf(&b, "[cut: %d more cells; read them one by one]\n", rest)
				break
			}
		}
		r.Text = cmp.Or(b.String(), "The notebook has no cells.")
		return OutsideResult(notebookSource(windowCall{u}.raw(in.Notebook)), r), nil
	})
}

type kernelInput struct {
	Notebook wire.WindowID `json:"notebook"`
}

func (u notebookCall) controlKernel(ctx context.Context, in kernelInput, op wire.KernelOp, done string) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if _, err := u.findNotebook(ctx, in.Notebook); err != nil {
			return providers.ToolResult{}, err
		}
		return text(done), u.Desktop.Notebooks.ControlKernel(ctx, u.Caller, windowCall(u).raw(in.Notebook), op)
	})
}

func interruptKernel(ctx context.Context, u *use, in kernelInput) providers.ToolResult {
	return notebookCall{u}.controlKernel(ctx, in, wire.KernelInterrupt, "Interrupted.")
}

func restartKernel(ctx context.Context, u *use, in kernelInput) providers.ToolResult {
	return notebookCall{u}.controlKernel(ctx, in, wire.KernelRestart, "The kernel restarts. Its variables are gone.")
}

type completeInput struct {
	Notebook wire.WindowID `json:"notebook"`
	Code     string        `json:"code" wire:"max=65536"`
	Cursor   *int          `json:"cursor,omitempty" jsonschema:"Where in the code, in characters; the end when absent." wire:"min=0"`
}

func completeCode(ctx context.Context, u *use, in completeInput) providers.ToolResult {
	return u.run(ctx, func(ctx context.Context) (providers.ToolResult, error) {
		if _, err := (notebookCall{u}).findNotebook(ctx, in.Notebook); err != nil {
			return providers.ToolResult{}, err
		}
		at := utf8.RuneCountInString(in.Code)
		if in.Cursor != nil {
			at = min(at, *in.Cursor)
		}
		c, err := u.Desktop.Notebooks.CompleteCode(ctx, u.Caller, windowCall{u}.raw(in.Notebook), in.Code, at)
		if err != nil {
			return providers.ToolResult{}, err //nolint:wrapcheck // it says what is wrong
		}
		const most = 200
		rest := ""
		if len(c.Matches) > most {
			rest = fmt.Sprintf("\n[cut: %d more]", len(c.Matches)-most)
			c.Matches = c.Matches[:most]
		}
		return OutsideResult(notebookSource(windowCall{u}.raw(in.Notebook)), text(strings.Join(c.Matches, "\n")+rest)), nil
	})
}
