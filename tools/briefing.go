package tools

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/providers"
)

// Briefing is the part of an agent's model request that is not its conversation.
type Briefing struct {
	// System is the system prompt. It depends only on the size of the model's context window, so
	// that the requests of all agents begin with the same text, which model servers cache.
	System string
	// Sections describe the agent, its surroundings and the user. They differ between agents and
	// change.
	Sections []Section
	// Now describes the moment. It changes with every turn.
	Now string
}

// Section is a part of a briefing in a tag of its own.
type Section struct {
	Tag, Text string
	// Shared says that the section matters only to an agent whose requests contain the tools of all
	// agents.
	Shared bool
}

// String returns the section with its tag.
func (s Section) String() string {
	return "<" + s.Tag + ">\n" + s.Text + "\n</" + s.Tag + ">"
}

// Whole returns the system prompt and all sections as one text, for backends that hold the
// conversation themselves.
func (b Briefing) Whole() string {
	parts := []string{strings.TrimSpace(b.System)}
	for _, s := range b.Sections {
		if s.Text != "" && !s.Shared {
			parts = append(parts, s.String())
		}
	}
	return strings.Join(parts, "\n\n")
}

// Preface returns the text that precedes the prompt of a turn: the sections that the conversation
// does not have yet, or has in an older version, and the moment. A conversation only grows, so
// that the part of it that was sent before stays cached.
func (b Briefing) Preface(said []providers.Entry) string {
	var parts []string
	for _, s := range b.Sections {
		if newestSection(said, s.Tag) != s.Text {
			parts = append(parts, s.String())
		}
	}
	if b.Now != "" {
		parts = append(parts, "<now>"+b.Now+"</now>")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, "\n\n") + "\n\n"
}

// newestSection returns the text of the newest section with that tag in the user's messages, or
// "" if there is none.
func newestSection(said []providers.Entry, tag string) string {
	for _, e := range slices.Backward(said) {
		if e.Role != providers.RoleUser {
			continue
		}
		for _, b := range slices.Backward(e.Blocks) {
			if b.Kind != providers.BlockText {
				continue
			}
			if i := strings.LastIndex(b.Text, "<"+tag+">\n"); i >= 0 {
				text, _, _ := strings.Cut(b.Text[i+len(tag)+3:], "\n</"+tag+">")
				return text
			}
		}
	}
	return ""
}

// WithoutMemory returns a conversation without the sections about its owner, for the turns of
// guests. The argument is not changed.
func WithoutMemory(said []providers.Entry) []providers.Entry {
	out := slices.Clone(said)
	for i, e := range out {
		for j, b := range e.Blocks {
			if e.Role != providers.RoleUser || b.Kind != providers.BlockText {
				continue
			}
			text := withoutSection(withoutSection(b.Text, memoryTag), ownerInstructionsTag)
			if text == b.Text {
				continue
			}
			b.Text = text
			e.Blocks = slices.Clone(e.Blocks)
			e.Blocks[j] = b
			out[i] = e
		}
	}
	return out
}

// withoutSection returns a text without the sections with that tag.
func withoutSection(text, tag string) string {
	begin, end := "<"+tag+">\n", "\n</"+tag+">\n\n"
	for {
		before, rest, found := strings.Cut(text, begin)
		if !found {
			return text
		}
		_, after, _ := strings.Cut(rest, end)
		text = before + after
	}
}
