package policies

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/everdesk/everdesk/wire"
)

// maxActionBytes is the length of the text after which further actions are only counted.
const maxActionBytes = 2000

// maxTitle bounds the characters of a title in an entry.
const maxTitle = 120

// AIEntry returns the timeline entry for an agent's actions.
func AIEntry(agent wire.AgentID, actions []wire.Action) TimelineEntry {
	var b strings.Builder
	for i, a := range actions {
		if b.Len() > maxActionBytes {
			b.WriteString("And " + strconv.Itoa(len(actions)-i) + " more. ")
			break
		}
		b.WriteString(sentence(a) + " ")
	}
	if len(actions) == 0 {
		b.WriteString("No actions taken.")
	}
	return TimelineEntry{Kind: EntryAI, Agent: agent, Text: strings.TrimRight(b.String(), " ")}
}

// sentence describes an action.
func sentence(a wire.Action) string {
	switch a := a.(type) {
	case wire.WindowCreate:
		return "Created window " + named(a.WindowID) + " (" + oneLine(truncate(wire.RendererOf(a.Content), maxTitle, "…")) + ")."
	case wire.WindowClose:
		return "Closed window " + named(a.WindowID) + "."
	case wire.WindowSetTitle:
		return "Set title of " + named(a.WindowID) + " to " + named(a.Title) + "."
	case wire.WindowSetContent:
		return "Updated content of " + named(a.WindowID) + "."
	case wire.WindowUpdateContent:
		return "Modified content of " + named(a.WindowID) + " (" + operationOf(a.Operation) + ")."
	case wire.NotificationShow:
		return "Showed notification: " + named(a.Title) + "."
	case wire.NotificationDismiss:
		return "Dismissed notification " + named(a.ID) + "."
	}
	return "Action: " + typeOf(a) + "."
}

func named[S ~string](s S) string { return quoted(truncate(string(s), maxTitle, "…")) }

func operationOf(op wire.UpdateOperation) string {
	switch op.(type) {
	case wire.UpdateAppend:
		return "append"
	case wire.UpdatePrepend:
		return "prepend"
	case wire.UpdateReplace:
		return "replace"
	case wire.UpdateInsertAt:
		return "insertAt"
	}
	return "clear"
}

var actionFormat = sync.OnceValue(wire.FormatOf[wire.Action])

// typeOf returns the type of an action on the wire. It encodes the whole action, so it is meant
// for small ones.
func typeOf(a wire.Action) string {
	if a == nil {
		return "none"
	}
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(actionFormat().Append(nil, &a), &head) != nil {
		return "unknown"
	}
	return head.Type
}
