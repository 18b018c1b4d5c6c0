package attach

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/wire"
)

// consoleNotebook is the window of the notebook in which :run runs code.
const consoleNotebook wire.WindowID = "console"

// runCode sends code as a new cell of the console's notebook, which runs it.
func (c *console) runCode(code string) (wire.ClientPayload, error) {
	if strings.TrimSpace(code) == "" {
		return nil, errors.New("want code to run")
	}
	return wire.RunCells{WindowID: consoleNotebook, Code: code, MonitorID: c.monitor}, nil
}

// interrupt interrupts the notebook whose kernel is busy.
func (c *console) interrupt(string) (wire.ClientPayload, error) {
	for _, w := range c.client.State().Windows {
		if n, ok := w.Content.(wire.NotebookContent); ok && n.Data.Kernel.State == wire.KernelBusy {
			return wire.ControlKernel{WindowID: w.WindowID, MonitorID: w.MonitorID, Op: wire.KernelInterrupt}, nil
		}
	}
	return nil, errors.New("no notebook runs code")
}

// outputs displays outputs of a cell as text.
func (v *view) outputs(p wire.CellOutputs) {
	for _, o := range slices.Concat(p.Outputs, p.Updates) {
		text, t := o.Text, tintNone
		switch o.Type {
		case wire.OutputStream:
		case wire.OutputError:
			text, t = o.Name+": "+o.Value, tintRed
		default:
			var forms map[string]string
			_ = json.Unmarshal(o.Data, &forms) // an output without text displays nothing
			text = forms["text/plain"]
		}
		for line := range strings.Lines(terminal.Plain(text)) {
			v.out.line(t, "%s │ %s", terminal.OneLine(string(p.WindowID)), terminal.OneLine(line))
		}
	}
	if p.Cut > 0 {
		v.out.line(tintDim, "%s │ %d bytes of output were left out so far", terminal.OneLine(string(p.WindowID)), p.Cut)
	}
}
