package desktop_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/desktop"
	"github.com/everdesk/everdesk/wire"
)

// quoted returns a text as JSON.
func quoted(text string) json.RawMessage {
	return wire.FormatOf[string]().Append(nil, &text)
}

func appendTo(id wire.WindowID, text string) wire.WindowUpdateContent {
	return wire.WindowUpdateContent{WindowID: id, Operation: wire.UpdateAppend{Data: quoted(text)}}
}

// textModel is the contents of windows as whole texts.
type textModel map[wire.WindowID]wire.Content

// act applies an action.
func (m textModel) act(a wire.Action) {
	switch a := a.(type) {
	case wire.WindowCreate:
		m[a.WindowID] = a.Content
	case wire.WindowClose:
		delete(m, a.WindowID)
	case wire.WindowSetContent:
		if m[a.WindowID] != nil {
			m[a.WindowID] = a.Content
		}
	case wire.WindowUpdateContent:
		if m[a.WindowID] != nil {
			m.update(a)
		}
	}
}

func (m textModel) update(a wire.WindowUpdateContent) {
	before := dataOf(m[a.WindowID])
	var data string
	after := before
	switch op := a.Operation.(type) {
	case wire.UpdateAppend:
		_ = json.Unmarshal(op.Data, &data)
		after = before + data
	case wire.UpdatePrepend:
		_ = json.Unmarshal(op.Data, &data)
		after = data + before
	case wire.UpdateInsertAt:
		_ = json.Unmarshal(op.Data, &data)
		units := utf16.Encode([]rune(before))
		at := min(op.Position, len(units))
		if at > 0 && at < len(units) && utf16.IsSurrogate(rune(units[at])) && units[at] >= 0xdc00 {
			at--
		}
		after = string(utf16.Decode(units[:at])) + data + string(utf16.Decode(units[at:]))
	case wire.UpdateReplace:
		_ = json.Unmarshal(op.Data, &after)
	case wire.UpdateClear:
		after = ""
	}
	renderer := a.Renderer
	if renderer == "" {
		renderer = wire.RendererOf(m[a.WindowID])
	}
	m[a.WindowID] = contentOf(renderer, after)
}

func dataOf(c wire.Content) string {
	switch c := c.(type) {
	case wire.MarkdownContent:
		return c.Data
	case wire.HTMLContent:
		return c.Data
	case wire.TextContent:
		return c.Data
	}
	return ""
}

func contentOf(renderer, text string) wire.Content {
	switch renderer {
	case "markdown":
		return wire.MarkdownContent{Data: text}
	case "html":
		return wire.HTMLContent{Data: text}
	}
	return wire.TextContent{Data: text}
}

// drawText draws a text of up to 60 KB.
func drawText(t *rapid.T) string {
	n := rapid.SampledFrom([]int{0, 1, 2, 5, 16, 300, 1000, 4095, 4096, 15_000}).Draw(t, "size")
	return strings.Repeat(rapid.SampledFrom([]string{"x", "é", "한", "𝛀", "a\n\"b", "\u2028<"}).Draw(t, "sign"), n)
}

// drawTextAction draws an action on the text of one of two windows; most append.
func drawTextAction(t *rapid.T) wire.Action {
	id := rapid.SampledFrom([]wire.WindowID{"w", "w/0"}).Draw(t, "window")
	renderer := rapid.SampledFrom([]string{"text", "markdown", "html"})
	switch rapid.IntRange(0, 40).Draw(t, "what") {
	case 0:
		w := open(id)
		w.Content = contentOf(renderer.Draw(t, "renderer"), drawText(t))
		return w
	case 1:
		return wire.WindowSetContent{WindowID: id, Content: contentOf(renderer.Draw(t, "renderer"), drawText(t))}
	case 2:
		return wire.WindowUpdateContent{WindowID: id, Operation: wire.UpdatePrepend{Data: quoted(drawText(t))}}
	case 3:
		at := rapid.IntRange(0, 5000).Draw(t, "position")
		return wire.WindowUpdateContent{WindowID: id, Operation: wire.UpdateInsertAt{Position: at, Data: quoted(drawText(t))}}
	case 4:
		return wire.WindowUpdateContent{WindowID: id, Operation: wire.UpdateReplace{Data: quoted(drawText(t))}}
	case 5:
		a := appendTo(id, drawText(t))
		a.Renderer = renderer.Draw(t, "renderer")
		return a
	case 6:
		return wire.WindowUpdateContent{WindowID: id, Operation: wire.UpdateClear{}}
	case 7:
		return wire.WindowClose{WindowID: id}
	default:
		return appendTo(id, drawText(t))
	}
}

