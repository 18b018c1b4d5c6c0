package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/history"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// fileStore is the content of one store list.
type fileStore [][]byte

func (s *fileStore) apply(ops []store.Op) {
	for _, op := range ops {
		switch op.Kind {
		case store.OpPush:
			*s = append(*s, op.Values...)
		case store.OpReplace:
			if i := len(*s) + op.N; i >= 0 && i < len(*s) {
				(*s)[i] = op.Values[0]
			}
		case store.OpKeepFirst:
			*s = (*s)[:min(op.N, len(*s))]
		case store.OpKeepLast:
			*s = slices.Clone((*s)[max(len(*s)-op.N, 0):])
		case store.OpDrop:
			*s = nil
		}
	}
}

func (s fileStore) bytes() (n int) {
	for _, item := range s {
		n += len(item)
	}
	return n
}

func (s fileStore) rows(tb testing.TB) []wire.UIRow {
	tb.Helper()
	out := make([]wire.UIRow, len(s))
	for i, item := range s {
		var err error
		if out[i], err = history.DecodeRow(item); err != nil {
			tb.Fatal(err)
		}
	}
	return out
}

func textRow(id wire.RowID, text string) wire.UIRow {
	return wire.UIRow{ID: id, TS: 1000 + wire.Millis(id), Type: wire.RowSay, Say: wire.SayText, Text: text, MonitorID: "monitor-0"}
}

// After any operations the list holds the rows of the conversation, the counts match the
// list, and they survive encoding.
func TestArchiveEqualsConversation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var list fileStore
		var want []wire.UIRow
		id := wire.RowID(0)
		a, ops := history.NewArchive("monitor-0", nil)
		list.apply(ops)
		text := func() string { return strings.Repeat("é", rapid.IntRange(0, 30).Draw(t, "text")) }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"add", "add", "change", "rewind", "keep"}).Draw(t, "do") {
			case "add":
				for range rapid.IntRange(1, 5).Draw(t, "rows") {
					id++
					want = append(want, textRow(id, text()))
					list.apply(a.Add(want[len(want)-1]))
				}
			case "change":
				if len(want) > 0 {
					i := rapid.IntRange(0, len(want)-1).Draw(t, "row")
					is := want[i]
					is.Text = text()
					list.apply(a.Change(len(want)-1-i, want[i], is))
					want[i] = is
				}
			case "rewind":
				i := rapid.IntRange(0, len(want)).Draw(t, "to")
				stay := slices.Clone(want[i:])[:rapid.IntRange(0, len(want)-i).Draw(t, "stay")]
				list.apply(a.Rewind(want[i:], stay))
				want = slices.Concat(want[:i], stay)
			case "keep":
				kept, err := history.RestoreArchives(map[string][]byte{"monitor-0": a.SaveOp().Values[0]})
				if err != nil || a.Changed() {
					t.Fatalf("restored archives: error %v, changed %v, want none and false", err, a.Changed())
				}
				a = kept["monitor-0"]
			}
			if a.Len() != len(want) || a.Bytes() != list.bytes() || fmt.Sprint(rowsOf(t, list)) != fmt.Sprint(want) {
				t.Fatalf("the archive has %d rows of %d bytes, the list %d bytes, want the same; rows are\n%v\nwant\n%v", a.Len(), a.Bytes(), list.bytes(), rowsOf(t, list), want)
			}
		}
	})
}

