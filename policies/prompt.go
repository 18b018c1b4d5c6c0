package policies

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// WindowInitialTurns is the number of turns of the main conversation in the first prompt of a
// window agent. A turn is a message of the user and the answer.
const WindowInitialTurns = 3

// MainPrompt holds the parts of a main agent's prompt.
type MainPrompt struct {
	// Timeline is the output of [FormatTimeline] for the events on the monitor since the last
	// turn.
	Timeline string
	// Views are the texts for agents of the views of MCP servers.
	Views []ViewContext
	// Draw says that a drawing of the user is attached as an image.
	Draw bool
	// Windows are the open windows of the agent's monitor.
	Windows []OpenWindow
	Reload  []ReloadOption
	// Content is the user's unmodified text.
	Content string
}

// Main returns the prompt of a main agent.
func Main(p MainPrompt) string {
	return joinBlocks(p.Timeline, viewsBlock(p.Views), drawBlock(p.Draw), windowsBlock(p.Windows), reloadBlock(p.Reload), Content(p.Content))
}

// EphemeralPrompt holds the parts of an ephemeral agent's prompt. Such an agent does not know
// the earlier conversation.
type EphemeralPrompt struct {
	// Draw says that a drawing of the user is attached as an image.
	Draw bool
	// Windows are the open windows of the agent's monitor.
	Windows []OpenWindow
	Reload  []ReloadOption
	// Content is the user's unmodified text.
	Content string
}

// Ephemeral returns the prompt of an ephemeral agent.
func Ephemeral(p EphemeralPrompt) string {
	return joinBlocks(drawBlock(p.Draw), windowsBlock(p.Windows), reloadBlock(p.Reload), Content(p.Content))
}

// WindowPrompt holds the parts of a window agent's prompt.
type WindowPrompt struct {
	// Recent is set in the agent's first turn only; see [RecentTurns].
	Recent []Said
	// Windows are the open windows of the agent's monitor.
	Windows []OpenWindow
	Reload  []ReloadOption
	// This is the window that the message is about; nil if unknown.
	This *ThisWindow
	// Content is the user's unmodified text, or a [ComponentClick].
	Content string
}

// OpenWindow describes an open window.
type OpenWindow struct {
	ID wire.WindowID
	// Kind is the renderer of its content. Width and Height are its size in pixels.
	Kind, Title   string
	Width, Height float64
	Minimized     bool
}

// ThisWindow is the window that a message is about.
type ThisWindow struct {
	OpenWindow
	// Group are the other windows that share its agent.
	Group []wire.WindowID
	// Content is what the window shows, as text or JSON. Unchanged says that the conversation has
	// it already.
	Content   string
	Unchanged bool
}

// Bounds of the descriptions of windows, in windows and characters.
const (
	maxOpenWindows   = 40
	maxWindowTitle   = 80
	maxWindowContent = 6000
)

// Window returns the prompt of a window agent.
func Window(p WindowPrompt) string {
	return joinBlocks(recentBlock(p.Recent), windowsBlock(p.Windows), reloadBlock(p.Reload), p.This.Block(), Content(p.Content))
}

// Speaker is the author of a message.
type Speaker string

// The speakers.
const (
	SpeakerUser      Speaker = "user"
	SpeakerAssistant Speaker = "assistant"
)

// Said is a message of a conversation.
type Said struct {
	By   Speaker `json:"by"`
	Text string  `json:"text"`
	// Window is set if the message was to or from a window agent.
	Window wire.WindowID `json:"window,omitempty"`
}

// RecentTurns returns the newest turns of the main conversation, without messages of windows.
// With turns <= 0 it returns [WindowInitialTurns] turns.
func RecentTurns(said []Said, turns int) []Said {
	if turns <= 0 {
		turns = WindowInitialTurns
	}
	main := slices.DeleteFunc(slices.Clone(said), func(s Said) bool { return s.Window != "" })
	return main[max(0, len(main)-2*turns):]
}

