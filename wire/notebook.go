package wire

import "encoding/json"

// Notebooks: windows whose content is cells, which a kernel executes.

// CellID identifies a cell within its notebook. Same rules as [SessionID], which are those of notebook files.
type CellID string

func (CellID) rule() idRule { return idRule{"cell id", maxID, true} }

// Validate reports whether id follows the rules of [CellID].
func (id CellID) Validate() error { return id.rule().check(string(id)) }

// NotebookContent is a notebook.
type NotebookContent struct {
	Data Notebook `json:"data"`
}

func (NotebookContent) content() {}

// Notebook is a list of cells and the kernel that executes them.
type Notebook struct {
	Kernel NotebookKernel `json:"kernel,omitzero"`
	Cells  []Cell         `json:"cells"`
	// Metadata is that of the file that the notebook was made from.
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// NotebookKernel is the kernel of a notebook.
type NotebookKernel struct {
	// Name is the kind of kernel, as in python3; empty for the default of the hub.
	Name     string      `json:"name,omitempty"`
	Language string      `json:"language,omitempty"`
	State    KernelState `json:"state,omitempty"`
	// Reason says why the kernel is in this state, if that is not obvious.
	Reason string `json:"reason,omitempty"`
	// Variables are those that the kernel had after the last cell; empty if it cannot say.
	Variables []KernelVariable `json:"variables,omitempty"`
}

// KernelVariable is a variable of a kernel.
type KernelVariable struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Value is the beginning of the value, or its size.
	Value string `json:"value,omitempty"`
}

// KernelState is the state of a kernel.
type KernelState string

// The states of kernels. A kernel without a state was never started.
const (
	KernelStarting   KernelState = "starting"
	KernelIdle       KernelState = "idle"
	KernelBusy       KernelState = "busy"
	KernelRestarting KernelState = "restarting"
	KernelDead       KernelState = "dead"
	KernelStopped    KernelState = "stopped"
)

func (KernelState) values() []string {
	return list(KernelStarting, KernelIdle, KernelBusy, KernelRestarting, KernelDead, KernelStopped)
}

// CellKind is the kind of a cell.
type CellKind string

// The kinds of cells.
const (
	CellCode     CellKind = "code"
	CellMarkdown CellKind = "markdown"
	CellRaw      CellKind = "raw"
)

func (CellKind) values() []string { return list(CellCode, CellMarkdown, CellRaw) }

// CellState is how far the execution of a cell is.
type CellState string

// The states of cells. A cell without a state was not executed. CellUnknown means that the cell may or may not
// have run, or only in part.
const (
	CellQueued  CellState = "queued"
	CellRunning CellState = "running"
	CellOK      CellState = "ok"
	CellFailed  CellState = "error"
	CellAborted CellState = "aborted"
	CellUnknown CellState = "unknown"
)

func (CellState) values() []string {
	return list(CellQueued, CellRunning, CellOK, CellFailed, CellAborted, CellUnknown)
}

// Cell is a cell of a notebook.
type Cell struct {
	ID     CellID   `json:"id"`
	Kind   CellKind `json:"kind"`
	Source string   `json:"source"`
	// AgentID is the agent that wrote the source; empty for people.
	AgentID AgentID   `json:"agentId,omitempty"`
	State   CellState `json:"state,omitempty"`
	// Reason says why the cell is aborted or unknown.
	Reason string `json:"reason,omitempty"`
	// Count is the number of the execution in the kernel.
	Count   int          `json:"count,omitempty" wire:"min=0"`
	Began   Millis       `json:"began,omitempty"`
	Ended   Millis       `json:"ended,omitempty"`
	Outputs []CellOutput `json:"outputs,omitempty"`
	// Cut is the number of bytes of outputs that were left out.
	Cut int64 `json:"cut,omitempty" wire:"min=0"`
	// Metadata is that of the cell in a notebook file.
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Attachments are the pictures of a Markdown cell in a notebook file, by name and media type.
	Attachments json.RawMessage `json:"attachments,omitempty"`
}

// OutputType is the type of an output of a cell.
type OutputType string

// The types of outputs, as in notebook files.
const (
	OutputStream  OutputType = "stream"
	OutputDisplay OutputType = "display_data"
	OutputResult  OutputType = "execute_result"
	OutputError   OutputType = "error"
)

func (OutputType) values() []string {
	return list(OutputStream, OutputDisplay, OutputResult, OutputError)
}

// CellOutput is an output of a cell.
type CellOutput struct {
	Type OutputType `json:"type"`
	// Name is stdout or stderr, of a stream; or the name of an error.
	Name string `json:"name,omitempty"`
	// Text is the text of a stream, or the traceback of an error. Both may have ANSI escape sequences.
	Text string `json:"text,omitempty"`
	// Value is the message of an error.
	Value string `json:"value,omitempty"`
	// Data has the forms of a display or result by media type: texts, base64 for pictures, JSON for JSON.
	Data json.RawMessage `json:"data,omitempty"`
	// DisplayID names a display that later outputs may replace.
	DisplayID string `json:"displayId,omitempty"`
}

