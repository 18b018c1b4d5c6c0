package desktop

import (
	"cmp"
	"slices"

	"github.com/everdesk/everdesk/wire"
)

// MaxCells bounds the cells of a notebook.
const MaxCells = 500

// applyNotebook applies the events of notebooks, and reports whether data is one.
func (ws *windows) applyNotebook(data wire.ServerPayload, now wire.Millis) bool {
	switch p := data.(type) {
	case wire.NotebookChanged:
		ws.changeNotebook(p)
	case wire.CellExecuted:
		ws.executeCell(p, now)
	case wire.CellOutputs:
		ws.addOutputs(p)
	case wire.KernelStatus:
		ws.setKernel(p)
	default:
		return false
	}
	return true
}

// notebook returns the notebook of a window, if the window has one.
func (ws *windows) notebook(monitor wire.MonitorID, id wire.WindowID) (windowKey, wire.Notebook, bool) {
	k, r := ws.find(cmp.Or(monitor, firstMonitor), id)
	if r == nil {
		return k, wire.Notebook{}, false
	}
	shown := ws.findContent(k)
	if shown == nil {
		return k, wire.Notebook{}, false
	}
	c, ok := shown.value.Content.(wire.NotebookContent)
	return k, c.Data, ok
}

func (ws *windows) setNotebook(k windowKey, n wire.Notebook) {
	ws.setContent(k, wire.NotebookContent{Data: n})
}

// editCell changes a cell of a notebook. Snapshots share the cells, so it changes copies.
func (ws *windows) editCell(monitor wire.MonitorID, id wire.WindowID, cell wire.CellID, change func(*wire.Cell)) {
	k, n, ok := ws.notebook(monitor, id)
	i := indexCell(n.Cells, cell)
	if !ok || i < 0 {
		return
	}
	n.Cells = slices.Clone(n.Cells)
	change(&n.Cells[i])
	ws.setNotebook(k, n)
}

func indexCell(cells []wire.Cell, id wire.CellID) int {
	return slices.IndexFunc(cells, func(c wire.Cell) bool { return c.ID == id })
}

// changeNotebook inserts, changes, moves or deletes a cell.
func (ws *windows) changeNotebook(p wire.NotebookChanged) {
	k, n, ok := ws.notebook(p.MonitorID, p.WindowID)
	if !ok {
		return
	}
	i := indexCell(n.Cells, p.CellID)
	switch {
	case p.Op == wire.NotebookInsert && i < 0 && len(n.Cells) < MaxCells:
		c := wire.Cell{ID: p.CellID, Kind: cmp.Or(p.Kind, wire.CellCode), Source: validUTF8(p.Source), AgentID: p.AgentID}
		n.Cells = insertCell(n.Cells, c, p.After)
	case i < 0:
		return
	case p.Op == wire.NotebookEdit:
		n.Cells = slices.Clone(n.Cells)
		c := &n.Cells[i]
		c.Source, c.Kind, c.AgentID = validUTF8(p.Source), cmp.Or(p.Kind, c.Kind), p.AgentID
	case p.Op == wire.NotebookDelete:
		n.Cells = slices.Delete(slices.Clone(n.Cells), i, i+1)
	case p.Op == wire.NotebookMove:
		c := n.Cells[i]
		n.Cells = insertCell(slices.Delete(slices.Clone(n.Cells), i, i+1), c, p.After)
	case p.Op == wire.NotebookClear:
		n.Cells = slices.Clone(n.Cells)
		n.Cells[i].Outputs, n.Cells[i].Cut = nil, 0
	default:
		return
	}
	ws.setNotebook(k, n)
}

// insertCell returns the cells with one more behind another, or at the end if that does not exist.
func insertCell(cells []wire.Cell, c wire.Cell, after wire.CellID) []wire.Cell {
	at := 0
	if after != "" {
		if at = indexCell(cells, after) + 1; at == 0 {
			at = len(cells)
		}
	}
	return slices.Insert(slices.Clone(cells), at, c)
}

// executeCell changes how far the execution of a cell is.
func (ws *windows) executeCell(p wire.CellExecuted, now wire.Millis) {
	ws.editCell(p.MonitorID, p.WindowID, p.CellID, func(c *wire.Cell) {
		c.State, c.Reason = p.State, validUTF8(p.Reason)
		switch p.State {
		case wire.CellQueued:
		case wire.CellRunning:
			c.Outputs, c.Cut, c.Count, c.Began, c.Ended = nil, 0, p.Count, now, 0
		default:
			c.Count, c.Ended = cmp.Or(p.Count, c.Count), now
		}
	})
}

// addOutputs changes the outputs of a cell.
func (ws *windows) addOutputs(p wire.CellOutputs) {
	ws.editCell(p.MonitorID, p.WindowID, p.CellID, func(c *wire.Cell) {
		if p.Clear {
			c.Outputs = nil
		}
		c.Cut = p.Cut
		c.Outputs = slices.Clone(c.Outputs)
		for _, o := range p.Outputs {
			o.Text, o.Name, o.Value = validUTF8(o.Text), validUTF8(o.Name), validUTF8(o.Value)
			if last := len(c.Outputs) - 1; last >= 0 && continues(&c.Outputs[last], &o) {
				c.Outputs[last].Text += o.Text
				continue
			}
			c.Outputs = append(c.Outputs, o)
		}
	})
	for _, u := range p.Updates {
		ws.updateDisplay(p.MonitorID, p.WindowID, u)
	}
}