// ComponentClick returns the content for a pressed button. It contains the client's data,
// escaped; the form only if it has an id.
func ComponentClick(action string, window wire.WindowID, title string, path []string, formID string, form wire.Object[string, wire.Scalar]) string {
	where := oneLine(string(window))
	if title != "" {
		where = quoted(title)
	}
	var b strings.Builder
	b.WriteString("<ui:click>" + Escape("button "+quoted(action)+" in window "+where) + "</ui:click>")
	if len(path) > 0 {
		b.WriteString("\nComponent path: " + Escape(oneLine(strings.Join(path, " → "))))
	}
	if formID != "" && len(form) > 0 {
		b.WriteString("\n\nForm data (" + Escape(oneLine(formID)) + "):\n" + prettyForm(form))
	}
	return b.String()
}

// prettyForm returns indented JSON in the order of the form. Angle brackets are escaped as JSON
// does it.
func prettyForm(form wire.Object[string, wire.Scalar]) string {
	var b strings.Builder
	b.WriteString("{")
	for i, field := range form {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n  " + plainJSON(field.Key) + ": " + scalarJSON(field.Value))
	}
	b.WriteString("\n}")
	return b.String()
}

func scalarJSON(s wire.Scalar) string {
	switch {
	case s.Text != nil:
		return plainJSON(*s.Text)
	case s.Number != nil:
		return plainJSON(*s.Number)
	case s.Boolean != nil:
		return plainJSON(*s.Boolean)
	}
	return "null"
}

// plainJSON encodes v with \u003c for <, so it is safe in a prompt. Values without a JSON form
// become null.
func plainJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(data)
}

func drawBlock(attached bool) string {
	if !attached {
		return ""
	}
	return "<ui:draw>[image attached]</ui:draw>"
}

func windowsBlock(windows []OpenWindow) string {
	if len(windows) == 0 {
		return ""
	}
	names := make([]string, 0, len(windows))
	for _, w := range windows[:min(len(windows), maxOpenWindows)] {
		names = append(names, w.String())
	}
	if more := len(windows) - maxOpenWindows; more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return "<open_windows>" + strings.Join(names, ", ") + "</open_windows>"
}

// String returns the description of the window in a list, such as `rent (table "Rent", 500×400)`.
func (w OpenWindow) String() string {
	// A comma separates windows, and ids and titles may contain commas.
	safe := func(s string) string { return strings.ReplaceAll(Escape(oneLine(s)), ",", "&#44;") }
	if w.Kind == "" {
		return safe(string(w.ID))
	}
	about := safe(w.Kind + " " + quoted(truncate(w.Title, maxWindowTitle, "…")))
	if w.Width > 0 && w.Height > 0 {
		about += " " + number(math.Round(w.Width)) + "×" + number(math.Round(w.Height))
	}
	if w.Minimized {
		about += " minimized"
	}
	return safe(string(w.ID)) + " (" + about + ")"
}

// Block returns the window as a block of a prompt; "" for nil.
func (w *ThisWindow) Block() string {
	if w == nil {
		return ""
	}
	tag := `<this_window id="` + EscapeAttribute(string(w.ID)) + `" kind="` + EscapeAttribute(w.Kind) +
		`" title="` + EscapeAttribute(truncate(w.Title, maxWindowTitle, "…")) + `"`
	if len(w.Group) > 0 {
		ids := make([]string, len(w.Group))
		for i, id := range w.Group {
			ids[i] = string(id)
		}
		tag += ` your_other_windows="` + EscapeAttribute(strings.Join(ids, ", ")) + `"`
	}
	if w.Unchanged {
		return tag + ` content="unchanged"/>`
	}
	return tag + ">\n" + Escape(truncate(w.Content, maxWindowContent, "…")) + "\n</this_window>"
}

func reloadBlock(options []ReloadOption) string {
	if len(options) == 0 {
		return ""
	}
	return "<reload_options>\n" + plainJSON(options) + "\n</reload_options>"
}

func recentBlock(said []Said) string {
	if len(said) == 0 {
		return ""
	}
	blocks := make([]string, len(said))
	for i, s := range said {
		tag := SpeakerUser
		if s.By == SpeakerAssistant {
			tag = SpeakerAssistant
		}
		blocks[i] = "<" + string(tag) + ">" + Escape(s.Text) + "</" + string(tag) + ">"
	}
	return "<recent_conversation>\n" + strings.Join(blocks, "\n\n") + "\n</recent_conversation>"
}

// joinBlocks joins the non-empty blocks with blank lines.
func joinBlocks(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}
