package history_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/providers"
)

func TestLoadForeign(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		data, want string
		skipped    int
		visible    string
	}{
		"nothing":          {data: `[]`},
		"texts":            {data: `[{"role":"user","content":"hi","ts":1},{"role":"assistant","content":[{"type":"text","text":"ho"}]}]`, want: "u0 a0"},
		"a call":           {data: `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"A","name":"look","input":{"x":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"A","content":"seen"}]}]`, want: "u0 a0+A u0-A"},
		"the fresh start":  {data: `[{"role":"user","content":"hi","condenseParent":"s"},{"role":"assistant","content":"ho","condenseParent":"s"},{"role":"user","content":[{"type":"text","text":"sum"}],"isSummary":true,"condenseId":"s"}]`, want: "u0/s a0/s S0=s", visible: "S0=s"},
		"the older layout": {data: `[{"role":"user","content":"hi","condenseParent":"s"},{"role":"assistant","content":"sum","isSummary":true,"condenseId":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`, want: "u0/s S0=s u0 a0 u0", visible: "S0=s u0 a0 u0"},
		"a marker":         {data: `[{"role":"user","content":"hi"},{"role":"assistant","content":"ho","truncationParent":"t"},{"role":"user","content":"more","truncationParent":"t"},{"role":"user","content":"[left out]","isTruncationMarker":true,"truncationId":"t"},{"role":"assistant","content":"so"}]`, want: "u0 a0|t u0|t M0=t a0", visible: "u0 M0=t a0"},
		"an empty marker":  {data: `[{"role":"user","content":"","isTruncationMarker":true,"truncationId":"t"}]`, want: "M0=t", visible: " "},
		"nonsense":         {data: `[1,null,"x",{},{"role":"system","content":"x"},{"role":"user"},{"role":"user","content":""},{"role":"user","content":"ok"}]`, want: "u0", skipped: 7},
		"unknown blocks": {
			data: `[{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"},{"type":"smell"},7,{"type":"text","text":"ok"},{"type":"text","text":" "}]}]`, want: "a0", skipped: 3,
		},
		"fields of another kind": {data: `[{"role":"user","content":"hi","ts":"yesterday","isSummary":"yes","condenseId":7,"condenseParent":["s"]}]`, want: "u0"},
		"ids that are missing":   {data: `[{"role":"assistant","content":[{"type":"tool_use","name":"x"}]},{"role":"user","content":[{"type":"tool_result","content":"x"}]}]`, skipped: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, skipped, err := history.LoadForeign([]byte(c.data))
			if err != nil || short(all) != c.want || skipped != c.skipped {
				t.Errorf("got %q, %d left out, %v; want %q and %d", short(all), skipped, err, c.want, c.skipped)
			}
			visible := cmp.Or(c.visible, c.want)
			if got := short(history.Effective(all)); got != strings.TrimSpace(visible) {
				t.Errorf("visible is %s, want %s", got, visible)
			}
			for i, m := range all {
				if m.ID != uint64(2*i+2) || m.Turn == "" || m.Row != 0 {
					t.Errorf("message %d is %+v, want id %d with a turn and no row", i, m, 2*i+2)
				}
			}
			sendable(t, all)
		})
	}
	for _, data := range []string{"", "null", "{}", `"x"`, "[", `[{"role":"user","content":"hi"}`} {
		if _, _, err := history.LoadForeign([]byte(data)); !errors.Is(err, history.ErrForeign) {
			t.Errorf("%q: error %v, want %v", data, err, history.ErrForeign)
		}
	}
}

func TestLoadForeignBlocks(t *testing.T) {
	t.Parallel()
	all, skipped, err := history.LoadForeign([]byte(`[
		{"role":"user","ts":1700000000000.5,"content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cA=="}},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"?"}}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"A","name":"look","input":"no object"}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"A","is_error":true,"content":[
			{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cA=="}},{"type":"text","text":"b"},3]}]}
	]`))
	if err != nil || skipped != 1 || len(all) != 3 {
		t.Fatalf("%s, %d left out, %v, want 3 messages and 1 left out", short(all), skipped, err)
	}
	if m := all[0]; m.TS != 1700000000000 || len(m.Blocks) != 2 || string(m.Blocks[1].Image.Data) != "p" {
		t.Errorf("the message of the user is %+v, want its time, two blocks and the picture", m)
	}
	if b := all[1].Blocks[0]; !providers.BrokenInput(b.Input) {
		t.Errorf("the input is %s, want one marked as broken", b.Input)
	}
	if b := all[2].Blocks[0]; b.Text != "a\nb" || b.Tool != "look" || !b.IsError || len(b.Images) != 1 {
		t.Errorf(`the result is %+v, want "a\nb" of look as an error with one picture`, b)
	}
	if all[0].Turn != all[2].Turn {
		t.Errorf("results have the turn %s and their call %s, want the same", all[2].Turn, all[0].Turn)
	}
}

