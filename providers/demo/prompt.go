package demo

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// prompt is a parsed message of the hub.
type prompt struct {
	// content is the user's text, without the hub's blocks before it.
	content string
	// orders is the part that may contain directives: the content without the text of pages in
	// windows.
	orders string
	// windows are the ids of the open windows.
	windows []string
	// open describes the same windows.
	open []openWindow
	// click is set if a button was pressed.
	click *click
}

// openWindow is a window in the hub's list of open windows. Width and height are 0 if unknown.
type openWindow struct {
	id, title     string
	width, height int
}

var openWindowAbout = regexp.MustCompile(`"((?:[^"\\]|\\.)*)",?(?: (\d{1,6})×(\d{1,6}))?`)

// readOpenWindow parses an entry such as `rent (table "Rent" 500×400)`; the part in brackets may be
// missing.
func readOpenWindow(text string) openWindow {
	id, about, _ := strings.Cut(text, " (")
	o := openWindow{id: rawID(escapes.Replace(id))}
	if m := openWindowAbout.FindStringSubmatch(escapes.Replace(about)); m != nil {
		o.title = unquote.Replace(m[1])
		o.width, _ = strconv.Atoi(m[2]) // the pattern allows digits only, or nothing
		o.height, _ = strconv.Atoi(m[3])
	}
	return o
}

// click is a pressed button.
type click struct {
	action string
	// window is the title of its window, or the id if there is no title.
	window string
	form   string
	fields []field
}

type field struct{ name, value string }

// blocks are the tags that the hub puts before the user's text.
var blocks = []string{"timeline", "open_windows", "reload_options", "recent_conversation", "previous_conversation", "ui:draw"}

// taskAgent begins the prompt of a task agent; the objective follows after a blank line.
const taskAgent = "You are a task agent"

// cutOff begins the prompt of a turn that is resumed after it was cut off, and cutMessage
// precedes its original message.
const (
	cutOff     = "Your work on this message was cut off"
	cutMessage = "The message:\n\n"
)

var (
	// wrapper matches a line that consists of a tag.
	wrapper = regexp.MustCompile(`^\s*</?[a-z_:]+(?:\s+[a-z_]+="[^"]*")*>\s*$`)
	// gesture matches a tag around the hub's description of an interaction.
	gesture = regexp.MustCompile(`</?(?:ui:[a-z_]+|app_interaction)>`)
	// spoken matches text of a page in a window. The hub has neutralized the tags inside.
	spoken = regexp.MustCompile(`(?s)<app_interaction>.*?</app_interaction>`)
	// thisWindow matches the content of the window that a message is about.
	thisWindow = regexp.MustCompile(`(?s)<this_window [^>]*(?:/>|>.*?</this_window>)`)
	// neutralised matches the hub's own tags in foreign text, neutralized by the hub.
	neutralised = regexp.MustCompile(`(?i)&lt;([\s/\\]*(?:timeline|ai|budget|earlier|open_windows|reload_options|recent_conversation|previous_conversation|user|assistant|environment|memory|your_role|not_your_tools|now|this_window|app_interaction|ui)\b)`)
	escapes     = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#44;", ",", "&amp;", "&")

	clicked  = regexp.MustCompile(`^button "((?:[^"\\]|\\.)*)" in window (?:"((?:[^"\\]|\\.)*)"|(.+))$`)
	formData = regexp.MustCompile(`(?m)^Form data \((.*)\):\s*$`)
	unquote  = strings.NewReplacer(`\\`, `\`, `\"`, `"`)
)

// readPrompt parses a message of the hub. Unexpected parts are treated as text.
func readPrompt(text string) prompt {
	var p prompt
	for _, name := range blocks {
		for {
			before, rest, ok := strings.Cut(text, "<"+name+">")
			body, after, closed := strings.Cut(rest, "</"+name+">")
			if !ok || !closed {
				break
			}
			text = before + after
			if name == "open_windows" {
				for id := range strings.SplitSeq(body, ",") {
					o := readOpenWindow(strings.TrimSpace(id))
					p.windows, p.open = append(p.windows, o.id), append(p.open, o)
				}
			}
		}
	}
	text = strings.TrimSpace(thisWindow.ReplaceAllLiteralString(text, ""))
	if _, objective, ok := strings.Cut(text, "\n\n"); ok && strings.HasPrefix(text, taskAgent) {
		text = objective
	}
	if _, message, ok := strings.Cut(text, cutMessage); ok && strings.HasPrefix(text, cutOff) {
		text = message
	}
	p.click = readClick(text)
	p.content = strings.TrimSpace(plain(text))
	p.orders = p.content
	if spoken.MatchString(text) {
		p.orders = strings.TrimSpace(plain(spoken.ReplaceAllLiteralString(text, "")))
	}
	return p
}

// plain removes the hub's own tags from a text, and restores tags that users wrote and the hub
// has neutralized. Most lines have neither.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.Contains(line, "<") {
			if wrapper.MatchString(line) {
				continue
			}
			line = gesture.ReplaceAllString(line, "")
		}
		if strings.Contains(line, "&lt;") {
			line = neutralised.ReplaceAllString(line, "<$1")
		}
		b.WriteString(line)
	}
	return b.String()
}

// rawID returns a window's id without its monitor.
func rawID(id string) string {
	if _, raw, ok := strings.Cut(id, "/"); ok {
		return raw
	}
	return id
}

// readClick parses the hub's description of a pressed button, or returns nil.
func readClick(text string) *click {
	inner, ok := strings.CutPrefix(text, "<ui:click>")
	if !ok {
		return nil
	}
	inner, rest, _ := strings.Cut(inner, "</ui:click>")
	m := clicked.FindStringSubmatch(strings.TrimSpace(escapes.Replace(inner)))
	if m == nil {
		return nil
	}
	c := &click{action: unquote.Replace(m[1]), window: unquote.Replace(m[2])}
	if m[3] != "" {
		c.window = rawID(m[3])
	}
	if at := formData.FindStringSubmatchIndex(rest); at != nil {
		c.form = escapes.Replace(rest[at[2]:at[3]])
		c.fields = readFields(rest[at[1]:])
	}
	return c
}

// readFields parses the values of a form in their order.
func readFields(text string) (fields []field) {
	d := json.NewDecoder(strings.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		key, ok := name.(string)
		if err != nil || !ok {
			return fields
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return fields
		}
		value := string(raw)
		var s string
		if json.Unmarshal(raw, &s) == nil {
			value = s
		}
		fields = append(fields, field{key, value})
	}
	return fields
}

// plan returns the steps for a message, given the earlier conversation.
func (s *session) plan(before []providers.Entry, message providers.Entry) []step {
	var text strings.Builder
	pictures, results := 0, 0
	for _, b := range message.Blocks {
		switch b.Kind {
		case providers.BlockText:
			if text.Len() > 0 {
				text.WriteByte('\n')
			}
			text.WriteString(b.Text)
		case providers.BlockImage:
			pictures++
		case providers.BlockToolResult:
			results++
		}
	}
	if results > 0 && text.Len() == 0 && pictures == 0 {
		return nil // a tool result contains no directives
	}
	if strings.Contains(text.String(), sumUp) {
		return []step{say(summary(before))}
	}
	if steps, ok := s.planSteps(text.String()); ok {
		return steps
	}
	p := readPrompt(text.String())
	if steps, ok := directives(p.orders); ok {
		return steps
	}
	w := words{session: s, before: before, prompt: p, korean: isKorean(p.content)}
	if p.click != nil {
		return w.pressed()
	}
	return w.answer(pictures)
}