func rowsOf(t *rapid.T, s fileStore) []wire.UIRow {
	out := make([]wire.UIRow, len(s))
	for i, item := range s {
		var err error
		if out[i], err = history.DecodeRow(item); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// An archive keeps the newest rows, and adding a row costs the same in a large one.
func TestArchiveIsBounded(t *testing.T) {
	t.Parallel()
	var list fileStore
	a, ops := history.NewArchive("monitor-0", nil)
	list.apply(ops)
	values := 0
	for id := wire.RowID(1); id <= 12_000; id++ {
		ops := a.Add(textRow(id, "x"))
		for _, op := range ops {
			values += len(op.Values)
		}
		list.apply(ops)
		if n := len(list); n != a.Len() || n > history.MaxArchived+500 || id >= history.MaxArchived && n < history.MaxArchived {
			t.Fatalf("after %d rows there are %d, known are %d, want the same, from %d to %d", id, n, a.Len(), history.MaxArchived, history.MaxArchived+500)
		}
		if n := len(a.SaveOp().Values[0]); n > 2048 {
			t.Fatalf("the index of %d rows has %d bytes, want fewer", id, n)
		}
	}
	if values != 12_000 {
		t.Errorf("12,000 rows were written as %d, want each once", values)
	}
	if rows := list.rows(t); rows[len(rows)-1].ID != 12_000 {
		t.Errorf("the newest row is %d, want 12000", rows[len(rows)-1].ID)
	}
	large := strings.Repeat("y", 100_000)
	for id := wire.RowID(12_001); id <= 12_200; id++ {
		list.apply(a.Add(textRow(id, large)))
		if list.bytes() > history.MaxArchivedBytes+1<<20 || list.bytes() != a.Bytes() {
			t.Fatalf("the archive has %d bytes, known are %d, want the same, at most %d", list.bytes(), a.Bytes(), history.MaxArchivedBytes+1<<20)
		}
	}
	// A single row over the byte limit stays.
	list.apply(a.Add(textRow(13_000, strings.Repeat("z", history.MaxArchivedBytes))))
	if rows := list.rows(t); rows[len(rows)-1].ID != 13_000 || len(rows) > 10 {
		t.Errorf("%d rows are left, the newest is %d, want at most 10 and 13000", len(rows), rows[len(rows)-1].ID)
	}
}

// The store lost writes: rows before the newest are a correct prefix, and the newest rows
// are written again.
func TestArchiveRepairsLostWrites(t *testing.T) {
	t.Parallel()
	build := func() (*history.Archive, fileStore, []wire.UIRow) {
		var all []wire.UIRow
		for id := wire.RowID(1); id <= 20; id++ {
			all = append(all, textRow(id, fmt.Sprint("row ", id)))
		}
		a, ops := history.NewArchive("monitor-0", all)
		var list fileStore
		list.apply(ops)
		return a, list, all
	}
	for name, c := range map[string]struct {
		lost     func(*fileStore)
		from, to int
		want     int
	}{
		"nothing was lost":      {func(*fileStore) {}, 0, 15, 20},
		"the end was lost":      {func(s *fileStore) { *s = (*s)[:17] }, 0, 15, 20},
		"more than we have":     {func(s *fileStore) { *s = (*s)[:10] }, 0, 10, 15},
		"everything was lost":   {func(s *fileStore) { *s = nil }, 0, 0, 5},
		"a trim was forgotten":  {func(s *fileStore) { *s = append(fileStore{(*s)[0]}, *s...) }, 1, 16, 20},
		"a rewind is forgotten": {func(s *fileStore) { *s = append((*s)[:15:15], (*s)...) }, 0, 15, 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, list, all := build()
			c.lost(&list)
			list.apply(a.Repair(c.from, c.to, all[15:]))
			got := list.rows(t)
			if len(got) != c.want || a.Len() != c.want {
				t.Fatalf("there are %d rows, known are %d, want %d", len(got), a.Len(), c.want)
			}
			if fmt.Sprint(got[len(got)-5:]) != fmt.Sprint(all[15:]) || got[0].ID != all[0].ID && c.want == 20 {
				t.Errorf("the rows are %v, want them to end with %v", got, all[15:])
			}
		})
	}
}

func TestArchiveRefusesInvalidData(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "{}", `[{"rows":0}]`, `[{"rows":1,"bytes":-1}]`, "[1]"} {
		if _, err := history.RestoreArchives(map[string][]byte{"monitor-0": []byte(data)}); err == nil {
			t.Errorf("%q is accepted, want an error", data)
		}
	}
	for _, item := range []string{"", "null", "[]", `{"ts":"x"}`} {
		if _, err := history.DecodeRow([]byte(item)); err == nil {
			t.Errorf("the row %q is accepted, want an error", item)
		}
	}
}