// sendable fails unless the view of a thread is a valid request.
func sendable(t *testing.T, all []history.Message) {
	t.Helper()
	if err := providers.Check(history.View(all)); err != nil {
		t.Errorf("%v: %s", err, short(all))
	}
}

func FuzzLoadForeign(f *testing.F) {
	f.Add([]byte(`[{"role":"user","content":"hi","ts":1,"isSummary":true,"condenseId":"s"}]`))
	f.Add([]byte(`[{"role":"assistant","content":[{"type":"tool_use","id":"A","name":"n","input":{}},{"type":"image"}],"truncationParent":"t"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"A","content":[{"type":"text"}]}],"isTruncationMarker":true,"truncationId":"t"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, _, err := history.LoadForeign(data)
		if err != nil {
			return
		}
		sendable(t, all)
		again := make([]history.Message, len(all))
		for i, kept := range encoded(t, all) {
			if err := json.Unmarshal([]byte(kept), &again[i]); err != nil {
				t.Fatal(err)
			}
		}
		if short(again) != short(all) {
			t.Errorf("encoded %s, decoded %s, want the same", short(all), short(again))
		}
	})
}

// FuzzView builds threads from bytes: every four bytes are a message, with any tags, calls
// and results.
func FuzzView(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 9, 17, 3, 0, 2, 33, 0, 1, 4, 5, 6, 7})
	f.Add([]byte("any text may be a thread, be it ever so odd"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all := threadOf(data)
		before := encoded(t, all)
		sendable(t, all)
		if n := len(all); n > 0 {
			next := history.Repair(all[:n-1], all[n-1].Entry)
			sendable(t, append(all[:n-1:n-1], history.Message{Entry: next}))
		}
		out, removed := history.Truncated(all, float64(len(data)%11)/10, history.Marker{TruncationID: "new"})
		sendable(t, out)
		if visible := len(history.Effective(all)); removed > 0 && len(history.Effective(out)) > visible {
			t.Errorf("%d left out of %d, visible are %d, want no more than before", removed, visible, len(history.Effective(out)))
		}
		if in, err := history.CondenseInput(all); err == nil {
			if err := providers.Check(history.CondenseRequest(in, len(data)%2 == 0)); err != nil {
				t.Error(err)
			}
		}
		out, _, err := history.Condensed(all, history.Summary{CondenseID: "new", Text: "so far"})
		if err != nil || len(history.Effective(out)) != 1 {
			t.Errorf("condensed to %s, error %v, want one visible message", short(out), err)
		}
		for i, m := range encoded(t, all) {
			if m != before[i] {
				t.Errorf("message %d was changed, want it unchanged:\n%s\n%s", i, before[i], m)
			}
		}
	})
}

// threadOf returns an arbitrary, possibly inconsistent thread.
func threadOf(data []byte) (all []history.Message) {
	tags := []string{"", "", "", "s", "t", "x"}
	for ; len(data) >= 4; data = data[4:] {
		m := history.Message{
			ID: uint64(2*len(all) + 2), CondenseParent: tags[data[2]%6], TruncationParent: tags[data[2]/6%6],
			IsSummary: data[3]%16 == 1, IsTruncationMarker: data[3]%8 == 2, CondenseID: tags[data[3]/16%6], TruncationID: tags[data[3]/8%6],
			Entry: providers.Entry{Role: []providers.Role{providers.RoleUser, providers.RoleAssistant, "other"}[min(data[0]%5/2, 2)]},
		}
		for i := range int(data[0] / 5 % 4) {
			kind := []providers.BlockKind{
				providers.BlockText, providers.BlockToolCall, providers.BlockToolResult, providers.BlockThinking, providers.BlockImage, "other",
			}[int(data[1])>>(2*i)%6]
			m.Blocks = append(m.Blocks, providers.Block{
				Kind: kind, Text: []string{"", " ", "words"}[(int(data[1])+i)%3], Call: []string{"", "A", "B", "C"}[int(data[1])>>i%4],
				Input: []byte([]string{"{}", "[]", `{"a":1}`}[i%3]),
			})
		}
		all = append(all, m)
	}
	return all
}
