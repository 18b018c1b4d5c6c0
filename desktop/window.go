package desktop

import (
	"cmp"
	"math"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// windows holds the open windows of all monitors and their contents.
type windows struct {
	all      table[windowKey, wire.WindowState] // without their contents
	contents table[windowKey, content]
	// pieces follow contents, and texts has the whole texts of windows with pieces.
	pieces table[windowPieceKey, windowPiece]
	texts  map[windowKey]*windowText
	trial  bool // a copy for trial changes; it has no pieces, only their size
	// filled and shown cache the window and the content changed last, which may have been
	// dropped since: usually the same one changes next.
	filled *record[wire.WindowState]
	shown  *record[content]
}

// find looks up a window by its id: first as monitor/id, then on the monitor of the event.
func (ws *windows) find(monitor wire.MonitorID, id wire.WindowID) (windowKey, *record[wire.WindowState]) {
	if i := strings.IndexByte(string(id), '/'); i > 0 {
		k := windowKey{wire.MonitorID(id[:i]), id[i+1:]}
		if r := ws.all.get(k); r != nil {
			return k, r
		}
	}
	k := windowKey{monitor, id}
	if r := ws.filled; r != nil && !r.gone && r.value.WindowID == id && r.value.MonitorID == monitor {
		return k, r
	}
	return k, ws.all.get(k)
}

// edit returns a window for modification, or nil if it does not exist.
func (ws *windows) edit(monitor wire.MonitorID, id wire.WindowID) *wire.WindowState {
	_, r := ws.find(monitor, id)
	if r == nil {
		return nil
	}
	return ws.all.touch(r)
}

// withContent returns a window with its content.
func (ws *windows) withContent(w *wire.WindowState) wire.WindowState {
	all := *w
	all.Content = ws.contentOf(windowKey{w.MonitorID, w.WindowID})
	return all
}

// contentOf returns the content of a window.
func (ws *windows) contentOf(k windowKey) wire.Content {
	r := ws.findContent(k)
	if r == nil {
		return wire.TextContent{}
	}
	if wt := ws.texts[k]; wt != nil {
		c, _ := textContent(wire.RendererOf(r.value.Content), wt.String())
		return c
	}
	return r.value.Content
}

func (ws *windows) findContent(k windowKey) *record[content] {
	if r := ws.shown; r != nil && !r.gone && r.value.WindowID == k.id && r.value.MonitorID == k.monitor {
		return r
	}
	return ws.contents.get(k)
}

// setContent changes the content of a window.
func (ws *windows) setContent(k windowKey, c wire.Content) {
	c = plainContent(c)
	ws.dropText(k)
	if r := ws.findContent(k); r != nil {
		ws.contents.touch(r).Content = c
		ws.shown = r
		return
	}
	ws.shown = ws.contents.put(k, content{MonitorID: k.monitor, WindowID: k.id, Content: c})
}

// fill changes the content of a window, if the window exists.
func (ws *windows) fill(monitor wire.MonitorID, id wire.WindowID, c wire.Content) {
	if k, r := ws.find(monitor, id); r != nil {
		ws.setContent(k, c)
		ws.filled = r
	}
}

// updateContent applies an update to the content of a window.
func (ws *windows) updateContent(monitor wire.MonitorID, a wire.WindowUpdateContent) {
	k, r := ws.find(monitor, a.WindowID)
	if r == nil {
		return
	}
	if more, _, ok := ws.appended(k, a); ok {
		ws.append(k, more)
	} else if c, ok := updated(ws.contentOf(k), a.Operation, a.Renderer); ok {
		ws.setContent(k, c)
	}
}

// put stores a window in its two tables.
func (ws *windows) put(w wire.WindowState) {
	k := windowKey{w.MonitorID, w.WindowID}
	ws.setContent(k, w.Content)
	w.Content = wire.TextContent{} // the field must not be nil
	ws.all.put(k, w)
}

// close removes a window, if it exists.
func (ws *windows) close(monitor wire.MonitorID, id wire.WindowID) {
	if k, r := ws.find(monitor, id); r != nil {
		ws.all.drop(k)
		ws.contents.drop(k)
		ws.dropText(k)
	}
}

// closeAll removes the windows of a monitor.
func (ws *windows) closeAll(monitor wire.MonitorID) {
	ws.all.dropIf(func(w *wire.WindowState) bool { return w.MonitorID == monitor })
	ws.contents.dropIf(func(c *content) bool { return c.MonitorID == monitor })
	for k := range ws.texts {
		if k.monitor == monitor {
			ws.dropText(k)
		}
	}
}

// create opens a window in front of the others, or replaces one.
func (ws *windows) create(in actionContext, a wire.WindowCreate) {
	k := windowKey{in.monitor, a.WindowID}
	old := ws.all.get(k)
	if old == nil && ws.all.len() >= MaxWindows {
		return
	}
	w := wire.WindowState{
		WindowID: a.WindowID, MonitorID: in.monitor, Title: a.Title, Bounds: finiteBounds(a.Bounds),
		Content: a.Content, WindowLook: a.WindowLook, Minimized: a.Minimized,
	}
	if old != nil {
		w.GroupID = old.value.GroupID
	}
	if parent := ws.parentOf(in.monitor, in.by(a.AgentID)); parent != nil && parent.WindowID != a.WindowID {
		if parent.GroupID == "" {
			pk := windowKey{in.monitor, parent.WindowID}
			ws.all.touch(ws.all.get(pk)).GroupID = parent.WindowID
		}
		w.GroupID = parent.GroupID
	}
	ws.put(w)
	ws.raise(k)
}

// parentOf returns the window whose agent acts, if the agent is a window agent:
// `window-<id>`, or `window-<id>/<action>` for parallel actions. Ids may contain slashes,
// so the longest id of an existing window counts.
func (ws *windows) parentOf(monitor wire.MonitorID, agent wire.AgentID) *wire.WindowState {
	id, ok := strings.CutPrefix(string(agent), "window-")
	for ok && id != "" {
		if r := ws.all.get(windowKey{monitor, wire.WindowID(id)}); r != nil {
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
func (ws *windows) raise(k windowKey) {
	r := ws.all.get(k)
	if r.value.Variant == wire.VariantPanel {
		return
	}
	base := layerOf(&r.value)
	top := base
	for other, o := range ws.all.items {
		if other.monitor == k.monitor && other != k && o.value.Variant != wire.VariantPanel && layerOf(&o.value) == base {
			top = max(top, o.value.Z)
		}
	}
	if r.value.Z > top && r.value.Z < base+layerHeight {
		return
	}
	if top+1 >= base+layerHeight {
		top = ws.renumber(k, base)
	}
	ws.all.touch(r).Z = top + 1
}

// renumber assigns consecutive z to the other windows of a layer, in the same order, and
// returns the highest.
func (ws *windows) renumber(k windowKey, base uint64) uint64 {
	layer := ws.all.sorted(func(w *wire.WindowState) bool {
		return w.MonitorID == k.monitor && w.WindowID != k.id && w.Variant != wire.VariantPanel && layerOf(w) == base
	}, byZ)
	for _, w := range layer {
		base++
		wk := windowKey{w.MonitorID, w.WindowID}
		ws.all.touch(ws.all.get(wk)).Z = base
	}
	return base
}

func byZ(a, b *wire.WindowState) int {
	return cmp.Or(compareMonitors(a.MonitorID, b.MonitorID), cmp.Compare(a.Z, b.Z), cmp.Compare(a.WindowID, b.WindowID))
}

// focus brings a window to the front.
func (ws *windows) focus(monitor wire.MonitorID, id wire.WindowID) {
	k, r := ws.find(monitor, id)
	if r == nil {
		return
	}
	if r.value.Minimized {
		ws.all.touch(r).Minimized = false
	}
	ws.raise(k)
}

func (ws *windows) minimize(monitor wire.MonitorID, id wire.WindowID) {
	_, r := ws.find(monitor, id)
	if r != nil && !r.value.Minimized && standard(&r.value) {
		ws.all.touch(r).Minimized = true
	}
}

func standard(w *wire.WindowState) bool {
	return w.Variant != wire.VariantWidget && w.Variant != wire.VariantPanel
}

func (ws *windows) maximize(monitor wire.MonitorID, id wire.WindowID) {
	_, r := ws.find(monitor, id)
	if r == nil || r.value.Maximized {
		return
	}
	w := ws.all.touch(r)
	w.Maximized, w.RestoreBounds = true, new(w.Bounds)
}

func (ws *windows) restore(monitor wire.MonitorID, id wire.WindowID) {
	_, r := ws.find(monitor, id)
	if r == nil || !r.value.Minimized && !r.value.Maximized {
		return
	}
	w := ws.all.touch(r)
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

// list returns the windows of the shown monitors with their contents, from back to front.
func (ws *windows) list(shown func(wire.MonitorID) bool) []wire.WindowState {
	list := ws.all.sorted(func(w *wire.WindowState) bool { return shown(w.MonitorID) }, byZ)
	for i := range list {
		list[i] = ws.withContent(&list[i])
	}
	return list
}

// load fills the empty tables from a snapshot.
func (ws *windows) load(p *wire.SessionState) {
	ws.texts = nil
	for _, w := range p.Windows {
		ws.put(w)
	}
}

// afterRestore drops contents without a window from the restored tables, and makes the
// texts of the others.
func (ws *windows) afterRestore() {
	ws.contents.dropIf(func(c *content) bool { return ws.all.get(windowKey{c.MonitorID, c.WindowID}) == nil })
	ws.restoreTexts()
}

// clone returns a copy for trial changes.
func (ws *windows) clone(sum *unwritten) windows {
	return windows{
		all: ws.all.clone(sum), contents: ws.contents.clone(sum), trial: true,
		pieces: table[windowPieceKey, windowPiece]{kind: ws.pieces.kind, bytes: ws.pieces.bytes, mark: tableMark{sum: sum}},
		texts:  ws.cloneTexts(),
	}
}
