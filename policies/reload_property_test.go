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
			t.Fatalf("similarity: got %v and %v the other way round, want the same number from 0 to 1", s, b.Similarity(a))
		}
		if none := (policies.Fingerprint{}); none.Similarity(none) != 1 {
			t.Fatalf("similarity of two empty triggers: got %v, want 1", none.Similarity(none))
		}
		if a.Similarity(a) != 1 || !a.Same(a) {
			t.Fatalf("similarity of %+v with itself: got %v, want 1", a, a.Similarity(a))
		}
		if a.Same(b) != b.Same(a) || a.Same(b) && s != 1 {
			t.Fatalf("same: got %v and %v the other way round with similarity %v, want both the same, and 1 if true", a.Same(b), b.Same(a), s)
		}
		if same := a.Type == b.Type && a.Target == b.Target && a.Content == b.Content && slices.Equal(a.Windows, b.Windows); same != a.Same(b) {
			t.Fatalf("Same: got %v, want %v for\n%+v\n%+v", a.Same(b), same, a, b)
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
					t.Fatalf("removed entry: got %s, want one of those kept", id)
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
					t.Fatalf("recorded entry %s: got new %v, seen before %v, want one of them", entry.ID, isNew, seen[entry.ID])
				}
				seen[entry.ID], kept[entry.ID] = true, true
				if got, ok := c.Get(now, entry.ID); !ok || !cmp.Equal(got, entry) {
					t.Fatalf("Get: got ok %v, want the recorded entry (-want +got):\n%s", ok, cmp.Diff(entry, got))
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
						t.Fatalf("entry %s after window %s was closed: got it kept, want it removed because it needs the window", e.ID, id)
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
					t.Fatalf("after a restore: got next %d, want %d; entries (-want +got):\n%s", fresh.Next(), c.Next(), diff)
				}
				c = fresh
			},
			"": func(t *rapid.T) {
				entries := c.Entries()
				if len(entries) > policies.MaxReloadEntries || len(entries) != len(kept) {
					t.Fatalf("entries: got %d, want %d, at most %d", len(entries), len(kept), policies.MaxReloadEntries)
				}
				for i, e := range entries {
					if !kept[e.ID] {
						t.Fatalf("entries: got %s, want only those that were kept", e.ID)
					}
					for _, other := range entries[:i] {
						if e.Fingerprint.Same(other.Fingerprint) {
							t.Fatalf("entries: got %s and %s with the same trigger, want one of them", e.ID, other.ID)
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
		t.Fatalf("options: got %d, want at most %d", len(options), policies.MaxReloadOptions)
	}
	for i, o := range options {
		e, ok := c.Get(now, o.CacheID)
		if !ok {
			t.Fatalf("option %s: got no entry, want one", o.CacheID)
		}
		s := trigger.Fingerprint().Similarity(e.Fingerprint)
		if o.Exact != trigger.Fingerprint().Same(e.Fingerprint) || o.Exact && o.Similarity != 1 ||
			s < policies.ReloadThreshold || math.Abs(s-o.Similarity) > 0.0005+1e-9 || o.Actions != len(e.Actions) || o.Label != e.Label {
			t.Fatalf("option: got %+v, want the label, actions and similarity %v of %+v", o, s, e)
		}
		for _, id := range e.Required {
			if !slices.ContainsFunc(trigger.Windows, func(w policies.WindowInfo) bool { return w.ID == id }) {
				t.Fatalf("option %s: got it offered without window %s, want it only with this window", o.CacheID, id)
			}
		}
		if i > 0 && (o.Exact || options[i-1].Similarity < o.Similarity) {
			t.Fatalf("options: got %+v before %+v, want the exact one first, then by similarity", options[i-1], o)
		}
	}
}
