package demo

import (
	"encoding/json"
	"math"
	"regexp"

	"github.com/everdesk/everdesk/providers"
)

// scene is a longer scripted demonstration, for users who have not configured a model yet.
type scene struct {
	asked *regexp.Regexp
	play  func(words) []step
}

// scenes are matched in this order. Window ids are fixed, so a scene that is played again uses
// the same windows.
var scenes = []scene{
	{regexp.MustCompile(`(?i)\bpull\b.*\bplug\b|전원.*뽑`), words.longAnswer},
	{regexp.MustCompile(`(?i)^\W*(?:launch task \d|출시 작업 \d)`), func(w words) []step { return launchScene{w}.launchTask() }},
	{regexp.MustCompile(`(?i)\bask\b.*\b(?:delet|remov|eras)|\b(?:delete|remove|erase)\b.*\breports?\b|` +
		`(?:지우|지워|삭제).*(?:물어|확인|허락)|(?:물어|허락).*(?:지우|지워|삭제)|보고서.*(?:지우|지워|삭제)`), func(w words) []step { return cleanUpScene{w}.cleanUp() }},
	{regexp.MustCompile(`(?i)\b(?:plan|prepare|organi[sz]e)\b.*\b(?:launch|release)\b|\b(?:parallel|concurrent)\s+tasks?\b|` +
		`출시.*(?:계획|준비|병렬)|병렬\s*작업`), func(w words) []step { return launchScene{w}.launch() }},
	{regexp.MustCompile(`(?i)\b(?:watch|monitor|follow|observe|run|start)\b.*\bbuilds?\b|빌드.*(?:지켜|감시|봐|돌려|확인)`), words.build},
	{regexp.MustCompile(`(?i)\b(?:show|open|make|create|give)\b.*\bwindows\b|창\S*\s.*(?:보여|열어|띄워|만들어)|(?:몇|여러)\s*개?의?\s*창`), func(w words) []step { return showcaseScene{w}.showcase() }},
}

// scene returns the steps of the scene for a text, or nil.
func (w words) scene(order string) []step {
	for _, s := range scenes {
		if s.asked.MatchString(order) {
			return w.fitted(s.play(w))
		}
	}
	return nil
}

// The size of the desktop for which the scenes are made, and how much their windows grow and shrink at most.
const (
	sceneWidth, sceneHeight = 1040, 700
	minScale, maxScale      = 0.6, 1.6
)

// fitted scales the windows of a scene to the screen of the user. On a very large one they are in the middle.
func (w words) fitted(steps []step) []step {
	width, height := windowCommands{w}.screen()
	scaleX := min(max(float64(width)/sceneWidth, minScale), maxScale)
	scaleY := min(max(float64(height)/sceneHeight, minScale), maxScale)
	left := max(0, (float64(width)-sceneWidth*scaleX)/2)
	top := max(0, (float64(height)-sceneHeight*scaleY)/3)
	for _, st := range steps {
		for n, c := range st.calls {
			var in object
			if c.Name != "window_create" && c.Name != "window_create_component" || json.Unmarshal(c.Input, &in) != nil {
				continue
			}
			if _, placed := in["x"]; !placed {
				continue
			}
			for _, f := range []struct {
				name         string
				scale, shift float64
			}{{"x", scaleX, left}, {"y", scaleY, top}, {"width", scaleX, 0}, {"height", scaleY, 0}} {
				if v, ok := in[f.name].(float64); ok {
					in[f.name] = math.Round(f.shift + v*f.scale)
				}
			}
			st.calls[n].Input = input(in)
		}
	}
	return steps
}

// spot is the position and size of a window in pixels. The scenes are made for a desktop of sceneWidth
// by sceneHeight, on which their windows do not overlap. Without x the hub chooses the position.
type spot struct{ x, y, width, height int }

func (s spot) of(in object) object {
	if s.x > 0 {
		in["x"], in["y"] = s.x, s.y
	}
	in["width"], in["height"] = s.width, s.height
	return in
}

// show returns the call that opens a window with some content.
func show(id, title, renderer string, content any, at spot) providers.ToolCall {
	return providers.ToolCall{Name: "window_create", Input: input(at.of(object{
		"windowId": id, "title": title, "content": object{"renderer": renderer, "content": content},
	}))}
}

// add returns the call that appends text to a window.
func add(id, text string) providers.ToolCall {
	return providers.ToolCall{Name: "window_update", Input: input(object{"windowId": id, "operation": "append", "content": text})}
}

// panel returns the call that opens a window with components in columns.
func panel(id, title string, cols any, at spot, components ...object) providers.ToolCall {
	return providers.ToolCall{Name: "window_create_component", Input: input(at.of(object{
		"windowId": id, "title": title, "cols": cols, "gap": "md", "components": components,
	}))}
}

// renew returns the call that replaces the components of a window.
func renew(id string, cols any, components ...object) providers.ToolCall {
	return providers.ToolCall{Name: "window_update_component", Input: input(object{
		"windowId": id, "cols": cols, "gap": "md", "components": components,
	})}
}

func heading(text string) object {
	return object{"type": "text", "content": text, "variant": "heading"}
}

func caption(text string) object {
	return object{"type": "text", "content": text, "variant": "caption", "color": "muted"}
}

func plainText(text string) object { return object{"type": "text", "content": text} }

func badge(label, variant string) object {
	return object{"type": "badge", "label": label, "variant": variant}
}

func bar(label string, value int, variant string) object {
	return object{"type": "progress", "label": label, "value": value, "variant": variant, "showValue": true}
}

func button(label, action, variant string) object {
	return object{"type": "button", "label": label, "action": action, "variant": variant}
}
