package adminview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/everdesk/everdesk/wire"
)

func manyRows(n int) []Row {
	const owner wire.ReplicaID = "a"
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{
			SessionID: wire.SessionID(fmt.Sprintf("ses-%s-%06d", owner, i)), User: fmt.Sprintf("user-%d@example.org", i%500),
			Title: fmt.Sprintf("The desk of number %d", i), Status: Idle, Owner: owner, Epoch: 1_700_000_000_000 + uint64(i),
			Top: wire.Position{Epoch: 1_700_000_000_000 + uint64(i), Seq: uint64(i)}, Tabs: i % 3, Monitors: 1, Windows: i % 7,
			UpdatedAt: wire.Millis(1_700_000_000_000 + int64(i)),
		}
	}
	return rows
}

func directoryOf(rows []Row) map[wire.SessionID]entry {
	by := make(map[wire.SessionID]entry, len(rows))
	for _, r := range rows {
		by[r.SessionID] = entry{row: r, held: true}
	}
	return by
}

func FuzzDecode(f *testing.F) {
	var docs codec
	f.Add(docs.encode(&head{Format: format, Process: "p", Chunks: []uint64{1}}))
	f.Add(docs.chunk(chunk{Format: format, Process: "p", Of: 1, Number: 1, Rows: manyRows(2)}))
	f.Add(docs.encode(&history{Format: format, Process: "p", Number: 5, Points: []Point{{Time: 1, Events: 2}, {Time: 5}}}))
	f.Add(docs.part(part{Format: format, Process: "p"}))
	f.Add([]byte(`{"v":1,"lookers":{"a":{"beat":"1","sessions":["ses-1"]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := decode[head](data); err == nil && (len(h.Chunks) > maxChunks || len(h.Parts) > maxParts) {
			t.Errorf("decoded head: got %d chunks and %d parts, want at most %d and %d", len(h.Chunks), len(h.Parts), maxChunks, maxParts)
		}
		if c, err := decode[chunk](data); err == nil {
			for _, r := range c.Rows {
				if r.SessionID.Validate() != nil {
					t.Errorf("decoded row: got session %q, want a valid id", r.SessionID)
				}
			}
		}
		_, _ = decode[part](data)
		if h, err := decode[history](data); err == nil {
			all := mergeHistories([][]Point{h.Points, h.Points}, 1_700_000_000_000).Points
			if len(h.Points) > keptSlots || !slices.IsSortedFunc(all, func(a, b Point) int { return cmp.Compare(a.Time, b.Time) }) {
				t.Errorf("decoded history: got %d points, merged to %v, want at most %d, sorted by time", len(h.Points), all, keptSlots)
			}
		}
		if i, err := readInterests(data); err == nil && len(i.Lookers) > maxInterestedReplicas {
			t.Errorf("decoded lookers: got %d, want at most %d", len(i.Lookers), maxInterestedReplicas)
		}
	})
}

func TestDecompressionIsBounded(t *testing.T) {
	t.Parallel()
	var docs codec
	if _, err := decode[chunk](docs.encode(strings.Repeat(" ", plainBytes+10))); err == nil {
		t.Error("document that is too large: got no error, want one")
	}
}

func TestDocumentsStaySmall(t *testing.T) {
	t.Parallel()
	var docs codec
	// Incompressible titles and users of the maximum length.
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) string {
		text := make([]rune, n)
		for i := range text {
			text[i] = 0x4e00 + rune(r.IntN(20_000))
		}
		return string(text)
	}
	rows := manyRows(2_000)
	for i := range rows {
		rows[i].Title, rows[i].User = noise(200), noise(85)
	}
	n := countChunks(len(rows), 0)
	for i, c := range split(rows, n) {
		if size := len(docs.chunk(chunk{Format: format, Process: "p", Of: n, Number: 1, Rows: c})); size > documentBytes {
			t.Fatalf("size of chunk %d: got %d bytes, want at most %d", i, size, documentBytes)
		}
	}
	d := Detail{Monitors: []Monitor{{ID: "monitor-0"}}}
	for range 3000 {
		d.Monitors[0].Queue = append(d.Monitors[0].Queue, Queued{Text: noise(160)})
		d.Windows = append(d.Windows, Window{Title: noise(200)})
		d.Tabs = append(d.Tabs, Tab{User: noise(80)})
	}
	if size := len(docs.part(part{Format: format, Process: "p", Detail: d})); size > documentBytes {
		t.Errorf("size of a part: got %d bytes, want at most %d", size, documentBytes)
	}
}

func TestAChangedRowChangesOneChunk(t *testing.T) {
	t.Parallel()
	rows := manyRows(2000)
	n := countChunks(len(rows), 0)
	before := split(rows, n)
	rows[77].Tabs++
	changed := 0
	for i, c := range split(rows, n) {
		a, _ := json.Marshal(before[i])
		b, _ := json.Marshal(c)
		if string(a) != string(b) {
			changed++
		}
	}
	if changed != 1 || n < 2 {
		t.Errorf("changed chunks: got %d of %d, want 1 of at least 2", changed, n)
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(10_000_000)
	fresh, old := wire.Millis(now.UnixMilli()-1000), wire.Millis(now.UnixMilli()-61_000)
	by := map[wire.SessionID]entry{
		"set-aside": {row: Row{SessionID: "set-aside", Reason: "unreadable", Owner: "a"}, working: true},
		"orphan":    {row: Row{SessionID: "orphan", Owner: "dead"}, working: true, held: true},
		"left":      {row: Row{SessionID: "left"}, working: true},
		"dormant":   {row: Row{SessionID: "dormant"}},
		"of-dead":   {row: Row{SessionID: "of-dead", Owner: "dead"}, held: true},
		"claimed":   {row: Row{SessionID: "claimed", Owner: "a", Epoch: 9}, held: true, working: true},
	}
	reported := map[wire.SessionID]*Row{}
	collect(reported, []Row{
		{SessionID: "stuck", Status: Stuck, UpdatedAt: old},
		{SessionID: "waiting", Status: Waiting, UpdatedAt: old},
		{SessionID: "stalled", Status: Stalled, UpdatedAt: fresh},
		{SessionID: "working", Status: Working, UpdatedAt: fresh},
		{SessionID: "idle", Status: Idle, UpdatedAt: old},
		{SessionID: "claimed", Status: Idle, Owner: "b", Epoch: 8},
		{SessionID: "twice", Status: Idle, Owner: "b", Epoch: 8},
	}, []Row{{SessionID: "twice", Status: Working, Owner: "a", Epoch: 9, UpdatedAt: fresh}})
	got := map[wire.SessionID]Status{}
	rows := merge(by, reported, map[wire.ReplicaID]bool{"a": true, "b": true})
	for _, r := range rows {
		got[r.SessionID] = r.Status
	}
	want := map[wire.SessionID]Status{
		"set-aside": Quarantined, "orphan": Orphaned, "left": Orphaned, "dormant": Dormant, "of-dead": Dormant, "claimed": Working,
		"stuck": Stuck, "waiting": Waiting, "stalled": Stalled, "working": Working, "idle": Idle, "twice": Working,
	}
	for id, s := range want {
		if got[id] != s {
			t.Errorf("status of %s: got %q, want %q", id, got[id], s)
		}
	}
	o := overviewOf(rows, 0, nil, now)
	kinds := map[string]int{}
	for _, a := range o.Alerts {
		kinds[a.Kind] = a.Count
	}
	if o.Totals.Sessions != len(want) || kinds["stuck"] != 1 || kinds["orphaned"] != 2 || kinds["stalled"] != 1 || kinds["quarantined"] != 1 || kinds["overdue"] != 1 {
		t.Errorf("overview: got %+v, want %d sessions, 2 orphaned and one each stuck, stalled, quarantined and overdue", o, len(want))
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	before, after := manyRows(100), manyRows(100)
	after = append(after[:10:10], after[12:]...)
	after[50].Tabs = 99
	after = append(after, Row{SessionID: "zzz"})
	changed, gone := diff(before, after)
	if len(changed) != 2 || changed[0].Tabs != 99 || changed[1].SessionID != "zzz" || len(gone) != 2 {
		t.Errorf("diff: got changed rows %v and removed rows %v, want one with 99 tabs and zzz, and two removed", changed, gone)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	rows := manyRows(1000)
	for _, desc := range []bool{false, true} {
		for name := range sorts() {
			q := Query{Sort: name, Descending: desc, Limit: 77}
			seen := map[wire.SessionID]bool{}
			for {
				if err := q.check(); err != nil {
					t.Fatal(err)
				}
				p, err := q.page(rows)
				if err != nil || p.Total != len(rows) {
					t.Fatalf("page: got a total of %d, error %v, want %d", p.Total, err, len(rows))
				}
				for _, r := range p.Rows {
					if seen[r.SessionID] {
						t.Fatalf("pages sorted by %s: got %s twice, want it once", name, r.SessionID)
					}
					seen[r.SessionID] = true
				}
				if q.After = p.Next; q.After == "" {
					break
				}
			}
			if len(seen) != len(rows) {
				t.Errorf("pages sorted by %s: got %d sessions, want %d", name, len(seen), len(rows))
			}
		}
	}
	for _, bad := range []Query{{Sort: "mood"}, {Status: "sad"}, {After: "%"}, {After: "e30"}, {Limit: -1}} {
		if err := bad.check(); err == nil {
			t.Errorf("query %+v: got it accepted, want it refused", bad)
		}
	}
	q := Query{Text: "NUMBER 12", Titles: true, Sort: "user"}
	if p, _ := q.page(rows); p.Total != 11 {
		t.Errorf("sessions found by title: got %d, want 11", p.Total)
	}
	q.Titles = false
	if p, _ := q.page(rows); p.Total != 0 {
		t.Errorf("sessions found by title without access to titles: got %d, want 0", p.Total)
	}
}

// BenchmarkMerge measures a round with 10,000 sessions of which 5 % have changed, without the reads.
func BenchmarkMerge(b *testing.B) {
	rows := manyRows(10_000)
	by := directoryOf(rows)
	reported := map[wire.SessionID]*Row{}
	alive := map[wire.ReplicaID]bool{"a": true}
	now := time.UnixMilli(1_700_000_000_000)
	var before []Row
	b.ReportAllocs()
	for b.Loop() {
		for i := 0; i < len(rows); i += 20 {
			rows[i].Top.Seq++
		}
		collect(reported, rows)
		merged := merge(by, reported, alive)
		overviewOf(merged, 0, nil, now)
		diff(before, merged)
		before = merged
	}
}

// BenchmarkReport measures encoding the rows of 10,000 sessions.
func BenchmarkReport(b *testing.B) {
	rows := manyRows(10_000)
	n := countChunks(len(rows), 0)
	size := 0
	var docs codec
	b.ReportAllocs()
	for b.Loop() {
		size = 0
		for _, c := range split(rows, n) {
			size += len(docs.chunk(chunk{Format: format, Process: "p", Of: n, Number: 1, Rows: c}))
		}
	}
	b.ReportMetric(float64(size), "bytes")
	b.ReportMetric(float64(n), "documents")
}
