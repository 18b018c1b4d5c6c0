package audit_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/internal/redistest"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
)

// engine is a store that can be tampered with.
type engine interface {
	audit.Store
	Remove(ctx context.Context, collection, name string, version uint64) error
}

func openFile(tb testing.TB) engine {
	tb.Helper()
	s, err := filestore.Open(tb.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s.Documents
}

func openRedis(t *testing.T, server *redistest.Server) engine {
	t.Helper()
	s, err := redisstore.Open(t.Context(), server.Client(t), redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Documents
}

// stores runs a test on both engines.
func stores(t *testing.T, do func(t *testing.T, docs engine)) {
	t.Helper()
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		do(t, openFile(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		do(t, openRedis(t, redistest.Standalone(t)))
	})
}

func open(docs audit.Store) *audit.Log { return audit.New(docs, slog.New(slog.DiscardHandler)) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func record(id string, after time.Duration) audit.Record {
	return audit.Record{
		ID: id, Time: noon.Add(after), Who: "root", Action: "session.reset", Target: "ses-1", Reason: "it hangs",
		Replica: "r-1", Address: "192.0.2.1",
	}
}

func outcome(r audit.Result, detail string) audit.Outcome {
	return audit.Outcome{Result: r, Detail: detail, Time: noon.Add(time.Hour), Replica: "r-2"}
}

func all(tb testing.TB, b *audit.Log, q audit.Query) []audit.Record {
	tb.Helper()
	var found []audit.Record
	q.Limit = 2
	for {
		page, err := b.List(context.Background(), q)
		if err != nil {
			tb.Fatal(err)
		}
		found = append(found, page.Items...)
		if q.After = page.Next; q.After == "" {
			return found
		}
	}
}

// chainOf returns the records as text, oldest first.
func chainOf(found []audit.Record) string {
	var parts []string
	for _, r := range found {
		parts = append([]string{r.ID + " " + string(r.Result)}, parts...)
	}
	return strings.Join(parts, ", ")
}

// whole fails the test unless the chain is intact.
func whole(tb testing.TB, b *audit.Log, records int) {
	tb.Helper()
	v, err := b.Verify(context.Background())
	if err != nil || v.Broken != nil || v.Records != records || records > 0 && v.Head.Seq != uint64(records) {
		tb.Fatalf("verdict %+v (%+v) %v, want %d records", v, v.Broken, err, records)
	}
}

func TestNewestFirstAndOnce(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, docs engine) {
		t.Helper()
		b := open(docs)
		whole(t, b, 0)
		for i := range 5 {
			got, done, err := b.Begin(t.Context(), record(fmt.Sprint("a-", i), time.Duration(i)*time.Millisecond))
			if err != nil || done || got.ID != fmt.Sprint("a-", i) || got.Result != audit.Begun || got.Seq != uint64(i+1) {
				t.Fatalf("Begin of action %d: got %+v, done %v, error %v, want it begun with seq %d", i, got, done, err, i+1)
			}
		}
		// Another replica gets the same records later.
		again := record("a-2", time.Hour)
		again.Replica = "r-2"
		got, done, err := b.Begin(t.Context(), again)
		if err != nil || done || !got.Time.Equal(noon.Add(2*time.Millisecond)) || got.Replica != "r-1" {
			t.Errorf("Begin again: got %+v, done %v, error %v, want the first record of r-1, not done", got, done, err)
		}
		for _, o := range []audit.Outcome{
			outcome(audit.Failed, "x"), outcome(audit.Failed, "x"), outcome(audit.Failed, "y"), outcome(audit.Done, "z"),
			outcome(audit.Done, "w"), outcome(audit.Failed, "x"),
		} {
			if _, err := b.End(t.Context(), "a-2", o); err != nil {
				t.Error(err)
			}
		}
		if got, done, err := b.Begin(t.Context(), again); err != nil || !done || got.Result != audit.Done || got.Detail != "z" || got.Replica != "r-2" {
			t.Errorf("Begin of an action that is done: got %+v, done %v, error %v, want the result of r-2 with detail z", got, done, err)
		}
		if got, done, err := b.Find(t.Context(), again); err != nil || !done || got.Detail != "z" {
			t.Errorf("Find of an action that is done: got %+v, done %v, error %v, want detail z and done", got, done, err)
		}
		other := again
		other.Target = "ses-2"
		if _, _, err := b.Begin(t.Context(), other); !errors.Is(err, audit.ErrReused) {
			t.Errorf("another action under the same id: got error %v, want %v", err, audit.ErrReused)
		}
		if _, err := b.End(t.Context(), "unknown", outcome(audit.Done, "")); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the end of an action without a start: got error %v, want %v", err, store.ErrNotFound)
		}
		found := all(t, b, audit.Query{})
		const want = "a-0 begun, a-1 begun, a-2 begun, a-3 begun, a-4 begun, a-2 failed, a-2 failed, a-2 done"
		if got := chainOf(found); got != want {
			t.Fatalf("records: %s, want %s", got, want)
		}
		first := found[len(found)-1]
		if first.Prev != "" || found[len(found)-2].Prev != first.Hash {
			t.Errorf("start of the chain: got %+v, then prev %q, want no prev, then the first hash", first, found[len(found)-2].Prev)
		}
		first.Seq, first.Hash, first.Result = 0, "", ""
		if first != record("a-0", 0) {
			t.Errorf("stored record: got %+v, want %+v", first, record("a-0", 0))
		}
		whole(t, b, 8)
		whole(t, open(docs), 8)
	})
}