// NotebookOp is the kind of change of a notebook.
type NotebookOp string

// The changes of notebooks.
const (
	NotebookInsert NotebookOp = "insert"
	NotebookEdit   NotebookOp = "edit"
	NotebookDelete NotebookOp = "delete"
	NotebookMove   NotebookOp = "move"
	NotebookClear  NotebookOp = "clear" // removes the outputs
)

func (NotebookOp) values() []string {
	return list(NotebookInsert, NotebookEdit, NotebookDelete, NotebookMove, NotebookClear)
}

// NotebookEditMessage changes a cell of a notebook. Changes of different cells never conflict; of two changes of the
// same source the later one counts.
type NotebookEditMessage struct {
	Inbound
	WindowID WindowID   `json:"windowId"`
	Op       NotebookOp `json:"op"`
	CellID   CellID     `json:"cellId"`
	Kind     CellKind   `json:"kind,omitempty"`
	Source   string     `json:"source,omitempty"`
	// After is the cell behind which a cell is inserted or moved; absent for the beginning.
	After     CellID    `json:"after,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// RunCells executes code cells of a notebook, one after the other. After an error the rest is aborted. Only the
// owner of a session may run code.
type RunCells struct {
	Inbound
	WindowID WindowID `json:"windowId"`
	// CellIDs are the cells to run; absent for all.
	CellIDs []CellID `json:"cellIds,omitempty" wire:"max=500"`
	// Code, if set, becomes a new cell at the end, which is run instead. The notebook is opened if there is none.
	Code      string    `json:"code,omitempty"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// KernelOp is an operation on a kernel.
type KernelOp string

// The operations on kernels.
const (
	KernelInterrupt KernelOp = "interrupt"
	KernelRestart   KernelOp = "restart"
	KernelStop      KernelOp = "stop"
)

func (KernelOp) values() []string { return list(KernelInterrupt, KernelRestart, KernelStop) }

// ControlKernel interrupts, restarts or stops the kernel of a notebook. Only the owner of a session may do it.
type ControlKernel struct {
	Inbound
	WindowID  WindowID  `json:"windowId"`
	Op        KernelOp  `json:"op"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
	MessageID MessageID `json:"messageId,omitempty"`
}

// NotebookChanged says that a cell was inserted, changed, moved or deleted.
type NotebookChanged struct {
	Outbound
	WindowID  WindowID   `json:"windowId"`
	Op        NotebookOp `json:"op"`
	CellID    CellID     `json:"cellId"`
	Kind      CellKind   `json:"kind,omitempty"`
	Source    string     `json:"source,omitempty"`
	After     CellID     `json:"after,omitempty"`
	MonitorID MonitorID  `json:"monitorId,omitempty"`
	AgentID   AgentID    `json:"agentId,omitempty"`
	// By is the connection that requested it.
	By ConnectionID `json:"by,omitempty"`
}

// CellExecuted says how far the execution of a cell is. When it begins to run, its old outputs are removed.
type CellExecuted struct {
	Outbound
	WindowID  WindowID  `json:"windowId"`
	CellID    CellID    `json:"cellId"`
	State     CellState `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	Count     int       `json:"count,omitempty" wire:"min=0"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// CellOutputs carries new outputs of a cell. It first removes the old ones if Clear is set, then adds Outputs, then
// replaces the displays in Updates wherever the notebook has them. Text that continues the last stream is added to it.
type CellOutputs struct {
	Outbound
	WindowID WindowID     `json:"windowId"`
	CellID   CellID       `json:"cellId"`
	Clear    bool         `json:"clear,omitempty"`
	Outputs  []CellOutput `json:"outputs,omitempty"`
	Updates  []CellOutput `json:"updates,omitempty"`
	// Cut is the number of bytes that were left out since the cell began to run, or was cleared.
	Cut       int64     `json:"cut,omitempty" wire:"min=0"`
	MonitorID MonitorID `json:"monitorId,omitempty"`
}

// KernelStatus says that the kernel of a notebook is in another state.
type KernelStatus struct {
	Outbound
	WindowID WindowID    `json:"windowId"`
	State    KernelState `json:"state"`
	Reason   string      `json:"reason,omitempty"`
	// Name and Language are set when a kernel has started.
	Name     string `json:"name,omitempty"`
	Language string `json:"language,omitempty"`
	// Variables are the newest variables of a kernel that is idle. A busy kernel keeps those that it had.
	Variables []KernelVariable `json:"variables,omitempty" wire:"max=50"`
	MonitorID MonitorID        `json:"monitorId,omitempty"`
}