func (m textModel) check(t fatal, what string, s *desktop.State) {
	t.Helper()
	got := textModel{}
	for _, w := range s.Windows("monitor-0") {
		got[w.WindowID] = w.Content
	}
	if !maps.Equal(got, m) {
		for id, want := range m {
			g, w := dataOf(got[id]), dataOf(want)
			same := 0
			for same < min(len(g), len(w)) && g[same] == w[same] {
				same++
			}
			t.Fatalf("%s: window %s is %T of %d bytes, want %T of %d bytes; the first %d are equal", what, id, got[id], len(g), want, len(w), same)
		}
		t.Fatalf("%s: got %d windows, want %d", what, len(got), len(m))
	}
}

// The text of a window is the same whether it is kept whole or in pieces, in memory, in the
// store, in snapshots and after trials.
func TestTextInPiecesIsTheWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, stored, model := newScript(), storedTables{}, textModel{}
		act := func(a wire.Action) {
			s.act(a)
			model.act(a)
		}
		act(open("w"))
		type shot struct{ got, want string }
		var shots []shot
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			list := rapid.SliceOfN(rapid.Custom(drawTextAction), 1, 3).Draw(t, "actions")
			_ = s.CheckAll("monitor-0", list) // changes nothing
			model.check(t, "after a trial", s.State)
			for _, a := range list {
				act(a)
			}
			switch rapid.IntRange(0, 5).Draw(t, "then") {
			case 0:
				stored.commit(t, s.State)
			case 1:
				stored.commit(t, s.State)
				again, err := desktop.Restore("ses-1", s.At(), stored)
				if err != nil {
					t.Fatalf("restore: %v", err)
				}
				s.State = again
			case 2:
				for _, w := range s.Windows("monitor-0") {
					shots = append(shots, shot{dataOf(w.Content), strings.Clone(dataOf(w.Content))})
				}
			}
			model.check(t, "after actions", s.State)
		}
		stored.commit(t, s.State)
		stored.checkEqual(t, s.All())
		again, err := desktop.Restore("ses-1", s.At(), stored)
		if err != nil {
			t.Fatalf("restore: %v", err)
		}
		model.check(t, "restored", again)
		client := desktop.New("ses-1")
		client.Apply(overTheWire(t, greeting(s.State)))
		model.check(t, "client", client)
		for i, x := range shots {
			if x.got != x.want {
				t.Fatalf("the text of snapshot %d has changed", i)
			}
		}
		s.act(wire.WindowClose{WindowID: "w"}, wire.WindowClose{WindowID: "w/0"})
		stored.commit(t, s.State)
		if n := len(stored["pieces"]) + len(stored["contents"]); n != 0 {
			t.Fatalf("without windows %d fields are stored, want none", n)
		}
	})
}

// written returns the bytes of changes.
func written(changes []desktop.Change) (n int) {
	for _, c := range changes {
		n += len(c.Value)
	}
	return n
}

// An append writes as little to a large window as to a small one, in few fields, which
// programs that do not know them refuse.
func TestAppendWritesLittle(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1 << 10, 64 << 10, desktop.MaxContent - 64_000} {
		s, stored := newScript(), storedTables{}
		w := open("w")
		w.Content = text(strings.Repeat("x", size))
		s.act(w)
		stored.commit(t, s.State)
		total := 0
		for range 1000 {
			s.act(appendTo("w", strings.Repeat("y", 64)))
			changes := s.Changes()
			stored.write(changes)
			total += written(changes)
			for _, c := range changes {
				if want := map[string]uint8{"pieces": 2}[c.Table]; c.Value != nil && c.Schema != want {
					t.Fatalf("field %s of %s needs schema %d, want %d", c.Field, c.Table, c.Schema, want)
				}
			}
		}
		if mean := total / 1000; mean > 1200 {
			t.Errorf("an append of 64 bytes to %d writes %d bytes, want at most 1200", size, mean)
		}
		if n := len(stored["pieces"]); n == 0 || n > 32 {
			t.Errorf("64,000 bytes appended to %d are stored in %d pieces, want 1 to 32", size, n)
		}
	}
}

// However texts are appended, a session with as much text as fits has fewer pieces than a
// batch may have changes.
func TestPiecesAreFew(t *testing.T) {
	t.Parallel()
	for _, step := range []int{10, 1025, 2000, 8 << 10, 15<<10 - 1, 15 << 10, 60 << 10} {
		s := newScript()
		w := open("w")
		w.Content = text(strings.Repeat("x", 5000))
		s.act(w)
		for n := 5000; n+step <= desktop.MaxContent/4; n += step {
			s.act(appendTo("w", strings.Repeat("y", step)))
		}
		if n, most := len(s.Changes()), 2+16+desktop.MaxContent/4/(15<<10); n > most {
			t.Errorf("with appends of %d bytes: got %d fields, want at most %d", step, n, most)
		}
	}
}

