package policies

import (
	"strings"
	"unicode"
)

// vocabulary are the tags that mean something in our prompts, besides everything
// that begins with `ui:`.
var vocabulary = map[string]bool{
	"timeline": true, "ai": true, "budget": true, "earlier": true,
	"open_windows": true, "reload_options": true,
	"recent_conversation": true, "previous_conversation": true,
	"user": true, "assistant": true,
	"environment": true, "memory": true,
	"app_interaction": true,
	"ui":              true,
}

// gestures are the blocks that desktops may put at the beginning of a message.
// What the hub says itself, such as ui:draw and the verbs of the timeline, is not
// among them.
var gestures = []string{
	"ui:click", "ui:drag", "ui:select", "ui:selection", "ui:region_select",
	"ui:image_drop", "ui:file_drop", "app_interaction",
}

// longestTag is longer than every name in the vocabulary.
const longestTag = 32

// Content is what a user said, as it may stand in a prompt: every tag of our own
// vocabulary in it has lost its meaning, by `&lt;` for its bracket. Other tags
// stay, since people talk about HTML.
//
// Desktops write what the user did as blocks: `<ui:click>app: notes</ui:click>`,
// and apps in windows speak in `<app_interaction>` blocks. Such blocks keep their
// tags at the beginning of the content and nowhere else. What is inside may come
// from strangers, the text of a selection for example; so a block ends with the
// last of its closing tags, and no tag inside keeps its meaning. Text after the
// blocks is text.
//
// Content of what it returned changes nothing.
func Content(text string) string {
	var b strings.Builder
	for {
		start := strings.TrimLeftFunc(text, unicode.IsSpace)
		name, body, rest, ok := cutGesture(start)
		if !ok {
			break
		}
		b.WriteString(text[:len(text)-len(start)])
		b.WriteString("<" + name + ">" + neutral(body) + "</" + name + ">")
		text = rest
	}
	if b.Len() == 0 {
		return neutral(text)
	}
	b.WriteString(neutral(text))
	return b.String()
}

// cutGesture splits off the block that s begins with.
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

// neutral takes the meaning from the tags of our vocabulary in s.
func neutral(s string) string {
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
		if isOurs(after) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
		s = after
	}
}

// isOurs reports whether s, which follows a bracket, reads like a tag of our
// vocabulary. A model reads with more goodwill than a parser: so do we, and
// overlook spaces, invisible characters and upper case.
func isOurs(s string) bool {
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
			return vocabulary[name.String()]
		}
	}
	return vocabulary[name.String()]
}

var (
	textEscaper  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	valueEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	quoteEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)

// Escape is s as the text inside a tag. It is not enough for an attribute, since
// quotes stay.
func Escape(s string) string { return textEscaper.Replace(s) }

// EscapeAttribute is s as the value of an attribute, between double quotes.
func EscapeAttribute(s string) string { return valueEscaper.Replace(oneLine(s)) }

// quoted is s between quotes that it cannot end.
func quoted(s string) string { return `"` + quoteEscaper.Replace(oneLine(s)) + `"` }

// oneLine has no line breaks and nothing else that controls.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

// cut is s with at most n characters, and a sign that there was more.
func cut(s string, n int, more string) string {
	for at := range s {
		if n == 0 {
			return s[:at] + more
		}
		n--
	}
	return s
}
