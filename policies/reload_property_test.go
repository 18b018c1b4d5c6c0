package policies_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

func triggers() *rapid.Generator[policies.Trigger] {
	word := rapid.SampledFrom([]string{"open", "the", "notes", "Open", " ", "app:", "x", "", "<ui:click>"})
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"open the notes", "Open  the notes", "close the notes", "open the notes now please"}),
		rapid.Map(rapid.SliceOfN(word, 0, 6), func(w []string) string { return strings.Join(w, " ") }),
		forgedText(),
	)
	ids := rapid.SampledFrom([]wire.WindowID{"a", "b", "c"})
	return rapid.Custom(func(t *rapid.T) policies.Trigger {
		trigger := policies.Trigger{Type: policies.TriggerMain, Text: text.Draw(t, "text")}
		if rapid.Bool().Draw(t, "for a window") {
			trigger.Type, trigger.Target = policies.TriggerWindow, ids.Draw(t, "target")
		}
		for _, id := range rapid.SliceOfNDistinct(ids, 0, 3, rapid.ID[wire.WindowID]).Draw(t, "open") {
			trigger.Windows = append(trigger.Windows, policies.WindowInfo{
				ID: id, Renderer: rapid.SampledFrom([]string{"text", "html"}).Draw(t, "renderer"),
			})
		}
		return trigger
	})
}

func TestSimilarityProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := triggers().Draw(t, "a").Fingerprint(), triggers().Draw(t, "b").Fingerprint()
		s := a.Similarity(b)
		if s != b.Similarity(a) || s < 0 || s > 1 || math.IsNaN(s) {
			t.Fatalf("%v and %v", s, b.Similarity(a))
		}
		if none := (policies.Fingerprint{}); none.Similarity(none) != 1 {
			t.Fatal("two empty triggers differ")
		}
		if a.Similarity(a) != 1 || !a.Same(a) {
			t.Fatalf("%+v is not the same as itself: %v", a, a.Similarity(a))
		}
		if a.Same(b) != b.Same(a) || a.Same(b) && s != 1 {
			t.Fatalf("the same: %v, similarity %v", a.Same(b), s)
		}
		if same := a.Type == b.Type && a.Target == b.Target && a.Content == b.Content && slices.Equal(a.Windows, b.Windows); same != a.Same(b) {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}

func TestReloadProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := policies.NewReloadCache()
		now := noon
		seen := make(map[string]bool)
		kept := make(map[string]bool) // ids in the store
		ids := rapid.SampledFrom([]wire.WindowID{"a", "b", "c"})
		forget := func(gone []string) {
			for _, id := range gone {
				if !kept[id] {
					t.Fatalf("entry %s is missing", id)
				}
				delete(kept, id)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) {
				trigger := triggers().Draw(t, "trigger")
				var actions []wire.Action
				for _, id := range rapid.SliceOfN(ids, 0, 3).Draw(t, "windows") {
					actions = append(actions, rapid.SampledFrom([]wire.Action{
						opens(id), wire.WindowClose{WindowID: id}, wire.WindowCapture{WindowID: id},
					}).Draw(t, "action"))
				}
				before := c.Next()
				entry, evicted := c.Record(now, trigger, actions, nil)
				forget(evicted)
				if entry.ID == "" {
					return
				}
				if isNew := c.Next() > before; isNew == seen[entry.ID] {
					t.Fatalf("%s, new %v, seen %v", entry.ID, isNew, seen[entry.ID])
				}
				seen[entry.ID], kept[entry.ID] = true, true
				if got, ok := c.Get(now, entry.ID); !ok || !cmp.Equal(got, entry) {
					t.Fatalf("got %v %s", ok, cmp.Diff(entry, got))
				}
			},
			"options": func(t *rapid.T) {
				checkOptions(t, c, now, triggers().Draw(t, "trigger"))
			},
			"use": func(t *rapid.T) {
				for _, e := range c.Entries() {
					if rapid.Bool().Draw(t, "use") && c.Used(now, e.ID, rapid.Bool().Draw(t, "ok")) {
						forget([]string{e.ID})
					}
				}
			},
			"close": func(t *rapid.T) {
				id := ids.Draw(t, "window")
				forget(c.CloseWindow(id))
				for _, e := range c.Entries() {
					if slices.Contains(e.Required, id) {
						t.Fatalf("%s needs %s", e.ID, id)
					}
				}
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 80).Draw(t, "hours")) * time.Hour)
			},
			"expire": func(*rapid.T) { forget(c.Expire(now)) },
			"another owner": func(t *rapid.T) {
				data, err := json.Marshal(c.Entries())
				if err != nil {
					t.Fatal(err)
				}
				var entries []policies.ReloadEntry
				if err := json.Unmarshal(data, &entries); err != nil {
					t.Fatal(err)
				}
				fresh := policies.NewReloadCache()
				fresh.Restore(entries, c.Next())
				if diff := cmp.Diff(c.Entries(), fresh.Entries(), cmpopts.EquateEmpty()); diff != "" || fresh.Next() != c.Next() {
					t.Fatalf("next %d, was %d\n%s", fresh.Next(), c.Next(), diff)
				}
				c = fresh
			},
			"": func(t *rapid.T) {
				entries := c.Entries()
				if len(entries) > policies.MaxReloadEntries || len(entries) != len(kept) {
					t.Fatalf("%d entries, %d in the copy", len(entries), len(kept))
				}
				for i, e := range entries {
					if !kept[e.ID] {
						t.Fatalf("%s is missing in the copy", e.ID)
					}
					for _, other := range entries[:i] {
						if e.Fingerprint.Same(other.Fingerprint) {
							t.Fatalf("%s and %s are the same", e.ID, other.ID)
						}
					}
				}
			},
		})
	})
}

func checkOptions(t *rapid.T, c *policies.ReloadCache, now time.Time, trigger policies.Trigger) {
	options := c.Options(now, trigger)
	if len(options) > policies.MaxReloadOptions {
		t.Fatalf("%d options", len(options))
	}
	for i, o := range options {
		e, ok := c.Get(now, o.CacheID)
		if !ok {
			t.Fatalf("option %s has no entry", o.CacheID)
		}
		s := trigger.Fingerprint().Similarity(e.Fingerprint)
		if o.Exact != trigger.Fingerprint().Same(e.Fingerprint) || o.Exact && o.Similarity != 1 ||
			s < policies.ReloadThreshold || math.Abs(s-o.Similarity) > 0.0005+1e-9 || o.Actions != len(e.Actions) || o.Label != e.Label {
			t.Fatalf("option %+v of %+v", o, e)
		}
		for _, id := range e.Required {
			if !slices.ContainsFunc(trigger.Windows, func(w policies.WindowInfo) bool { return w.ID == id }) {
				t.Fatalf("%s is offered and needs %s", o.CacheID, id)
			}
		}
		if i > 0 && (o.Exact || options[i-1].Similarity < o.Similarity) {
			t.Fatalf("%+v is before %+v", options[i-1], o)
		}
	}
}
