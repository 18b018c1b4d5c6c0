package policies

import (
	"strings"
	"unicode"

	"github.com/everdesk/everdesk/internal/truncation"
)

// vocabulary holds the tags with a meaning in prompts, besides everything that begins with
// `ui:`.
var vocabulary = Tags{
	"timeline": true, "ai": true, "budget": true, "earlier": true,
	"open_windows": true, "reload_options": true,
	"recent_conversation": true, "previous_conversation": true,
	"user": true, "assistant": true,
	"environment": true, "memory": true, "your_role": true, "your_mode": true, "owner_instructions": true, "session_instructions": true, "workspace_instructions": true, "not_your_tools": true, "now": true, "this_window": true,
	"app_interaction": true,
	"ui":              true,
	"web_page":        true, outsideTag: true,
}

// gestures are the blocks that desktops may put at the beginning of a message. Blocks that the
// hub writes itself, such as ui:draw and the verbs of the timeline, are not among them.
var gestures = []string{
	"ui:click", "ui:drag", "ui:select", "ui:selection", "ui:region_select",
	"ui:image_drop", "ui:file_drop", "app_interaction",
}

// longestTag exceeds the length of every tag.
const longestTag = 32

// Content returns a user's text in a form that is safe in a prompt: `&lt;` replaces the bracket
// of every tag of the vocabulary. Other tags stay, because people talk about HTML.
//
// Desktops write gestures of the user as blocks: `<ui:click>app: notes</ui:click>`, and apps in
// windows send `<app_interaction>` blocks. Such blocks keep their tags at the beginning of the
// content and nowhere else. Their inner text may come from third parties, for example the text
// of a selection; therefore a block ends with the last of its closing tags, and all tags inside
// are neutralized. Text after the blocks is plain text.
//
// Content is idempotent.
func Content(text string) string {
	var b strings.Builder
	for {
		start := strings.TrimLeftFunc(text, unicode.IsSpace)
		name, body, rest, ok := cutGesture(start)
		if !ok {
			break
		}
		b.WriteString(text[:len(text)-len(start)])
		b.WriteString("<" + name + ">" + vocabulary.Neutralize(body) + "</" + name + ">")
		text = rest
	}
	if b.Len() == 0 {
		return vocabulary.Neutralize(text)
	}
	b.WriteString(vocabulary.Neutralize(text))
	return b.String()
}

// cutGesture splits off the gesture block at the beginning of s.
func cutGesture(s string) (name, body, rest string, ok bool) {
	for _, name := range gestures {
		inner, found := strings.CutPrefix(s, "<"+name+">")
		if !found {
			continue
		}
		closing := "</" + name + ">"
		if at := strings.LastIndex(inner, closing); at >= 0 {
			return name, inner[:at], inner[at+len(closing):], true
		}
	}
	return "", "", "", false
}

// Tags are the names of tags with a meaning in a prompt, in lower case. A text of a user, model or
// tool must not contain them, or it could imitate a part of the prompt.
type Tags map[string]bool

// Neutralize replaces the brackets of all tags of the vocabulary in s, so that s can be the text of a
// section.
func Neutralize(s string) string { return vocabulary.Neutralize(s) }

// Neutralize replaces the bracket of every tag in s that is one of the tags with `&lt;`. Other tags
// stay, because people talk about HTML. It is idempotent.
func (t Tags) Neutralize(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "<")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if t.startsTag(after) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
		s = after
	}
}

// startsTag reports whether s, which follows a bracket, reads like one of the tags. A model is more
// tolerant than a parser, so spaces, invisible characters and upper case are ignored.
func (t Tags) startsTag(s string) bool {
	var name strings.Builder
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && !unicode.IsSpace(r):
		case name.Len() == 0 && (unicode.IsSpace(r) || r == '/' || r == '\\'):
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-':
			if name.Len() > longestTag {
				return false
			}
			name.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
		default:
			return t[name.String()]
		}
	}
	return t[name.String()]
}

var (
	textEscaper  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	valueEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// Escape escapes s as the text inside a tag. It is not sufficient for an attribute, because
// quotes stay.
func Escape(s string) string { return textEscaper.Replace(s) }

// EscapeAttribute escapes s as the value of an attribute in double quotes.
func EscapeAttribute(s string) string { return valueEscaper.Replace(oneLine(s)) }

// quoted returns s in double quotes, with quotes inside escaped.
func quoted(s string) string { return `"` + quoteEscaper.Replace(oneLine(s)) + `"` }

// oneLine replaces line breaks and other control characters with spaces.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// truncate returns at most n characters of s, followed by more if s was longer.
func truncate(s string, n int, more string) string {
	return truncation.RunesMarked(s, n, more)
}
