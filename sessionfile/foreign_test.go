package sessionfile_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// withForeign returns a log whose first conversation was written by another program.
func withForeign(t *testing.T, messages string) []byte {
	t.Helper()
	data := packed(t, example())
	var meta sessionfile.Metadata
	if err := json.Unmarshal([]byte(part(t, data, "metadata.json")), &meta); err != nil {
		t.Fatal(err)
	}
	const name = "api/theirs.json"
	delete(meta.Parts, meta.Threads[0].Part)
	gone := meta.Threads[0].Part
	meta.Threads[0].Part = name
	sum := sha256.Sum256([]byte(messages))
	meta.Parts[name] = sessionfile.Part{Bytes: int64(len(messages)), SHA256: hex.EncodeToString(sum[:])}
	text, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	return repack(t, data, map[string][]byte{"metadata.json": text, gone: nil, name: []byte(messages)})
}

// A conversation of another program is read, whichever way its summary
// is placed: before the last messages, as earlier versions of that program did, or after all of them.
func TestForeignConversations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		messages, want string
		hidden         int
	}{
		"the older layout": {
			messages: `[{"role":"user","content":"long ago","ts":1,"condenseParent":"s"},
				{"role":"assistant","content":[{"type":"text","text":"the story so far"}],"ts":2,"isSummary":true,"condenseId":"s"},
				{"role":"user","content":"what now","ts":3},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"this"}],"ts":4}]`,
			want: "(The beginning of the conversation is left out.)|the story so far|what now|this", hidden: 1,
		},
		"the newer layout": {
			messages: `[{"role":"user","content":"long ago","condenseParent":"s"},{"role":"assistant","content":"then","condenseParent":"s"},
				{"role":"user","content":[{"type":"text","text":"the story so far"}],"isSummary":true,"condenseId":"s"}]`,
			want: "the story so far", hidden: 2,
		},
		"nothing": {messages: `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := reading(t, withForeign(t, c.messages))
			all := l.Threads[0].Messages
			var said []string
			for _, e := range history.View(all) {
				for _, b := range e.Blocks {
					said = append(said, b.Text)
				}
			}
			if got := strings.Join(said, "|"); got != c.want {
				t.Errorf("its model sees %q, want %q", got, c.want)
			}
			if got := len(all) - len(history.Effective(all)); got != c.hidden {
				t.Errorf("%d messages are hidden, want %d", got, c.hidden)
			}
			if err := providers.Check(history.View(all)); err != nil {
				t.Error(err)
			}
			// The converted conversation is written in the own format.
			s := example()
			s.Threads[0].Messages = all
			if again := reading(t, packed(t, s)); len(again.Threads[0].Messages) != len(all) {
				t.Errorf("messages read again: got %d, want %d", len(again.Threads[0].Messages), len(all))
			}
		})
	}
}

func TestForeignConversationsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, messages := range map[string]string{
		"no list":  `{"role":"user","content":"x"}`,
		"half":     `[{"role":"user","content":"x"}`,
		"null":     `null`,
		"too long": "[" + strings.Repeat(`{"role":"user","content":"x"},`, 2500) + `{"role":"user","content":"x"}]`,
		"too big":  `[{"role":"user","content":"` + strings.Repeat("x", 6<<20) + `"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(withForeign(t, messages))
			if refused, ok := errors.AsType[*sessionfile.RefusedError](err); !ok || refused.Part != "api/theirs.json" {
				t.Errorf("got error %v, want a refusal of api/theirs.json", err)
			}
		})
	}
}

// A file has no agent that extends a row, so its rows are complete.
func TestRowsInALogAreWhole(t *testing.T) {
	t.Parallel()
	s := example()
	rows := s.Rows
	s.Rows = func(m wire.MonitorID) iter.Seq2[wire.UIRow, error] {
		return func(yield func(wire.UIRow, error) bool) {
			for r, err := range rows(m) {
				if r.Say == wire.SayReasoning {
					r.Partial = new(true)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	data := packed(t, s)
	if text := part(t, data, "ui/monitor-0.jsonl"); !strings.Contains(text, `"partial":false`) || strings.Contains(text, `"partial":true`) {
		t.Errorf("written rows: got\n%s\nwant all with partial false", text)
	}
	if row := reading(t, data).Rows[first][1]; history.IsPartial(row) || row.Partial == nil || row.Text != "hm" {
		t.Errorf("read row: got %+v, want a whole one with the text hm", row)
	}
}
