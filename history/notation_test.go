package history_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// Tests use a short notation for threads. A message is a letter, its row and its
// properties:
//
//	u5        the user sends u5
//	u5-A-B    results of the calls A and B, and nothing else
//	u5-A!     the same, and a text
//	a6+A+B    the assistant writes a6 and calls A and B
//	S7=s      a summary with id s
//	M8=t      a marker with id t
//	…/s …|t   tagged with condenseParent s, truncationParent t
//
// Message ids are 2, 4, 6 and so on, and odd for markers.
var messageForm = regexp.MustCompile(`^([uaSM])(\d+)((?:[-+]\w+)*)(!?)(?:=(\w+))?(?:/(\w+))?(?:\|(\w+))?$`)

func thread(t *testing.T, short string) (all []history.Message) {
	t.Helper()
	last := uint64(0)
	for word := range strings.FieldsSeq(short) {
		f := messageForm.FindStringSubmatch(word)
		if f == nil {
			t.Fatalf("%q is no message, want the notation %s", word, messageForm)
		}
		row, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		m := history.Message{Row: wire.RowID(row), CondenseParent: f[6], TruncationParent: f[7]}
		m.Role, m.Turn = providers.RoleUser, "t"
		last = history.NextID(last)
		m.ID = last
		switch f[1] {
		case "a":
			m.Role = providers.RoleAssistant
		case "S":
			m.IsSummary, m.CondenseID = true, f[5]
		case "M":
			m.IsTruncationMarker, m.TruncationID = true, f[5]
			m.ID++
		}
		for id := range strings.FieldsFuncSeq(f[3], func(c rune) bool { return c == '-' || c == '+' }) {
			b := providers.Block{Kind: providers.BlockToolResult, Call: id, Tool: "look", Text: "seen"}
			if f[1] == "a" {
				b = providers.Block{Kind: providers.BlockToolCall, Call: id, Tool: "look", Input: json.RawMessage(`{}`)}
			}
			m.Blocks = append(m.Blocks, b)
		}
		if f[1] == "a" || f[3] == "" || f[4] != "" {
			m.Blocks = append([]providers.Block{{Kind: providers.BlockText, Text: f[1] + f[2]}}, m.Blocks...)
		}
		all = append(all, m)
	}
	return all
}

// short formats a thread in that notation.
func short(all []history.Message) string {
	words := make([]string, len(all))
	for i, m := range all {
		letter := "u"
		switch {
		case m.IsSummary:
			letter = "S"
		case m.IsTruncationMarker:
			letter = "M"
		case m.Role == providers.RoleAssistant:
			letter = "a"
		}
		w := fmt.Sprint(letter, m.Row)
		said, results := false, false
		for _, b := range m.Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				w += "+" + b.Call
			case providers.BlockToolResult:
				w, results = w+"-"+b.Call, true
			default:
				said = true
			}
		}
		if said && results {
			w += "!"
		}
		if id := m.CondenseID + m.TruncationID; id != "" {
			w += "=" + id
		}
		if m.CondenseParent != "" {
			w += "/" + m.CondenseParent
		}
		if m.TruncationParent != "" {
			w += "|" + m.TruncationParent
		}
		words[i] = w
	}
	return strings.Join(words, " ")
}

// shortEntries formats a request, with the texts of each message.
func shortEntries(entries []providers.Entry) string {
	words := make([]string, len(entries))
	for i, e := range entries {
		parts := []string{}
		for _, b := range e.Blocks {
			switch b.Kind {
			case providers.BlockToolCall:
				parts = append(parts, "+"+b.Call)
			case providers.BlockToolResult:
				parts = append(parts, "-"+b.Call)
			case providers.BlockText:
				parts = append(parts, strings.Fields(b.Text)[0])
			default:
				parts = append(parts, string(b.Kind))
			}
		}
		words[i] = string(e.Role[0]) + "[" + strings.Join(parts, " ") + "]"
	}
	return strings.Join(words, " ")
}

// Rows have a similar notation: a letter, the id and the newest message of the thread main
// at that time, if the row belongs to that thread.
//
//	u5    message of the user       t6#4   text of an agent
//	x7#4  a tool                      r7#4   thinking
//	e8#6  the end of a turn           o9     something else
//	c9=s  a summary was made          k9=t   messages were truncated
var rowForm = regexp.MustCompile(`^([utxreock])(\d+)(?:#(\d+))?(?:=(\w*))?$`)

func rows(t *testing.T, short string) (all []wire.UIRow) {
	t.Helper()
	says := map[string]wire.Say{
		"u": wire.SayUserFeedback, "t": wire.SayText, "x": wire.SayTool, "r": wire.SayReasoning, "e": wire.SayAPIReqFinished,
		"o": wire.SayCheckpointSaved, "c": wire.SayCondenseContext, "k": wire.SaySlidingWindowTruncation,
	}
	for word := range strings.FieldsSeq(short) {
		f := rowForm.FindStringSubmatch(word)
		if f == nil {
			t.Fatalf("%q is no row, want the notation %s", word, rowForm)
		}
		id, err := strconv.ParseUint(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		r := wire.UIRow{ID: wire.RowID(id), TS: wire.Millis(1000 + id), Type: wire.RowSay, Say: says[f[1]]}
		if f[3] != "" {
			n, err := strconv.Atoi(f[3])
			if err != nil {
				t.Fatal(err)
			}
			r.Thread, r.ConversationHistoryIndex = "main", &n
		}
		switch f[1] {
		case "c":
			r.ContextCondense = &wire.ContextCondense{CondenseID: f[4]}
		case "k":
			r.ContextTruncation = &wire.ContextTruncation{TruncationID: f[4]}
		}
		all = append(all, r)
	}
	return all
}

func ids(all []wire.UIRow) string {
	words := make([]string, len(all))
	for i, r := range all {
		words[i] = fmt.Sprint(r.ID)
	}
	return strings.Join(words, " ")
}

// unchanged fails if the test modifies the thread.
func unchanged(t *testing.T, all []history.Message) {
	t.Helper()
	before := encoded(t, all)
	t.Cleanup(func() {
		if after := encoded(t, all); !slices.Equal(before, after) {
			t.Errorf("the thread was changed, want it unchanged:\n%s\n%s", before, after)
		}
	})
}

// encoded returns the stored form of a thread.
func encoded(t interface{ Fatal(args ...any) }, all []history.Message) []string {
	out := make([]string, len(all))
	for i := range all {
		data, err := json.Marshal(all[i])
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(data)
	}
	return out
}
