package wire

import "encoding/json"

// Bounds is a position and a size, in pixels.
type Bounds struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
	W float64 `json:"w"`
	H float64 `json:"h"`
}

// WindowCreate opens a window, or replaces the one with the same id on the same
// monitor.
type WindowCreate struct {
	WindowID WindowID `json:"windowId"`
	Title    string   `json:"title"`
	Bounds   Bounds   `json:"bounds"`
	Content  Content  `json:"content"`
	WindowLook
	Minimized bool `json:"minimized,omitempty"`
	ActionMeta
}

// WindowLook is the appearance of a window.
type WindowLook struct {
	Variant     WindowVariant          `json:"variant,omitempty"`
	DockEdge    DockEdge               `json:"dockEdge,omitempty"`
	Frameless   bool                   `json:"frameless,omitempty"`
	WindowStyle Object[string, Scalar] `json:"windowStyle,omitempty"`
}

// WindowVariant is the layer of a window: widgets are below standard windows, panels are
// docked at an edge.
type WindowVariant string

// The variants of windows.
const (
	VariantStandard WindowVariant = "standard"
	VariantWidget   WindowVariant = "widget"
	VariantPanel    WindowVariant = "panel"
)

func (WindowVariant) values() []string { return list(VariantStandard, VariantWidget, VariantPanel) }

// DockEdge is the edge at which a panel is docked.
type DockEdge string

// The edges of the desktop.
const (
	DockTop    DockEdge = "top"
	DockBottom DockEdge = "bottom"
)

func (DockEdge) values() []string { return list(DockTop, DockBottom) }

// WindowClose closes a window, unless another agent has locked it.
type WindowClose struct {
	WindowID WindowID `json:"windowId"`
	ActionMeta
}

// WindowFocus raises a window and un-minimizes it.
type WindowFocus struct {
	WindowID WindowID `json:"windowId"`
	ActionMeta
}

// WindowMinimize minimizes a window; widgets and panels ignore it.
type WindowMinimize struct {
	WindowID WindowID `json:"windowId"`
	ActionMeta
}

// WindowMaximize maximizes a window.
type WindowMaximize struct {
	WindowID WindowID `json:"windowId"`
	ActionMeta
}

// WindowRestore undoes minimize and maximize.
type WindowRestore struct {
	WindowID WindowID `json:"windowId"`
	ActionMeta
}

// WindowMove moves a window.
type WindowMove struct {
	WindowID WindowID `json:"windowId"`
	X        float64  `json:"x"`
	Y        float64  `json:"y"`
	ActionMeta
}

// WindowResize resizes a window.
type WindowResize struct {
	WindowID WindowID `json:"windowId"`
	W        float64  `json:"w"`
	H        float64  `json:"h"`
	ActionMeta
}

// WindowSetTitle changes a window's title.
type WindowSetTitle struct {
	WindowID WindowID `json:"windowId"`
	Title    string   `json:"title"`
	ActionMeta
}

// WindowSetContent replaces a window's content, unless another agent has locked
// it.
type WindowSetContent struct {
	WindowID WindowID `json:"windowId"`
	Content  Content  `json:"content"`
	ActionMeta
}

// WindowUpdateContent changes a part of a window's content, unless another agent
// has locked it.
type WindowUpdateContent struct {
	WindowID  WindowID        `json:"windowId"`
	Operation UpdateOperation `json:"operation"`
	// Renderer, if set, becomes the window's renderer.
	Renderer string `json:"renderer,omitempty"`
	ActionMeta
}

// WindowLock forbids other agents to close or replace a window, to change its content and to
// lock or unlock it. The user may do so.
type WindowLock struct {
	WindowID WindowID `json:"windowId"`
	// AgentID is the agent that holds the lock.
	AgentID   AgentID   `json:"agentId"`
	RequestID RequestID `json:"requestId,omitempty"`
}

// WindowUnlock removes a lock of the same agent.
type WindowUnlock struct {
	WindowID WindowID `json:"windowId"`
	// AgentID is the agent that held the lock.
	AgentID   AgentID   `json:"agentId"`
	RequestID RequestID `json:"requestId,omitempty"`
}

func (WindowUnlock) action() {}

// WindowCapture requests an image of a window; RENDERING_FEEDBACK with the renderer
// `capture` returns it.
type WindowCapture struct {
	WindowID WindowID `json:"windowId"`
	ActionMeta
}

// UpdateOperation is a change of content; its `op` says which. Append, prepend and insertAt
// need a text renderer and a string.
type UpdateOperation interface{ updateOperation() }

func updateUnion() union {
	return unionOf[UpdateOperation]("op",
		variant[UpdateAppend]("append"),
		variant[UpdatePrepend]("prepend"),
		variant[UpdateReplace]("replace"),
		variant[UpdateInsertAt]("insertAt"),
		variant[UpdateClear]("clear"),
	)
}

// UpdateAppend inserts at the end.
type UpdateAppend struct {
	Data json.RawMessage `json:"data"`
}

// UpdatePrepend inserts at the beginning.
type UpdatePrepend struct {
	Data json.RawMessage `json:"data"`
}

// UpdateReplace replaces everything.
type UpdateReplace struct {
	Data json.RawMessage `json:"data"`
}

// UpdateInsertAt inserts at a position.
type UpdateInsertAt struct {
	// Position counts UTF-16 units of the text.
	Position int             `json:"position" wire:"min=0"`
	Data     json.RawMessage `json:"data"`
}

// UpdateClear removes everything.
type UpdateClear struct{}

func (UpdateAppend) updateOperation()   {}
func (UpdatePrepend) updateOperation()  {}
func (UpdateReplace) updateOperation()  {}
func (UpdateInsertAt) updateOperation() {}
func (UpdateClear) updateOperation()    {}