func TestAppendRespectsTheLimits(t *testing.T) {
	t.Parallel()
	s := newScript()
	w := open("w")
	w.Content = text(strings.Repeat("x", desktop.MaxContent-2000))
	s.act(w)
	s.Changes()
	for range 2 {
		s.act(appendTo("w", strings.Repeat("é", 450)))
	}
	fits, tooMuch := appendTo("w", strings.Repeat("x", 200)), appendTo("w", strings.Repeat("x", 201))
	if r := s.Check("monitor-0", fits); r != nil {
		t.Errorf("an append up to the limit: got %v, want none", r)
	}
	if r := s.Check("monitor-0", tooMuch); codeOf(r) != wire.CodeMessageTooLarge {
		t.Errorf("an append beyond the limit: got %v, want %v", r, wire.CodeMessageTooLarge)
	}
	if r := s.CheckAll("monitor-0", []wire.Action{fits, appendTo("w", "")}); r != nil {
		t.Errorf("appends up to the limit: got %v, want none", r)
	}
	if r := s.CheckAll("monitor-0", []wire.Action{fits, appendTo("w", "x")}); codeOf(r) != wire.CodeMessageTooLarge {
		t.Errorf("appends beyond the limit: got %v, want %v", r, wire.CodeMessageTooLarge)
	}
	if r := s.CheckAll("monitor-0", []wire.Action{fits, wire.WindowClose{WindowID: "w"}, open("w"), tooMuch}); r != nil {
		t.Errorf("an append to a new window: got %v, want none", r)
	}
}

// All windows together have a limit, of which pieces are a part.
func TestPiecesCountForTheDesktop(t *testing.T) {
	t.Parallel()
	s := newScript()
	half := strings.Repeat("x", desktop.MaxContent/2-1000)
	var refused *desktop.Refusal
	windows := 0
	for ; refused == nil; windows++ {
		id := wire.WindowID(fmt.Sprint("w", windows))
		w := open(id)
		w.Content = text(half)
		for _, a := range []wire.Action{w, appendTo(id, half)} {
			if refused = s.Check("monitor-0", a); refused != nil {
				break
			}
			s.act(a)
			s.Changes()
		}
	}
	if codeOf(refused) != wire.CodeSessionInvalidState || windows != 17 {
		t.Errorf("window %d: got %v, want %v at window 17", windows, refused, wire.CodeSessionInvalidState)
	}
	free := wire.WindowClose{WindowID: "w0"}
	if r := s.CheckAll("monitor-0", []wire.Action{free, appendTo(wire.WindowID(fmt.Sprint("w", windows-1)), "x")}); windows == 17 && r != nil && !strings.Contains(r.Reason, "no window") {
		t.Errorf("after closing a window: got %v, want room", r)
	}
}

// Pieces that do not continue a text are dropped.
func TestRestoreDropsLoosePieces(t *testing.T) {
	t.Parallel()
	s, stored := newScript(), storedTables{}
	w := open("w")
	w.Content = text(strings.Repeat("x", 5000))
	s.act(w, appendTo("w", "first"))
	stored.commit(t, s.State)
	s.act(appendTo("w", strings.Repeat("y", 2000)), appendTo("w", "last"))
	stored.commit(t, s.State)
	fields := slices.Sorted(maps.Keys(stored["pieces"]))
	if want := []string{"monitor-0/w/5000", "monitor-0/w/6024", "monitor-0/w/7005"}; !slices.Equal(fields[:1], want[:1]) || len(fields) < 2 {
		t.Fatalf("got pieces %v, want some like %v", fields, want)
	}
	delete(stored["pieces"], fields[1])
	stored["pieces"]["monitor-0/none/0"] = []byte(`{"monitorId":"monitor-0","windowId":"none","at":0,"text":"x"}`)
	stored["pieces"]["monitor-0/w/-7"] = []byte(`{"monitorId":"monitor-0","windowId":"w","at":-7,"text":"x"}`)
	again, err := desktop.Restore("ses-1", s.At(), stored)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := again.Window("monitor-0", "w")
	if want := strings.Repeat("x", 5000) + "first"; !strings.HasPrefix(dataOf(got.Content), want) || len(dataOf(got.Content)) > 6100 {
		t.Errorf("got %d bytes of text, want it to end where a piece is missing", len(dataOf(got.Content)))
	}
	stored.write(again.Changes())
	if n := len(stored["pieces"]); n != 1 {
		t.Errorf("%d pieces are stored, want 1", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, desktop.MaxContent - 64<<10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			more := actions(appendTo("w", strings.Repeat("y", 64)))
			w := open("w")
			w.Content = text(strings.Repeat("x", size))
			s := newScript()
			bytes, n := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if n%1000 == 0 {
					b.StopTimer()
					s.act(w)
					s.Changes()
					b.StartTimer()
				}
				n++
				if s.Check("monitor-0", more.Actions[0]) != nil {
					b.Fatal("the append is refused")
				}
				s.emit(more)
				bytes += written(s.Changes())
			}
			b.ReportMetric(float64(bytes)/float64(n), "written-B/op")
		})
	}
}
