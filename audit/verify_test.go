package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/audit"
	"github.com/everdesk/everdesk/store"
)

const chain = "audit-chain"

// tamperer changes records in the store without using a log.
type tamperer struct {
	tb   testing.TB
	docs engine
}

func place(seq uint64) string { return fmt.Sprintf("%016x", math.MaxInt64-seq) }

func (f tamperer) get(seq uint64) store.Document {
	f.tb.Helper()
	d, err := f.docs.Get(context.Background(), chain, place(seq))
	if err != nil {
		f.tb.Fatal(err)
	}
	return d
}

func (f tamperer) put(d store.Document) {
	f.tb.Helper()
	if _, err := f.docs.Put(context.Background(), d); err != nil {
		f.tb.Fatal(err)
	}
}

func (f tamperer) remove(seq uint64) {
	f.tb.Helper()
	if err := f.docs.Remove(context.Background(), chain, place(seq), f.get(seq).Version); err != nil {
		f.tb.Fatal(err)
	}
}

func (f tamperer) change(seq uint64, to func([]byte) []byte) {
	f.tb.Helper()
	d := f.get(seq)
	d.Data = to(d.Data)
	f.put(d)
}

// field changes one value of a record.
func (f tamperer) field(seq uint64, name string, value any) {
	f.tb.Helper()
	f.change(seq, func(data []byte) []byte {
		var r map[string]any
		if err := json.Unmarshal(data, &r); err != nil {
			f.tb.Fatal(err)
		}
		r[name] = value
		out, err := json.Marshal(r)
		if err != nil {
			f.tb.Fatal(err)
		}
		return out
	})
}

// filled returns a log with a few records that another instance wrote.
func filled(tb testing.TB, docs engine, n int) *audit.Log {
	tb.Helper()
	for i := range n {
		if _, _, err := open(docs).Begin(context.Background(), record(fmt.Sprint("a-", i+1), 0)); err != nil {
			tb.Fatal(err)
		}
	}
	b := open(docs)
	whole(tb, b, n)
	return b
}

func broken(tb testing.TB, b *audit.Log, seq uint64, why string) {
	tb.Helper()
	v, err := b.Verify(context.Background())
	if err != nil || v.Broken == nil || v.Broken.Seq != seq || !strings.Contains(v.Broken.Why, why) {
		tb.Errorf("verdict %+v (%+v) %v, want that %d is %s", v, v.Broken, err, seq, why)
	}
}

func TestTampering(t *testing.T) {
	t.Parallel()
	// sealed is a record with another reason and a valid hash.
	sealed := func(f tamperer, seq uint64, prev string) string {
		f.tb.Helper()
		apart := open(openFile(f.tb))
		r := record(fmt.Sprint("a-", seq), 0)
		r.Reason = "another"
		for i := range seq - 1 { // so that it gets the right place
			_, _, _ = apart.Begin(f.tb.Context(), record(fmt.Sprint("a-", i+1), 0))
		}
		got, _, err := apart.Begin(f.tb.Context(), r)
		if err != nil || got.Prev != prev {
			f.tb.Fatalf("sealed record %d: got %+v, error %v, want prev %q", seq, got, err, prev)
		}
		f.change(seq, func([]byte) []byte {
			data, _ := json.Marshal(got)
			return data
		})
		return got.Hash
	}
	for name, c := range map[string]struct {
		do  func(f tamperer)
		seq uint64
		why string
	}{
		"one is missing":      {func(f tamperer) { f.remove(3) }, 3, "missing"},
		"the first":           {func(f tamperer) { f.remove(1) }, 1, "missing"},
		"several are":         {func(f tamperer) { f.remove(2); f.remove(3); f.remove(5) }, 2, "missing"},
		"who":                 {func(f tamperer) { f.field(4, "who", "another user") }, 4, "altered"},
		"reason":              {func(f tamperer) { f.field(4, "reason", "it hung") }, 4, "altered"},
		"time":                {func(f tamperer) { f.field(4, "time", noon.Add(time.Second)) }, 4, "altered"},
		"result":              {func(f tamperer) { f.field(4, "result", "failed") }, 4, "altered"},
		"detail":              {func(f tamperer) { f.field(4, "detail", "x") }, 4, "altered"},
		"its place":           {func(f tamperer) { f.field(4, "seq", 5) }, 4, "altered"},
		"its hash":            {func(f tamperer) { f.field(4, "hash", strings.Repeat("0", 64)) }, 4, "altered"},
		"what is before":      {func(f tamperer) { f.field(4, "prev", strings.Repeat("0", 64)) }, 4, "altered"},
		"of the first":        {func(f tamperer) { f.field(1, "prev", strings.Repeat("0", 64)) }, 1, "altered"},
		"no JSON":             {func(f tamperer) { f.change(4, func([]byte) []byte { return []byte("{") }) }, 4, "unreadable"},
		"the newest":          {func(f tamperer) { f.field(6, "who", "another user") }, 6, "altered"},
		"replaced as a whole": {func(f tamperer) { sealed(f, 4, f.prev(4)) }, 4, "replaced"},
		"swapped": {func(f tamperer) {
			a, b := f.get(2).Data, f.get(3).Data
			f.change(2, func([]byte) []byte { return b })
			f.change(3, func([]byte) []byte { return a })
		}, 2, "altered"},
		"repeated":     {func(f tamperer) { f.put(store.Document{Collection: chain, Name: place(7), Data: f.get(6).Data}) }, 7, "altered"},
		"put far away": {func(f tamperer) { f.put(store.Document{Collection: chain, Name: place(9), Data: f.get(6).Data}) }, 7, "missing"},
		"put nowhere":  {func(f tamperer) { f.put(store.Document{Collection: chain, Name: "x", Data: []byte("{}")}) }, 0, "no sequence number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docs := openFile(t)
			b := filled(t, docs, 6)
			c.do(tamperer{t, docs})
			broken(t, b, c.seq, c.why)
			// New actions are still recorded, and the damage stays visible.
			if _, _, err := b.Begin(t.Context(), record("later", 0)); err != nil {
				t.Error(err)
			}
			if v, err := b.Verify(t.Context()); err != nil || v.Broken == nil {
				t.Errorf("verdict: got %+v, error %v, want a broken chain", v, err)
			}
		})
	}
}

