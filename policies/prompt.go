package policies

import (
	"encoding/json"
	"slices"
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
	// Draw says that a drawing of the user is attached as an image.
	Draw bool
	// Windows are the open windows of the agent's monitor.
	Windows []wire.WindowID
	Reload  []ReloadOption
	// Content is the user's unmodified text.
	Content string
}

// Main returns the prompt of a main agent.
func Main(p MainPrompt) string {
	return joinBlocks(p.Timeline, drawBlock(p.Draw), windowsBlock(p.Windows), reloadBlock(p.Reload), Content(p.Content))
}

// EphemeralPrompt holds the parts of an ephemeral agent's prompt. Such an agent does not know
// the earlier conversation.
type EphemeralPrompt struct {
	// Draw says that a drawing of the user is attached as an image.
	Draw bool
	// Windows are the open windows of the agent's monitor.
	Windows []wire.WindowID
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
	Windows []wire.WindowID
	Reload  []ReloadOption
	// Content is the user's unmodified text, or a [ComponentClick].
	Content string
}

// Window returns the prompt of a window agent.
func Window(p WindowPrompt) string {
	return joinBlocks(recentBlock(p.Recent), windowsBlock(p.Windows), reloadBlock(p.Reload), Content(p.Content))
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

func windowsBlock(ids []wire.WindowID) string {
	if len(ids) == 0 {
		return ""
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		// A comma separates names here, and ids may contain commas.
		names[i] = strings.ReplaceAll(Escape(oneLine(string(id))), ",", "&#44;")
	}
	return "<open_windows>" + strings.Join(names, ", ") + "</open_windows>"
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
