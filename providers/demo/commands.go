package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

var (
	asksUndo   = regexp.MustCompile(`(?i)^\W*(?:please\s+)?undo\b|\bbring (?:it|them|that) back\b|되돌려|되돌리|실행\s*취소|다시\s*살려`)
	asksTidy   = regexp.MustCompile(`(?i)\btidy\b|\barrange\b.*\b(?:windows?|desktop|everything)\b|\bclean up\b.*\b(?:windows|desktop|desk)\b|창.*정리|정리해|정돈`)
	asksBigger = regexp.MustCompile(`(?i)\b(?:bigger|larger|enlarge)\b|크게|키워`)
	asksSmall  = regexp.MustCompile(`(?i)\bsmaller\b|작게`)
	asksShort  = regexp.MustCompile(`(?i)\b(?:shorter|shorten)\b|짧게|줄여`)
	asksDark   = regexp.MustCompile(`(?i)\bdarker\b|\bmake (?:it|this|that) dark\b|어둡게`)
	asksLight  = regexp.MustCompile(`(?i)\b(?:lighter|brighter)\b|밝게`)
	asksAll    = regexp.MustCompile(`(?i)\b(?:all|every|everything|windows)\b|모두|모든|전부|다 닫|창들`)
)

// windowCommands answers commands on windows: open, close, change, tidy up and undo.
type windowCommands struct{ words }

// command returns the steps of a command on open windows, or nil if the text is none. asked are the
// kinds of windows that it names.
func (w windowCommands) command(order string, asked []kind) []step {
	switch {
	case asksUndo.MatchString(order):
		return w.undo()
	case asksTidy.MatchString(order):
		return w.tidySteps()
	}
	for _, c := range []struct {
		asked *regexp.Regexp
		do    func(openWindow) []step
	}{
		{asksBigger, func(o openWindow) []step { return w.scaled(o, 1.3) }},
		{asksSmall, func(o openWindow) []step { return w.scaled(o, 0.77) }},
		{asksShort, w.shortened},
		{asksDark, func(o openWindow) []step { return w.tinted(o, "dark") }},
		{asksLight, func(o openWindow) []step { return w.tinted(o, "light") }},
	} {
		if !c.asked.MatchString(order) {
			continue
		}
		target, ok := w.target(order, asked)
		switch {
		case ok:
			return c.do(target)
		case len(asked) > 0:
			return nil // there is none yet, so the message asks for a new one
		default:
			return []step{say(w.in("There is no window that I could change. Ask me for one first, such as “open a calculator”.",
				"바꿀 수 있는 창이 없어요. 먼저 “계산기 열어 줘”처럼 창을 하나 열어 보세요."))}
		}
	}
	return nil
}

// target returns the open window that a command is about: the newest of the named kind, the one whose
// title the text contains, or the one that the conversation used last.
func (w windowCommands) target(order string, asked []kind) (openWindow, bool) {
	if len(asked) > 0 {
		n, best := 0, openWindow{}
		for _, o := range w.open {
			if at := numberOf(o.id, asked[0].name); at > n {
				n, best = at, o
			}
		}
		return best, n > 0
	}
	for _, o := range w.open {
		if o.title != "" && strings.Contains(strings.ToLower(order), strings.ToLower(o.title)) {
			return o, true
		}
	}
	_, used := recollect(turns(w.before))
	for _, id := range slices.Backward(used) {
		for _, o := range w.open {
			if o.id == id && id != suggestionsWindow {
				return o, true
			}
		}
	}
	if len(w.open) == 0 {
		return openWindow{}, false
	}
	return w.open[len(w.open)-1], true
}

// named returns a window as the answer calls it.
func (o openWindow) named() string {
	if o.title == "" {
		return "“" + o.id + "”"
	}
	return "“" + shorten(o.title, 60) + "”"
}

// closeOpen returns the steps that close all windows, or the one that the text is about.
func (w windowCommands) closeOpen(order string) []step {
	if len(w.open) == 0 {
		return []step{say(w.in("There is no window to close.", "닫을 창이 없어요."))}
	}
	if asksAll.MatchString(order) {
		st := step{kind: stepCall, after: w.success(fmt.Sprintf(w.in("I closed %d windows. Say “undo” to get back those that I opened.",
			"창 %d개를 닫았어요. “되돌려 줘”라고 하시면 제가 연 창은 다시 열어 드려요."), len(w.open)))}
		for _, o := range w.open {
			st.calls = append(st.calls, closeCall(o.id))
		}
		return []step{st}
	}
	o, _ := w.target(order, nil)
	return []step{{kind: stepCall, calls: []providers.ToolCall{closeCall(o.id)}, after: w.success(fmt.Sprintf(w.in("I closed %s.", "%s 창을 닫았어요."), o.named()))}}
}

func closeCall(id string) providers.ToolCall {
	return providers.ToolCall{Name: "window_close", Input: input(object{"windowId": id})}
}

