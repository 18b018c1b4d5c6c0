package tools

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// place is the requested position and size of a window.
type place struct {
	X      *float64 `json:"x,omitempty" jsonschema:"Pixels from the left; by default where there is room."`
	Y      *float64 `json:"y,omitempty" jsonschema:"Pixels from the top."`
	Width  *float64 `json:"width,omitempty" jsonschema:"Pixels; by default what the content needs." wire:"min=1"`
	Height *float64 `json:"height,omitempty" jsonschema:"Pixels; by default what the content needs." wire:"min=1"`
}

// Space around new windows in pixels, and the part of a very large screen that they fill first.
const (
	windowGap             = 16
	workWidth, workHeight = 1920, 1200
)

// size is a width and height in pixels.
type size struct{ w, h float64 }

// defaultScreen is the area for windows if the caller's screen is unknown, and leastScreen the smallest one that
// counts: windows of phones fill the screen anyway.
var (
	defaultScreen = size{1200, 680}
	leastScreen   = size{640, 400}
)

// bounds returns the bounds of a new window: the given values, and for the others those of the window that it
// replaces. Else its content determines its size, and it is placed where it covers no other window; if there is no
// such place, where it covers least.
func (p place) bounds(s *desktop.State, c Caller, a wire.WindowCreate) wire.Bounds {
	b := wire.Bounds{}
	if old, ok := s.Window(c.Monitor, a.WindowID); ok {
		b = old.Bounds
	} else {
		want := sizeOf(a.Content)
		fixed := p.Width != nil || p.Height != nil
		set(&want.w, p.Width)
		set(&want.h, p.Height)
		b = freePlace(screenOf(c.Viewer), want, fixed, p, occupied(s.Windows(c.Monitor)))
	}
	set(&b.X, p.X)
	set(&b.Y, p.Y)
	set(&b.W, p.Width)
	set(&b.H, p.Height)
	return b
}

func set(target, value *float64) {
	if value != nil {
		*target = *value
	}
}

func screenOf(v *wire.Viewer) size {
	if v == nil || v.Width <= 0 || v.Height <= 0 {
		return defaultScreen
	}
	return size{max(float64(v.Width), leastScreen.w), max(float64(v.Height), leastScreen.h)}
}

// maxCovering bounds the windows that a place is compared with; those in front count.
const maxCovering = 24

// occupied returns the bounds of the windows that a new one should not cover.
func occupied(windows []wire.WindowState) []wire.Bounds {
	var out []wire.Bounds
	for i := len(windows) - 1; i >= 0 && len(out) < maxCovering; i-- {
		if w := windows[i]; !w.Minimized && !w.Maximized && w.Variant != wire.VariantPanel {
			out = append(out, w.Bounds)
		}
	}
	return out
}

// freePlace returns where a window of the wanted size covers no other one: as near to the top, then to the left, as
// possible. A window whose size is not fixed may become smaller for that.
func freePlace(screen, want size, fixed bool, p place, others []wire.Bounds) wire.Bounds {
	want = size{min(want.w, screen.w-2*windowGap), min(want.h, screen.h-2*windowGap)}
	scales := []float64{1, 0.85, 0.7}
	if fixed {
		scales = scales[:1]
	}
	var best wire.Bounds
	least := math.Inf(1)
	for _, scale := range scales {
		b, covered := leastCovering(screen, size{math.Round(want.w * scale), math.Round(want.h * scale)}, p, others)
		if covered < least || scale == 1 {
			best, least = b, covered
		}
		if least == 0 {
			break
		}
	}
	return best
}