// continues reports whether an output is more text of a stream.
func continues(last, o *wire.CellOutput) bool {
	return o.Type == wire.OutputStream && last.Type == wire.OutputStream && last.Name == o.Name
}

// updateDisplay replaces the data of all displays with an id.
func (ws *windows) updateDisplay(monitor wire.MonitorID, id wire.WindowID, u wire.CellOutput) {
	k, n, ok := ws.notebook(monitor, id)
	if !ok || u.DisplayID == "" {
		return
	}
	n.Cells = slices.Clone(n.Cells)
	for i := range n.Cells {
		c := &n.Cells[i]
		if !slices.ContainsFunc(c.Outputs, func(o wire.CellOutput) bool { return o.DisplayID == u.DisplayID }) {
			continue
		}
		c.Outputs = slices.Clone(c.Outputs)
		for j := range c.Outputs {
			if c.Outputs[j].DisplayID == u.DisplayID {
				c.Outputs[j].Data = u.Data
			}
		}
	}
	ws.setNotebook(k, n)
}

// setKernel changes the kernel of a notebook.
func (ws *windows) setKernel(p wire.KernelStatus) {
	k, n, ok := ws.notebook(p.MonitorID, p.WindowID)
	if !ok {
		return
	}
	n.Kernel.State, n.Kernel.Reason = p.State, validUTF8(p.Reason)
	n.Kernel.Name, n.Kernel.Language = cmp.Or(p.Name, n.Kernel.Name), cmp.Or(p.Language, n.Kernel.Language)
	if p.State != wire.KernelBusy {
		n.Kernel.Variables = nil
		for _, v := range p.Variables {
			n.Kernel.Variables = append(n.Kernel.Variables, wire.KernelVariable{Name: validUTF8(v.Name), Type: validUTF8(v.Type), Value: validUTF8(v.Value)})
		}
	}
	ws.setNotebook(k, n)
}

// WithoutExecutions returns a content without executions: no kernel works for a notebook that an action or a file opens.
func WithoutExecutions(c wire.Content) wire.Content {
	nb, ok := plainContent(c).(wire.NotebookContent)
	if !ok {
		return c
	}
	nb.Data.Kernel.State, nb.Data.Kernel.Reason, nb.Data.Kernel.Variables = "", "", nil
	nb.Data.Cells = slices.Clone(nb.Data.Cells)
	for i := range nb.Data.Cells {
		if s := nb.Data.Cells[i].State; s == wire.CellQueued || s == wire.CellRunning {
			nb.Data.Cells[i].State = ""
		}
	}
	return nb
}

// Notebook returns the notebook of a window, if the window has one. It must not be modified.
func (s *State) Notebook(monitor wire.MonitorID, id wire.WindowID) (wire.Notebook, bool) {
	_, n, ok := s.surface.windows.notebook(monitor, id)
	return n, ok
}

// CheckNotebook returns why a change of a notebook is refused, or nil.
func (s *State) CheckNotebook(p wire.NotebookChanged) *Refusal {
	k, n, ok := s.surface.windows.notebook(p.MonitorID, p.WindowID)
	if !ok {
		return refuseNow("there is no notebook %q on %s", p.WindowID, cmp.Or(p.MonitorID, firstMonitor))
	}
	c := checker{on: &s.surface, monitor: cmp.Or(p.MonitorID, firstMonitor), user: p.AgentID == ""}
	if _, r := s.surface.windows.find(c.monitor, p.WindowID); r != nil {
		if refusal := c.lockedOut(&r.value, p.AgentID); refusal != nil {
			return refusal
		}
	}
	i := indexCell(n.Cells, p.CellID)
	switch {
	case p.CellID.Validate() != nil:
		return refuse(wire.CodeInvalidMessage, "%v", p.CellID.Validate())
	case p.Op == wire.NotebookInsert && i >= 0:
		return refuseNow("the notebook has a cell %q already", p.CellID)
	case p.Op == wire.NotebookInsert && len(n.Cells) >= MaxCells:
		return refuseNow("the notebook has %d cells already", MaxCells)
	case p.Op != wire.NotebookInsert && i < 0:
		return refuseNow("the notebook has no cell %q", p.CellID)
	case p.After != "" && indexCell(n.Cells, p.After) < 0:
		return refuseNow("the notebook has no cell %q", p.After)
	case p.Op != wire.NotebookInsert && p.Op != wire.NotebookEdit:
		return nil
	}
	size := contentSize(wire.NotebookContent{Data: n}) + len(p.Source)
	if i >= 0 {
		size -= len(n.Cells[i].Source)
	}
	return c.checkSize(k, size)
}

// RoomForOutputs returns how many bytes of outputs a notebook has room for.
func (s *State) RoomForOutputs(monitor wire.MonitorID, id wire.WindowID) int {
	_, n, ok := s.surface.windows.notebook(monitor, id)
	if !ok {
		return 0
	}
	room := min(MaxContent-contentSize(wire.NotebookContent{Data: n}), MaxBytes-s.surface.size())
	return max(room, 0)
}