func moveCall(id string, bounds object) providers.ToolCall {
	in := object{"windowId": id}
	for _, field := range []string{"x", "y", "width", "height"} {
		if v, ok := bounds[field]; ok {
			in[field] = v
		}
	}
	return providers.ToolCall{Name: "window_move", Input: input(in)}
}

// Bounds of the size that a command gives a window, in pixels.
const (
	minWidth, minHeight = 240, 180
	maxWidth, maxHeight = 1600, 1000
	// usualWidth and usualHeight are the size that the hub gives a window by default.
	usualWidth, usualHeight = 500, 400
)

// scaled returns the step that makes a window larger or smaller.
func (w windowCommands) scaled(o openWindow, by float64) []step {
	if o.width == 0 || o.height == 0 {
		o.width, o.height = usualWidth, usualHeight
	}
	size := object{
		"width":  min(max(int(float64(o.width)*by), minWidth), maxWidth),
		"height": min(max(int(float64(o.height)*by), minHeight), maxHeight),
	}
	done := w.in("%s has more room now.", "%s 창을 키웠어요.")
	if by < 1 {
		done = w.in("%s takes less room now.", "%s 창을 줄였어요.")
	}
	return []step{{kind: stepCall, calls: []providers.ToolCall{moveCall(o.id, size)}, after: w.success(fmt.Sprintf(done, o.named()))}}
}

// shortened returns the steps that keep the first half of a text or table. Other windows become less tall.
func (w windowCommands) shortened(o openWindow) []step {
	known, _ := recollect(turns(w.before))
	renderer, content := known[o.id].body()
	var shorter any
	switch renderer {
	case "markdown", "text":
		text, _ := content.(string)
		blocks := strings.Split(strings.TrimSpace(text), "\n\n")
		if len(blocks) < 3 {
			return []step{say(fmt.Sprintf(w.in("%s is as short as I can make it.", "%s 창은 더 줄일 수 없어요."), o.named()))}
		}
		shorter = strings.Join(blocks[:(len(blocks)+1)/2], "\n\n") + "\n"
	case "table":
		table, _ := content.(object)
		rows, _ := table["rows"].([]any)
		if len(rows) < 2 {
			return []step{say(fmt.Sprintf(w.in("%s is as short as I can make it.", "%s 창은 더 줄일 수 없어요."), o.named()))}
		}
		shorter = object{"headers": table["headers"], "rows": rows[:(len(rows)+1)/2]}
	default:
		if o.height == 0 {
			o.height = usualHeight
		}
		less := object{"height": max(o.height*3/4, minHeight)}
		return []step{{kind: stepCall, calls: []providers.ToolCall{moveCall(o.id, less)}, after: w.success(fmt.Sprintf(w.in("%s is less tall now.", "%s 창의 높이를 줄였어요."), o.named()))}}
	}
	c := providers.ToolCall{Name: "window_update", Input: input(object{"windowId": o.id, "operation": "replace", "content": shorter})}
	return []step{{kind: stepCall, calls: []providers.ToolCall{c}, after: w.success(fmt.Sprintf(
		w.in("I am no model and cannot sum up, so I kept the first half of %s. Say “undo” to get the rest back.",
			"저는 모델이 아니라서 요약은 못 해요. 그래서 %s 창의 앞쪽 절반만 남겼어요. “되돌려 줘”라고 하시면 나머지도 돌아와요."), o.named()))}}
}

var pageTheme = regexp.MustCompile(`^<!doctype html><html lang="(en|ko)"(?: class="(dark|light)")?`)

// tinted returns the steps that give a page of the demo its dark or light colours.
func (w windowCommands) tinted(o openWindow, theme string) []step {
	known, _ := recollect(turns(w.before))
	_, content := known[o.id].body()
	page, _ := content.(string)
	m := pageTheme.FindStringSubmatch(page)
	switch {
	case m == nil:
		return []step{say(fmt.Sprintf(w.in("%s follows the theme of your desktop. You can change it for all windows in the settings.",
			"%s 창은 데스크톱 테마를 따라요. 설정에서 모든 창의 테마를 한 번에 바꾸실 수 있어요."), o.named()))}
	case m[2] == theme && theme == "dark":
		return []step{say(fmt.Sprintf(w.in("%s is as dark as it gets.", "%s 창은 이미 가장 어두워요."), o.named()))}
	case m[2] == theme:
		return []step{say(fmt.Sprintf(w.in("%s is as light as it gets.", "%s 창은 이미 가장 밝아요."), o.named()))}
	}
	next := fmt.Sprintf(`<!doctype html><html lang="%s" class="%s"`, m[1], theme) + page[len(m[0]):]
	c := providers.ToolCall{Name: "window_update", Input: input(object{"windowId": o.id, "operation": "replace", "content": next})}
	done := w.in("%s is dark now.", "%s 창을 어둡게 했어요.")
	if theme == "light" {
		done = w.in("%s is light now.", "%s 창을 밝게 했어요.")
	}
	return []step{{kind: stepCall, calls: []providers.ToolCall{c}, after: w.success(fmt.Sprintf(done, o.named()))}}
}
