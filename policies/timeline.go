package policies

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// MaxTimeline is how many entries a timeline has at most.
const MaxTimeline = 500

// maxPhrase is how many characters of something written by others an entry
// takes over.
const maxPhrase = 500

// EntryKind is what a [TimelineEntry] is about.
type EntryKind string

// The kinds of entries.
const (
	EntryUser    EntryKind = "user"    // the user did something
	EntryAI      EntryKind = "ai"      // an agent did something
	EntryBudget  EntryKind = "budget"  // the budget refused something
	EntryEarlier EntryKind = "earlier" // there were more, which are forgotten
)

// TimelineEntry is something that happened on a monitor while its main agent did
// not look.
type TimelineEntry struct {
	Kind EntryKind `json:"kind"`
	// Verb is what the user did, to the window or to what Details says.
	Verb        string        `json:"verb,omitempty"`
	Window      wire.WindowID `json:"window,omitempty"`
	Details     string        `json:"details,omitempty"`
	Bounds      *wire.Bounds  `json:"bounds,omitempty"`
	Instruction string        `json:"instruction,omitempty"`
	// Agent is who acted.
	Agent wire.AgentID `json:"agent,omitempty"`
	// Text is what the agent did or what the budget says.
	Text string `json:"text,omitempty"`
	// Count is how many are forgotten.
	Count int `json:"count,omitempty"`
}

// UserEntry is what a user did. It is false for what does not belong into a
// timeline: drawings, which are attached to a message.
func UserEntry(i wire.UserInteraction) (TimelineEntry, bool) {
	_, verb, _ := strings.Cut(string(i.Type), ".")
	if i.Type == wire.DidDraw || !isVerb(verb) {
		return TimelineEntry{}, false
	}
	e := TimelineEntry{
		Kind: EntryUser, Verb: verb, Window: i.WindowID,
		Instruction: cut(i.Instruction, maxPhrase, "…"),
	}
	if i.WindowID == "" {
		e.Details = cut(i.Details, maxPhrase, "…")
	}
	if i.Bounds != nil {
		e.Bounds = new(*i.Bounds)
	}
	return e, true
}

// isVerb reports whether s can be a part of a tag.
func isVerb(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' {
			return false
		}
	}
	return s != ""
}

// BudgetEntry tells an agent that its monitor's budget refused something.
func BudgetEntry(text string) TimelineEntry {
	return TimelineEntry{Kind: EntryBudget, Text: cut(text, maxPhrase, "…")}
}

// FoldTimeline adds an entry, as append does, and drops what it makes needless:
// the same focus again, a focus right before the window is moved or resized, all
// but the last of several moves and resizes of a window. Of more than
// [MaxTimeline] entries the oldest become one that counts them. Only the first
// two and the last two entries can change.
func FoldTimeline(entries []TimelineEntry, e TimelineEntry) []TimelineEntry {
	if e.Kind == EntryUser && e.Window != "" {
		if last := tail(entries); e.Verb == verbFocus && last.is(verbFocus, e.Window) {
			return entries
		}
		if e.placed() {
			if last := tail(entries); last.is(verbFocus, e.Window) {
				entries = entries[:len(entries)-1]
			}
			last := tail(entries)
			if last.placed() && last.Window == e.Window && (last.Verb == e.Verb || e.Bounds != nil) {
				entries = entries[:len(entries)-1]
			}
		}
	}
	entries = append(entries, e)
	if over := len(entries) - MaxTimeline; over > 0 {
		count := 0
		for _, old := range entries[:over+1] {
			count += old.weight()
		}
		entries = slices.Replace(entries, 0, over+1, TimelineEntry{Kind: EntryEarlier, Count: count})
	}
	return entries
}

// The verbs that fold.
const (
	verbFocus  = "focus"
	verbMove   = "move"
	verbResize = "resize"
)

func tail(entries []TimelineEntry) TimelineEntry {
	if len(entries) == 0 {
		return TimelineEntry{}
	}
	return entries[len(entries)-1]
}

func (e TimelineEntry) is(verb string, window wire.WindowID) bool {
	return e.Kind == EntryUser && e.Verb == verb && e.Window == window
}

// placed reports whether the entry says where a window is now.
func (e TimelineEntry) placed() bool {
	return e.Kind == EntryUser && e.Window != "" && (e.Verb == verbMove || e.Verb == verbResize)
}

// weight is how many entries e stands for.
func (e TimelineEntry) weight() int {
	if e.Kind == EntryEarlier {
		return max(0, e.Count)
	}
	return 1
}

// FormatTimeline is the block that tells what happened, or "" when nothing did.
func FormatTimeline(entries []TimelineEntry) string {
	var b strings.Builder
	for _, e := range entries {
		if line := e.format(); line != "" {
			b.WriteString(line + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "<timeline>\n" + b.String() + "</timeline>"
}

func (e TimelineEntry) format() string {
	switch e.Kind {
	case EntryUser:
		if !isVerb(e.Verb) {
			return ""
		}
		return "<ui:" + e.Verb + ">" + Escape(e.phrase()) + "</ui:" + e.Verb + ">"
	case EntryAI:
		return `<ai agent="` + EscapeAttribute(string(e.Agent)) + `">` + Escape(oneLine(e.Text)) + "</ai>"
	case EntryBudget:
		return "<budget>" + Escape(oneLine(e.Text)) + "</budget>"
	case EntryEarlier:
		return `<earlier count="` + strconv.Itoa(e.Count) + `"/>`
	}
	return ""
}

// phrase is what the user did it to, and how.
func (e TimelineEntry) phrase() string {
	parts := make([]string, 0, 3)
	if target := cmp.Or(string(e.Window), e.Details); target != "" {
		parts = append(parts, oneLine(target))
	}
	if b := e.Bounds; b != nil {
		parts = append(parts, "{x:"+number(b.X)+",y:"+number(b.Y)+",w:"+number(b.W)+",h:"+number(b.H)+"}")
	}
	if e.Instruction != "" {
		parts = append(parts, quoted(e.Instruction))
	}
	return strings.Join(parts, " ")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
