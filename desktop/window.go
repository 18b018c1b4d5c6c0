package desktop

import (
	"cmp"
	"math"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// find looks up a window by its id: first as monitor/id, then on the monitor of the event.
func (s *State) find(monitor wire.MonitorID, id wire.WindowID) (windowKey, *record[wire.WindowState]) {
	if i := strings.IndexByte(string(id), '/'); i > 0 {
		k := windowKey{wire.MonitorID(id[:i]), id[i+1:]}
		if r := s.windows.get(k); r != nil {
			return k, r
		}
	}
	k := windowKey{monitor, id}
	if r := s.filled; r != nil && !r.gone && r.value.WindowID == id && r.value.MonitorID == monitor {
		return k, r
	}
	return k, s.windows.get(k)
}

// edit returns a window for modification, or nil if it does not exist.
func (s *State) edit(monitor wire.MonitorID, id wire.WindowID) *wire.WindowState {
	_, r := s.find(monitor, id)
	if r == nil {
		return nil
	}
	return s.windows.touch(r)
}

// whole returns a window with its content.
func (s *State) whole(w *wire.WindowState) wire.WindowState {
	all := *w
	all.Content = s.contentOf(windowKey{w.MonitorID, w.WindowID})
	return all
}

// contentOf returns the content of a window.
func (s *State) contentOf(k windowKey) wire.Content {
	if r := s.findContent(k); r != nil {
		return r.value.Content
	}
	return wire.TextContent{}
}

func (s *State) findContent(k windowKey) *record[content] {
	if r := s.shown; r != nil && !r.gone && r.value.WindowID == k.id && r.value.MonitorID == k.monitor {
		return r
	}
	return s.contents.get(k)
}

// setContent changes the content of a window.
func (s *State) setContent(k windowKey, c wire.Content) {
	c = plainContent(c)
	if r := s.findContent(k); r != nil {
		s.contents.touch(r).Content = c
		s.shown = r
		return
	}
	s.shown = s.contents.put(k, content{MonitorID: k.monitor, WindowID: k.id, Content: c})
}

// putWindow stores a window in its two tables.
func (s *State) putWindow(w wire.WindowState) {
	k := windowKey{w.MonitorID, w.WindowID}
	s.setContent(k, w.Content)
	w.Content = wire.TextContent{} // the field must not be nil
	s.windows.put(k, w)
}

func (s *State) dropWindow(k windowKey) {
	s.windows.drop(k)
	s.contents.drop(k)
}

func (s *State) createWindow(in actionContext, a wire.WindowCreate) {
	k := windowKey{in.monitor, a.WindowID}
	old := s.windows.get(k)
	if a.WindowID == "" || !s.addMonitor(in.monitor) || old == nil && s.windows.len() >= MaxWindows {
		return
	}
	w := wire.WindowState{
		WindowID: a.WindowID, MonitorID: in.monitor, Title: a.Title, Bounds: finiteBounds(a.Bounds),
		Content: a.Content, WindowLook: a.WindowLook, Minimized: a.Minimized,
	}
	if old != nil {
		w.GroupID = old.value.GroupID
	}
	if parent := s.parentOf(in.monitor, in.by(a.AgentID)); parent != nil && parent.WindowID != a.WindowID {
		if parent.GroupID == "" {
			pk := windowKey{in.monitor, parent.WindowID}
			s.windows.touch(s.windows.get(pk)).GroupID = parent.WindowID
		}
		w.GroupID = parent.GroupID
	}
	s.putWindow(w)
	s.raise(k)
}

// parentOf returns the window whose agent acts, if the agent is a window agent:
// `window-<id>`, or `window-<id>/<action>` for parallel actions. Ids may contain slashes,
// so the longest id of an existing window counts.
func (s *State) parentOf(monitor wire.MonitorID, agent wire.AgentID) *wire.WindowState {
	id, ok := strings.CutPrefix(string(agent), "window-")
	for ok && id != "" {
		if r := s.windows.get(windowKey{monitor, wire.WindowID(id)}); r != nil {
			return &r.value
		}
		id = id[:max(strings.LastIndexByte(id, '/'), 0)]
	}
	return nil
}

// layerHeight is the range of z for widgets; standard windows are above. Panels have no z.
const layerHeight = 1 << 20

func layerOf(w *wire.WindowState) uint64 {
	if w.Variant == wire.VariantWidget {
		return 0
	}
	return layerHeight
}

// raise brings a window to the front of its layer.
func (s *State) raise(k windowKey) {
	r := s.windows.get(k)
	if r.value.Variant == wire.VariantPanel {
		return
	}
	base := layerOf(&r.value)
	top := base
	for other, o := range s.windows.items {
		if other.monitor == k.monitor && other != k && o.value.Variant != wire.VariantPanel && layerOf(&o.value) == base {
			top = max(top, o.value.Z)
		}
	}
	if r.value.Z > top && r.value.Z < base+layerHeight {
		return
	}
	if top+1 >= base+layerHeight {
		top = s.renumber(k, base)
	}
	s.windows.touch(r).Z = top + 1
}

// renumber assigns consecutive z to the other windows of a layer, in the same order, and
// returns the highest.
func (s *State) renumber(k windowKey, base uint64) uint64 {
	layer := s.windows.sorted(func(w *wire.WindowState) bool {
		return w.MonitorID == k.monitor && w.WindowID != k.id && w.Variant != wire.VariantPanel && layerOf(w) == base
	}, byZ)
	for _, w := range layer {
		base++
		wk := windowKey{w.MonitorID, w.WindowID}
		s.windows.touch(s.windows.get(wk)).Z = base
	}
	return base
}

func byZ(a, b *wire.WindowState) int {
	return cmp.Or(compareMonitors(a.MonitorID, b.MonitorID), cmp.Compare(a.Z, b.Z), cmp.Compare(a.WindowID, b.WindowID))
}

// compareMonitors orders monitors, the first monitor first.
func compareMonitors(a, b wire.MonitorID) int {
	switch {
	case a == b:
		return 0
	case a == firstMonitor:
		return -1
	case b == firstMonitor:
		return 1
	}
	return cmp.Compare(a, b)
}

func (s *State) focusWindow(monitor wire.MonitorID, id wire.WindowID) {
	k, r := s.find(monitor, id)
	if r == nil {
		return
	}
	if r.value.Minimized {
		s.windows.touch(r).Minimized = false
	}
	s.raise(k)
}

func (s *State) minimizeWindow(monitor wire.MonitorID, id wire.WindowID) {
	_, r := s.find(monitor, id)
	if r != nil && !r.value.Minimized && standard(&r.value) {
		s.windows.touch(r).Minimized = true
	}
}

func standard(w *wire.WindowState) bool {
	return w.Variant != wire.VariantWidget && w.Variant != wire.VariantPanel
}

func (s *State) maximizeWindow(monitor wire.MonitorID, id wire.WindowID) {
	_, r := s.find(monitor, id)
	if r == nil || r.value.Maximized {
		return
	}
	w := s.windows.touch(r)
	w.Maximized, w.RestoreBounds = true, new(w.Bounds)
}

func (s *State) restoreWindow(monitor wire.MonitorID, id wire.WindowID) {
	_, r := s.find(monitor, id)
	if r == nil || !r.value.Minimized && !r.value.Maximized {
		return
	}
	w := s.windows.touch(r)
	if w.RestoreBounds != nil {
		w.Bounds = *w.RestoreBounds
	}
	w.Minimized, w.Maximized, w.RestoreBounds = false, false, nil
}

// finite replaces NaN and infinities by 0, as decoding a frame does.
func finite(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func finiteBounds(b wire.Bounds) wire.Bounds {
	return wire.Bounds{X: finite(b.X), Y: finite(b.Y), W: finite(b.W), H: finite(b.H)}
}