func TestFilters(t *testing.T) {
	t.Parallel()
	b := open(openFile(t))
	for i, target := range []string{"ses-1", "ses-1/agent", "ses-12", "one"} {
		r := record(fmt.Sprint("a-", i), 0)
		r.Target, r.Who, r.Action = target, fmt.Sprint("root-", i%2), fmt.Sprint("do-", i/2)
		if _, _, err := b.Begin(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for want, q := range map[string]audit.Query{
		"a-0 begun, a-1 begun": {Target: "ses-1"},
		"a-1 begun":            {Target: "ses-1/agent"},
		"a-1 begun, a-3 begun": {Who: "root-1"},
		"a-2 begun, a-3 begun": {Action: "do-1"},
		"a-2 begun":            {Action: "do-1", Who: "root-0"},
		"":                     {Who: "unknown"},
		"a-0 begun, a-1 begun, a-2 begun, a-3 begun": {},
	} {
		if got := chainOf(all(t, b, q)); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
}

// Concurrent requests for the same action make one record with one end.
func TestOneRecordOfMany(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, docs engine) {
		t.Helper()
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				b := open(docs)
				if _, _, err := b.Begin(t.Context(), record("same", time.Duration(i)*time.Second)); err != nil {
					t.Error(err)
				}
				if _, err := b.End(t.Context(), "same", outcome(audit.Done, strconv.Itoa(i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := chainOf(all(t, open(docs), audit.Query{})); got != "same begun, same done" {
			t.Errorf("chain of many writers: got %q, want %q", got, "same begun, same done")
		}
		whole(t, open(docs), 2)
	})
}

// Replicas that write concurrently make one chain without forks or gaps.
func TestManyReplicas(t *testing.T) {
	t.Parallel()
	const replicas, actions = 4, 12
	server := redistest.Standalone(t)
	var wg sync.WaitGroup
	books := make([]*audit.Log, replicas)
	for r := range replicas {
		books[r] = open(openRedis(t, server))
		for a := range actions {
			wg.Go(func() {
				id := fmt.Sprintf("%d-%d", r, a)
				if _, _, err := books[r].Begin(t.Context(), record(id, 0)); err != nil {
					t.Error(err)
				}
				if _, err := books[r].End(t.Context(), id, outcome(audit.Done, "")); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	for _, b := range books {
		whole(t, b, 2*replicas*actions)
	}
	count := map[string]int{}
	began := map[string]uint64{}
	for _, r := range all(t, books[0], audit.Query{}) {
		count[r.ID+string(r.Result)]++
		if r.Result == audit.Done {
			began[r.ID] = r.Seq
		} else if r.Seq > began[r.ID] {
			t.Errorf("%s: got begun at %d and ended at %d, want the end later", r.ID, r.Seq, began[r.ID])
		}
	}
	if len(count) != 2*replicas*actions {
		t.Errorf("%d different records, want %d: %v", len(count), 2*replicas*actions, count)
	}
}

// torn is a store that loses one write, or the answer to one.
type torn struct {
	audit.Store
	puts, at int
	arrives  bool
}

func (s *torn) Put(ctx context.Context, d store.Document) (version uint64, err error) {
	if s.puts++; s.puts != s.at {
		return s.Store.Put(ctx, d)
	}
	if s.arrives {
		_, err = s.Store.Put(ctx, d)
	}
	return 0, errors.Join(store.ErrUnavailable, err)
}

// A process may crash at any point; the next one completes the same records.
func TestPartiallyWrittenRecord(t *testing.T) {
	t.Parallel()
	do := func(b *audit.Log) error {
		if _, done, err := b.Begin(context.Background(), record("x", 0)); err != nil || done {
			return err
		}
		if _, err := b.End(context.Background(), "x", outcome(audit.Failed, "no")); err != nil {
			return err
		}
		_, err := b.End(context.Background(), "x", outcome(audit.Done, ""))
		return err
	}
	failed := 0
	for at := 1; at <= 10; at++ {
		for _, arrives := range []bool{false, true} {
			docs := openFile(t)
			if err := do(open(&torn{Store: docs, at: at, arrives: arrives})); err != nil {
				if failed++; !errors.Is(err, store.ErrUnavailable) {
					t.Fatalf("write %d: got error %v, want %v", at, err, store.ErrUnavailable)
				}
			}
			b := open(docs)
			if err := do(b); err != nil {
				t.Fatalf("write %d, again: %v", at, err)
			}
			if got := chainOf(all(t, b, audit.Query{})); got != "x begun, x failed, x done" {
				t.Errorf("chain after write %d (it arrives: %v): got %q, want %q", at, arrives, got, "x begun, x failed, x done")
			}
			whole(t, b, 3)
		}
	}
	if failed < 16 {
		t.Errorf("%d writes failed, want those of all three records", failed)
	}
}

// An action whose process crashed between start and end has a start record only.
func TestCrashBetweenWrites(t *testing.T) {
	t.Parallel()
	docs := openFile(t)
	if _, _, err := open(docs).Begin(t.Context(), record("x", 0)); err != nil {
		t.Fatal(err)
	}
	b := open(docs) // in another life
	if got, done, err := b.Find(t.Context(), record("x", time.Hour)); err != nil || done || got.Result != audit.Begun {
		t.Errorf("Find after the crash: got %+v, done %v, error %v, want it begun, not done", got, done, err)
	}
	if got := chainOf(all(t, b, audit.Query{})); got != "x begun" {
		t.Errorf("chain after the crash: got %q, want %q", got, "x begun")
	}
	whole(t, b, 1)
}

func TestRefusedRecords(t *testing.T) {
	t.Parallel()
	b := open(openFile(t))
	for name, spoil := range map[string]func(*audit.Record){
		"no id":       func(r *audit.Record) { r.ID = "" },
		"long id":     func(r *audit.Record) { r.ID = strings.Repeat("x", 65) },
		"odd id":      func(r *audit.Record) { r.ID = "a\nb" },
		"no user":     func(r *audit.Record) { r.Who = "" },
		"nothing":     func(r *audit.Record) { r.Action = "" },
		"no time":     func(r *audit.Record) { r.Time = time.Time{} },
		"odd time":    func(r *audit.Record) { r.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"no reason":   func(r *audit.Record) { r.Reason = " \t" },
		"long reason": func(r *audit.Record) { r.Reason = strings.Repeat("é", audit.MaxReason+1) },
		"no text":     func(r *audit.Record) { r.Reason = "\xff" },
	} {
		r := record("x", 0)
		spoil(&r)
		if _, _, err := b.Begin(t.Context(), r); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("%s: got error %v, want %v", name, err, audit.ErrInvalid)
		}
	}
	whole(t, b, 0)
}

// Every record is logged with its hash.
func TestHashesAreLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	b := audit.New(openFile(t), slog.New(slog.NewTextHandler(&log, nil)))
	if _, _, err := b.Begin(t.Context(), record("x", 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.End(t.Context(), "x", outcome(audit.Done, "")); err != nil {
		t.Fatal(err)
	}
	for _, r := range all(t, b, audit.Query{}) {
		if want := fmt.Sprintf("seq=%d hash=%s", r.Seq, r.Hash); !strings.Contains(log.String(), want) {
			t.Errorf("log: got %s, want it to contain %q", log.String(), want)
		}
	}
}