// leastCovering tries the places beside the other windows and returns the one that covers least of them.
func leastCovering(screen, want size, p place, others []wire.Bounds) (wire.Bounds, float64) {
	left := max(windowGap, (screen.w-workWidth)/2)
	top := max(windowGap, (screen.h-workHeight)/4)
	xs, ys := []float64{left}, []float64{top}
	for _, o := range others {
		xs = append(xs, o.X+o.W+windowGap, o.X)
		ys = append(ys, o.Y+o.H+windowGap, o.Y)
	}
	if p.X != nil {
		xs = []float64{*p.X}
	}
	if p.Y != nil {
		ys = []float64{*p.Y}
	}
	best, least := wire.Bounds{X: left, Y: top, W: want.w, H: want.h}, math.Inf(1)
	for _, y := range ys {
		for _, x := range xs {
			b := wire.Bounds{X: x, Y: y, W: want.w, H: want.h}
			outside := p.X == nil && (x < windowGap || x+want.w > screen.w-windowGap) ||
				p.Y == nil && (y < windowGap || y+want.h > screen.h-windowGap)
			if outside && (x != left || y != top) {
				continue
			}
			covered := coveredArea(b, others)
			if covered < least || covered == least && (b.Y < best.Y || b.Y == best.Y && b.X < best.X) {
				best, least = b, covered
			}
		}
	}
	if least > 0 && p.X == nil && p.Y == nil {
		// No place is free: at least the title bars of the windows below stay visible.
		best.X, best.Y = cascade(best, screen, others)
	}
	return best, least
}

// cascade shifts a place until it is not that of another window.
func cascade(b wire.Bounds, screen size, others []wire.Bounds) (x, y float64) {
	const step = 36
	for range others {
		taken := false
		for _, o := range others {
			taken = taken || math.Abs(o.X-b.X) < step && math.Abs(o.Y-b.Y) < step
		}
		if !taken {
			break
		}
		b.X, b.Y = b.X+step, b.Y+step
		if b.X+b.W > screen.w || b.Y+b.H > screen.h {
			b.X, b.Y = max(windowGap, math.Mod(b.X, 2*step)), windowGap
		}
	}
	return b.X, b.Y
}

// coveredArea returns how much of the other windows a window covers, with the space between them.
func coveredArea(b wire.Bounds, others []wire.Bounds) float64 {
	sum := 0.0
	for _, o := range others {
		w := min(b.X+b.W, o.X+o.W) - max(b.X, o.X)
		h := min(b.Y+b.H, o.Y+o.H) - max(b.Y, o.Y)
		if w > 0 && h > 0 {
			sum += w * h
		}
	}
	return sum
}

// sizeOf returns the size that shows a content well.
func sizeOf(c wire.Content) size {
	switch c := c.(type) {
	case wire.TextContent:
		return textSize(c.Data)
	case wire.MarkdownContent:
		return textSize(c.Data)
	case wire.TableContent:
		return tableSize(c.Data)
	case wire.ChartContent:
		return size{600, 420}
	case wire.HTMLContent, wire.IframeContent:
		return size{640, 480}
	}
	return size{480, 400}
}

// textSize returns the size for a text: agents often append to it, so it is never tiny.
func textSize(text string) size {
	const lineHeight, charWidth, padding = 24, 8, 96
	width := 460.0
	if utf8.RuneCountInString(text) > 1200 {
		width = 620
	}
	lines := 0.0
	for line := range strings.Lines(text) {
		lines += math.Ceil(max(1, float64(utf8.RuneCountInString(line))*charWidth/width))
	}
	return size{width, min(max(lines*lineHeight+padding, 320), 600)}
}

func tableSize(t wire.Table) size {
	const charWidth, cellPadding, rowHeight, bars, sample = 8, 28, 30, 108, 100
	width := 16.0
	for i, header := range t.Headers {
		most := utf8.RuneCountInString(header) + 2
		for _, row := range t.Rows[:min(len(t.Rows), sample)] {
			if i < len(row) {
				most = max(most, min(utf8.RuneCountInString(row[i]), 40))
			}
		}
		width += float64(most*charWidth + cellPadding)
	}
	return size{min(max(width, 360), 960), min(max(float64(len(t.Rows)*rowHeight+bars), 220), 600)}
}
