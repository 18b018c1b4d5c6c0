package contextpool

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

var contentFormat = sync.OnceValue(wire.FormatOf[wire.Content])

// openWindow describes a window.
func openWindow(w wire.WindowState) policies.OpenWindow {
	return policies.OpenWindow{
		ID: w.WindowID, Kind: wire.RendererOf(w.Content), Title: w.Title, Width: w.Bounds.W, Height: w.Bounds.H, Minimized: w.Minimized,
	}
}

// thisWindow describes the window that a message is about: an agent may have several.
func (s *turnStarter) thisWindow(m *queuedMessage) *policies.ThisWindow {
	w, ok := s.state.Desktop().Window(m.Monitor, m.Window)
	if !ok {
		return nil
	}
	this := &policies.ThisWindow{OpenWindow: openWindow(w), Content: contentText(w.Content)}
	for _, other := range s.state.Desktop().Windows(m.Monitor) {
		if other.WindowID != m.Window && s.groups.agentOf(m.Monitor, other.WindowID) == m.Agent {
			this.Group = append(this.Group, other.WindowID)
		}
	}
	this.Unchanged = s.threads.byAgent[m.Agent].hasUserText(this.Block())
	return this
}

// contentText returns the content of a window as text or JSON.
func contentText(c wire.Content) string {
	if app, ok := c.(wire.MCPAppContent); ok {
		return policies.MCPAppText(app.Data)
	}
	var parts struct {
		Data json.RawMessage `json:"data"`
	}
	if c == nil || unmarshal(contentFormat().Append(nil, &c), &parts) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(parts.Data, &text) != nil {
		return string(parts.Data)
	}
	return text
}

// hasUserText reports whether a visible message of a user in the thread contains the text.
func (h *thread) hasUserText(text string) bool {
	if h == nil {
		return false
	}
	for _, m := range slices.Backward(h.messages) {
		if m.Role != providers.RoleUser || m.CondenseParent != "" || m.TruncationParent != "" {
			continue
		}
		for _, b := range m.Blocks {
			if b.Kind == providers.BlockText && strings.Contains(b.Text, text) {
				return true
			}
		}
	}
	return false
}