// prev returns the previous hash of a record.
func (f tamperer) prev(seq uint64) string {
	f.tb.Helper()
	var r audit.Record
	if err := json.Unmarshal(f.get(seq).Data, &r); err != nil {
		f.tb.Fatal(err)
	}
	return r.Prev
}

// A log notices the loss of records that it added itself.
func TestTruncatedChain(t *testing.T) {
	t.Parallel()
	docs := openFile(t)
	b := filled(t, docs, 3)
	if _, _, err := b.Begin(t.Context(), record("mine", 0)); err != nil {
		t.Fatal(err)
	}
	whole(t, b, 4)
	f := tamperer{t, docs}
	f.remove(4)
	broken(t, b, 4, "missing")
	whole(t, open(docs), 3) // who was not there compares with the logs
	if _, _, err := open(docs).Begin(t.Context(), record("other", 0)); err != nil {
		t.Fatal(err)
	}
	whole(t, open(docs), 4)
	broken(t, b, 4, "replaced")
	for seq := uint64(4); seq > 0; seq-- {
		f.remove(seq)
	}
	broken(t, b, 4, "missing")
}

// With random records the chain is intact, and every change in it
// is found.
func TestAnyChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		docs := openFile(t)
		b := open(docs)
		want, ended := 0, map[string]string{}
		text := rapid.StringN(1, 20, 40)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "id")
			if rapid.Bool().Draw(rt, "again elsewhere") {
				b = open(docs)
			}
			if _, known := ended[id]; !known {
				r := record(id, time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "time")))
				r.Who, r.Target, r.Address = text.Draw(rt, "who"), text.Draw(rt, "target")+"\xff", text.Draw(rt, "address")
				got, done, err := b.Begin(context.Background(), r)
				if err != nil || done || got.Result != audit.Begun {
					rt.Fatal(got, done, err)
				}
				ended[id] = ""
				want++
				continue
			}
			o := outcome(rapid.SampledFrom([]audit.Result{audit.Done, audit.Failed}).Draw(rt, "result"), rapid.StringN(-1, 5, 5).Draw(rt, "detail"))
			said := string(o.Result) + o.Detail
			if _, err := b.End(context.Background(), id, o); err != nil {
				rt.Fatal(err)
			}
			if !strings.HasPrefix(ended[id], string(audit.Done)) && ended[id] != said {
				ended[id] = said
				want++
			}
		}
		v, err := b.Verify(context.Background())
		if err != nil || v.Broken != nil || v.Records != want {
			rt.Fatalf("%+v %+v %v, want %d records", v, v.Broken, err, want)
		}
		seq := rapid.Uint64Range(1, uint64(want)).Draw(rt, "seq")
		f := tamperer{t, docs}
		before := f.get(seq)
		if at := rapid.IntRange(-1, len(before.Data)-1).Draw(rt, "byte"); at >= 0 {
			f.change(seq, func(data []byte) []byte {
				data = bytes.Clone(data)
				data[at] ^= rapid.SampledFrom([]byte{1, 2, 4, 8, 16}).Draw(rt, "bits")
				return data
			})
		} else if seq < uint64(want) {
			f.remove(seq)
		} else {
			return // only the logs show that the record is gone
		}
		v, err = open(docs).Verify(context.Background())
		if err == nil && v.Broken == nil && string(f.get(seq).Data) != string(before.Data) {
			// Fields that are not read do not matter.
			var was, is audit.Record
			_ = json.Unmarshal(before.Data, &was)
			if json.Unmarshal(f.get(seq).Data, &is) != nil || was != is {
				rt.Fatalf("%s was changed to %s, and verification did not notice", before.Data, f.get(seq).Data)
			}
		}
		if err != nil {
			rt.Fatal(err)
		}
	})
}
