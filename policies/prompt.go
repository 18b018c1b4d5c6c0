package policies

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// WindowInitialTurns is how many turns of the main conversation a window agent
// is told of when it begins. A turn is a message of the user and the answer.
const WindowInitialTurns = 3

// MainPrompt is what a main agent is told at the beginning of a turn.
type MainPrompt struct {
	// Timeline is what happened on its monitor since its last turn, as
	// [FormatTimeline] wrote it.
	Timeline string
	// Draw says that what the user drew is attached as a picture.
	Draw bool
	// Windows are those of its own monitor.
	Windows []wire.WindowID
	Reload  []ReloadOption
	// Content is what the user said, as it came.
	Content string
}

// Main is the prompt of a main agent.
func Main(p MainPrompt) string {
	return join(p.Timeline, draw(p.Draw), openWindows(p.Windows), reloadOptions(p.Reload), Content(p.Content))
}

// EphemeralPrompt is what an ephemeral agent is told. It knows nothing of what was
// said before.
type EphemeralPrompt struct {
	// Draw says that what the user drew is attached as a picture.
	Draw bool
	// Windows are those of its own monitor.
	Windows []wire.WindowID
	Reload  []ReloadOption
	// Content is what the user said, as it came.
	Content string
}

// Ephemeral is the prompt of an ephemeral agent.
func Ephemeral(p EphemeralPrompt) string {
	return join(draw(p.Draw), openWindows(p.Windows), reloadOptions(p.Reload), Content(p.Content))
}

// WindowPrompt is what a window agent is told at the beginning of a turn.
type WindowPrompt struct {
	// Recent is there in its first turn only; see [RecentTurns].
	Recent []Said
	// Windows are those of its own monitor.
	Windows []wire.WindowID
	Reload  []ReloadOption
	// Content is what the user said, as it came, or a [ComponentClick].
	Content string
}

// Window is the prompt of a window agent.
func Window(p WindowPrompt) string {
	return join(recent(p.Recent), openWindows(p.Windows), reloadOptions(p.Reload), Content(p.Content))
}

// Speaker is who said something.
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
	// Window is there when it was said to or by a window agent.
	Window wire.WindowID `json:"window,omitempty"`
}

// RecentTurns are the newest turns of the main conversation; what was said to
// windows does not belong to it. With 0 turns there are [WindowInitialTurns].
func RecentTurns(said []Said, turns int) []Said {
	if turns <= 0 {
		turns = WindowInitialTurns
	}
	main := slices.DeleteFunc(slices.Clone(said), func(s Said) bool { return s.Window != "" })
	return main[max(0, len(main)-2*turns):]
}

// ComponentClick is the content that says which button was pressed. What the
// client sent with the button is in it, escaped; the form only when it has a
// name.
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

// prettyForm is JSON in several lines, in the order of the form. Brackets in it
// are escaped as JSON does it.
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

// plainJSON has \u003c for <, so it is safe in a prompt. What has no JSON form is
// null.
func plainJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(data)
}

func draw(attached bool) string {
	if !attached {
		return ""
	}
	return "<ui:draw>[image attached]</ui:draw>"
}

func openWindows(ids []wire.WindowID) string {
	if len(ids) == 0 {
		return ""
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		// A comma ends a name here, and ids may have commas.
		names[i] = strings.ReplaceAll(Escape(oneLine(string(id))), ",", "&#44;")
	}
	return "<open_windows>" + strings.Join(names, ", ") + "</open_windows>"
}

func reloadOptions(options []ReloadOption) string {
	if len(options) == 0 {
		return ""
	}
	return "<reload_options>\n" + plainJSON(options) + "\n</reload_options>"
}

func recent(said []Said) string {
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

// join puts a blank line between the parts that are there.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}
