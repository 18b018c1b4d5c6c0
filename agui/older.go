package agui

import (
	"slices"
	"strings"

	"github.com/everdesk/everdesk/wire"
)

// The hub holds the newest rows of a conversation, and clients drop each message that a snapshot of the
// messages leaves out. So a snapshot begins with the messages of the client that are older than the rows.

// cutTurn returns the turn whose first rows the hub does not hold any more, or "".
func cutTurn(rows []wire.UIRow) wire.MessageID {
	i := slices.IndexFunc(rows, func(r wire.UIRow) bool { return r.MessageID != "" })
	if i < 0 {
		return ""
	}
	turn := rows[i].MessageID
	if slices.ContainsFunc(rows, func(r wire.UIRow) bool { return r.MessageID == turn && r.Say == wire.SayUserFeedback }) {
		return ""
	}
	return turn
}

// withOlder returns the newest messages of a conversation after those that the client has from the time
// before. It has none if it knows no message of the newest: then the conversation is another one, or the
// client was away for so long that there would be a gap. Of a turn that is cut, the client keeps what it has.
func withOlder(known, newest []chat, cut wire.MessageID) []chat {
	at := make(map[string]int, len(newest))
	for i, m := range newest {
		at[m.ID] = i
	}
	isCut := func(m chat) bool {
		return cut != "" && (m.ID == string(cut) || belongsTo(cut, m.ID) || belongsTo(cut, m.ToolCallID))
	}
	older := slices.IndexFunc(known, func(m chat) bool {
		_, both := at[m.ID]
		return both && !isCut(m)
	})
	if older < 0 {
		older = len(known)
		for older > 0 && !isCut(known[older-1]) {
			older--
		}
	}
	all := append([]chat{}, known[:older]...) // clients reject null
	has := map[string]bool{}
	for i, m := range all {
		has[m.ID], has[resultID(m.ToolCallID)] = true, true
		if j, both := at[m.ID]; both && continues(newest[j], m) {
			all[i] = newest[j]
		}
	}
	for _, m := range newest {
		if !has[m.ID] {
			all = append(all, m)
		}
	}
	return all
}

// continues reports whether a message begins with the text of an earlier state of it.
func continues(now, before chat) bool {
	text := before.text()
	return now.Content != nil && text != nil && strings.HasPrefix(*now.Content, *text)
}

// maxKnown bounds the conversation of a client: it sends it back with its next request, with names, escapes and what it
// adds.
const maxKnown = MaxInput / 2

// bounded drops the oldest messages beyond [maxKnown], and results whose calls are dropped.
func bounded(all []chat) []chat {
	size, first := 0, len(all)
	for first > 0 && size+all[first-1].size() <= maxKnown {
		first--
		size += all[first].size()
	}
	for first > 0 && first < len(all) && all[first].Role == "tool" {
		first++
	}
	return all[first:]
}
