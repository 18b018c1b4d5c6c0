package policies

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// MaxTimeline bounds the entries of a timeline.
const MaxTimeline = 500

// maxPhrase bounds the characters of foreign text in an entry.
const maxPhrase = 500

// EntryKind is the kind of a [TimelineEntry].
type EntryKind string

// The kinds of entries.
const (
	EntryUser    EntryKind = "user"    // the user did something
	EntryAI      EntryKind = "ai"      // an agent did something
	EntryBudget  EntryKind = "budget"  // the budget refused something
	EntryEarlier EntryKind = "earlier" // counts older entries that were dropped
)

// TimelineEntry is an event on a monitor since the last turn of its main agent.
type TimelineEntry struct {
	Kind EntryKind `json:"kind"`
	// Verb is the user's action on the window or on the object in Details.
	Verb        string        `json:"verb,omitempty"`
	Window      wire.WindowID `json:"window,omitempty"`
	Details     string        `json:"details,omitempty"`
	Bounds      *wire.Bounds  `json:"bounds,omitempty"`
	Instruction string        `json:"instruction,omitempty"`
	// Agent is the agent of an EntryAI.
	Agent wire.AgentID `json:"agent,omitempty"`
	// Text describes the agent's actions or the refusal of the budget.
	Text string `json:"text,omitempty"`
	// Count is the number of dropped entries.
	Count int `json:"count,omitempty"`
}

// UserEntry returns the entry for a user's interaction. It is false for drawings, which are
// attached to a message, and for interactions without a valid verb.
func UserEntry(i wire.UserInteraction) (TimelineEntry, bool) {
	_, verb, _ := strings.Cut(string(i.Type), ".")
	if i.Type == wire.DidDraw || !isVerb(verb) {
		return TimelineEntry{}, false
	}
	e := TimelineEntry{
		Kind: EntryUser, Verb: verb, Window: i.WindowID,
		Instruction: truncate(i.Instruction, maxPhrase, "…"),
	}
	if i.WindowID == "" {
		e.Details = truncate(i.Details, maxPhrase, "…")
	}
	if i.Bounds != nil {
		e.Bounds = new(*i.Bounds)
	}
	return e, true
}

// isVerb reports whether s is valid as part of a tag.
func isVerb(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' {
			return false
		}
	}
	return s != ""
}

// BudgetEntry returns the entry for a refusal by the monitor's budget.
func BudgetEntry(text string) TimelineEntry {
	return TimelineEntry{Kind: EntryBudget, Text: truncate(text, maxPhrase, "…")}
}

// FoldTimeline appends an entry and drops the entries that it makes redundant: a repeated
// focus, a focus right before the window is moved or resized, and all but the last of several
// moves and resizes of a window. Beyond [MaxTimeline] entries the oldest become one that counts
// them. Only the first two and the last two entries can change.
func FoldTimeline(entries []TimelineEntry, e TimelineEntry) []TimelineEntry {
	if e.Kind == EntryUser && e.Window != "" {
		if last := lastEntry(entries); e.Verb == verbFocus && last.is(verbFocus, e.Window) {
			return entries
		}
		if e.setsBounds() {
			if last := lastEntry(entries); last.is(verbFocus, e.Window) {
				entries = entries[:len(entries)-1]
			}
			last := lastEntry(entries)
			if last.setsBounds() && last.Window == e.Window && (last.Verb == e.Verb || e.Bounds != nil) {
				entries = entries[:len(entries)-1]
			}
		}
	}
	entries = append(entries, e)
	if over := len(entries) - MaxTimeline; over > 0 {
		count := 0
		for _, old := range entries[:over+1] {
			count += old.eventCount()
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

func lastEntry(entries []TimelineEntry) TimelineEntry {
	if len(entries) == 0 {
		return TimelineEntry{}
	}
	return entries[len(entries)-1]
}

func (e TimelineEntry) is(verb string, window wire.WindowID) bool {
	return e.Kind == EntryUser && e.Verb == verb && e.Window == window
}

// setsBounds reports whether the entry is about the position or the size of a window.
func (e TimelineEntry) setsBounds() bool {
	return e.Kind == EntryUser && e.Window != "" && (e.Verb == verbMove || e.Verb == verbResize)
}

// eventCount returns the number of events that e stands for.
func (e TimelineEntry) eventCount() int {
	if e.Kind == EntryEarlier {
		return max(0, e.Count)
	}
	return 1
}

// FormatTimeline returns the prompt block of the entries, or "" if there are none.
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

// phrase describes the object of the user's action and its details.
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
