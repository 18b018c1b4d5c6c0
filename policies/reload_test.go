package policies_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/policies"
	"github.com/everdesk/everdesk/wire"
)

func opens(id wire.WindowID) wire.Action {
	return wire.WindowCreate{WindowID: id, Title: "T", Content: wire.TextContent{Data: "hi"}}
}

// asked returns a message to the main agent with some text windows open.
func asked(text string, open ...wire.WindowID) policies.Trigger {
	t := policies.Trigger{Type: policies.TriggerMain, Text: text}
	for _, id := range open {
		t.Windows = append(t.Windows, policies.WindowInfo{ID: id, Renderer: "text"})
	}
	return t
}

func clicked(window wire.WindowID, text string, open ...wire.WindowID) policies.Trigger {
	t := asked(text, open...)
	t.Type, t.Target = policies.TriggerWindow, window
	return t
}

// cacheOf returns a cache with entries for some texts.
func cacheOf(texts ...string) *policies.ReloadCache {
	c := policies.NewReloadCache()
	for _, text := range texts {
		c.Record(noon, asked(text), []wire.Action{opens("w")}, nil)
	}
	return c
}

func TestReloadLabels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"<ui:click>app: moltbook</ui:click>":                                              "Open moltbook app",
		"<ui:click>button \"Save\" in window \"T\"</ui:click>":                            `Click "Save"`,
		policies.ComponentClick("A & B", "w", "", nil, "", nil):                           `Click "A & B"`,
		"show  me\n<timeline>old</timeline> the weather":                                  "show me the weather",
		strings.Repeat("word ", 20):                                                       strings.Repeat("word ", 10) + "...",
		strings.Repeat("가", 50):                                                           strings.Repeat("가", 50),
		"<open_windows>a</open_windows>\n<ai agent=\"x\">Did.</ai><ui:drag>x y</ui:drag>": "x y",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			entry, _ := policies.NewReloadCache().Record(noon, asked(text), []wire.Action{opens("w")}, nil)
			if entry.Label != want {
				t.Errorf("got %q, want %q", entry.Label, want)
			}
		})
	}
}

func TestReloadOffersEarlierRequest(t *testing.T) {
	t.Parallel()
	c := cacheOf("Open the notes app please", "something else entirely")
	want := []policies.ReloadOption{{CacheID: "reload-1", Label: "Open the notes app please", Similarity: 1, Actions: 1, Exact: true}}
	if diff := cmp.Diff(want, c.Options(noon, asked("  open THE notes\napp please"))); diff != "" {
		t.Errorf("options for the same request (-want +got):\n%s", diff)
	}
	got := c.Options(noon, asked("open the notes app please now"))
	if len(got) != 1 || got[0].Exact || got[0].Similarity != 0.94 {
		t.Errorf("options for a similar request: got %+v, want one of similarity 0.94, not exact", got)
	}
	for name, trigger := range map[string]policies.Trigger{
		"other words":          asked("close the notes window instead"),
		"a window's message":   clicked("w", "open the notes app please", "w"),
		"words, another order": asked("please app notes the open"),
	} {
		if got := c.Options(noon, trigger); len(got) != 0 {
			t.Errorf("options for %s: got %+v, want none", name, got)
		}
	}
}

func TestReloadSurvivesAnUnrelatedWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, now []wire.WindowID
		similarity  float64
	}{
		"one more":                {[]wire.WindowID{"a"}, []wire.WindowID{"a", "b"}, 0.933},
		"one less":                {[]wire.WindowID{"a", "b"}, []wire.WindowID{"b"}, 0.933},
		"the first":               {nil, []wire.WindowID{"a"}, 0.9},
		"another":                 {[]wire.WindowID{"a"}, []wire.WindowID{"b"}, 0.867},
		"another desktop is none": {[]wire.WindowID{"a", "b"}, []wire.WindowID{"c", "d"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := policies.NewReloadCache()
			cache.Record(noon, asked("show the weather", c.before...), []wire.Action{opens("w")}, nil)
			got := cache.Options(noon, asked("show the weather", c.now...))
			if c.similarity == 0 {
				if len(got) != 0 {
					t.Errorf("options: got %+v, want none", got)
				}
				return
			}
			if len(got) != 1 || got[0].Similarity != c.similarity || got[0].Exact {
				t.Errorf("got %+v, want %v", got, c.similarity)
			}
		})
	}
}

func TestReloadOfAnotherWindowIsNotOffered(t *testing.T) {
	t.Parallel()
	c := policies.NewReloadCache()
	a, _ := c.Record(noon, clicked("a", "refresh", "a", "b"), []wire.Action{opens("x")}, []wire.WindowID{"a"})
	b, _ := c.Record(noon, clicked("b", "refresh", "a", "b"), []wire.Action{opens("y")}, []wire.WindowID{"b"})
	if a.ID == b.ID {
		t.Error("two windows share an entry")
	}
	if got := c.Options(noon, clicked("a", "refresh", "a", "b")); len(got) != 1 || got[0].CacheID != a.ID {
		t.Errorf("options for a click in window a: got %+v, want only %s", got, a.ID)
	}
}

func TestReloadHasAtMostThreeOptionsTheBestFirst(t *testing.T) {
	t.Parallel()
	long := "show me the weather in all of the big cities of the world"
	c := cacheOf(long+" today", long+" tomorrow", long+" now", long+" soon", long)
	got := c.Options(noon, asked(long))
	if len(got) != policies.MaxReloadOptions || got[0].CacheID != "reload-5" || !got[0].Exact || got[1].CacheID != "reload-4" {
		t.Errorf("options: got %+v, want %d: first reload-5, exact, then reload-4", got, policies.MaxReloadOptions)
	}
}

func TestReloadOffersSameTriggerFirst(t *testing.T) {
	t.Parallel()
	c := cacheOf("on and on and on", "on and on and on and on")
	got := c.Options(noon, asked("on and on and on"))
	if len(got) != 2 || got[0].CacheID != "reload-1" || !got[0].Exact || got[1].Exact || got[1].Similarity != 1 {
		t.Errorf("options: got %+v, want reload-1, exact, then one of similarity 1, not exact", got)
	}
}

func TestReloadRecordsTheSameOnce(t *testing.T) {
	t.Parallel()
	c := cacheOf("open notes")
	c.Used(noon, "reload-1", false)
	later := noon.Add(time.Hour)
	entry, evicted := c.Record(later, asked("Open  notes"), []wire.Action{opens("a"), opens("b")}, nil)
	if entry.ID != "reload-1" || len(entry.Actions) != 2 || entry.Failures != 1 || entry.Created != wire.Millis(noon.UnixMilli()) ||
		entry.LastUsed != wire.Millis(later.UnixMilli()) || len(evicted) != 0 || len(c.Entries()) != 1 {
		t.Errorf("recorded again: got entry %+v, evicted %v, want reload-1 with two actions and one failure, none evicted", entry, evicted)
	}
}

func TestReloadOmitsActionsWithAnswer(t *testing.T) {
	t.Parallel()
	c := policies.NewReloadCache()
	questions := []wire.Action{wire.DialogConfirm{ID: "d"}, wire.PromptShow{}, wire.PromptDismiss{ID: "p"}, wire.WindowCapture{WindowID: "w"}, nil}
	if entry, _ := c.Record(noon, asked("ask me"), questions, nil); entry.ID != "" || len(c.Entries()) != 0 {
		t.Errorf("recorded from questions: got %+v, want nothing", entry)
	}
	if entry, _ := c.Record(noon, asked("ask me"), append(questions, opens("w")), nil); entry.ID != "reload-1" || len(entry.Actions) != 1 {
		t.Errorf("recorded from questions and a window: got %+v, want reload-1 with one action", entry)
	}
}

func TestReloadRequiresTheWindowsThatActionsTouch(t *testing.T) {
	t.Parallel()
	touching := map[string]func(wire.WindowID) wire.Action{
		"close":    func(id wire.WindowID) wire.Action { return wire.WindowClose{WindowID: id} },
		"focus":    func(id wire.WindowID) wire.Action { return wire.WindowFocus{WindowID: id} },
		"minimize": func(id wire.WindowID) wire.Action { return wire.WindowMinimize{WindowID: id} },
		"maximize": func(id wire.WindowID) wire.Action { return wire.WindowMaximize{WindowID: id} },
		"restore":  func(id wire.WindowID) wire.Action { return wire.WindowRestore{WindowID: id} },
		"move":     func(id wire.WindowID) wire.Action { return wire.WindowMove{WindowID: id} },
		"resize":   func(id wire.WindowID) wire.Action { return wire.WindowResize{WindowID: id} },
		"title":    func(id wire.WindowID) wire.Action { return wire.WindowSetTitle{WindowID: id} },
		"content": func(id wire.WindowID) wire.Action {
			return wire.WindowSetContent{WindowID: id, Content: wire.TextContent{}}
		},
		"update": func(id wire.WindowID) wire.Action {
			return wire.WindowUpdateContent{WindowID: id, Operation: wire.UpdateClear{}}
		},
		"lock":   func(id wire.WindowID) wire.Action { return wire.WindowLock{WindowID: id} },
		"unlock": func(id wire.WindowID) wire.Action { return wire.WindowUnlock{WindowID: id} },
	}
	for name, touch := range touching {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := policies.NewReloadCache()
			entry, _ := c.Record(noon, asked("do it", "old", "x"), []wire.Action{opens("new"), touch("new"), touch("old"), wire.ToastDismiss{ID: "t"}}, []wire.WindowID{"x"})
			if !slices.Equal(entry.Required, []wire.WindowID{"old", "x"}) {
				t.Errorf("required windows: got %v, want old and x", entry.Required)
			}
			if got := c.Options(noon, asked("do it", "old", "x")); len(got) != 1 {
				t.Errorf("options with the required windows: got %+v, want one", got)
			}
			if got := c.Options(noon, asked("do it", "x")); len(got) != 0 {
				t.Errorf("options without a required window: got %+v, want none", got)
			}
			if got := c.CloseWindow("y"); got != nil {
				t.Errorf("closing another window: got %v invalidated, want none", got)
			}
			if got := c.CloseWindow("old"); !slices.Equal(got, []string{"reload-1"}) {
				t.Errorf("closing a required window: got %v invalidated, want reload-1", got)
			}
			if _, ok := c.Get(noon, "reload-1"); ok {
				t.Error("the invalidated entry still exists")
			}
		})
	}
}

func TestReloadExpiresAfterSevenDays(t *testing.T) {
	t.Parallel()
	c := cacheOf("open notes", "open mail")
	week := noon.Add(policies.ReloadAge)
	if _, ok := c.Get(week.Add(-time.Millisecond), "reload-1"); !ok {
		t.Error("the entry expired too early")
	}
	c.Used(noon.Add(time.Hour), "reload-2", true)
	if _, ok := c.Get(week, "reload-1"); ok || len(c.Options(week, asked("open notes"))) != 0 {
		t.Error("the entry is found after a week")
	}
	if got := c.Expire(week); !slices.Equal(got, []string{"reload-1"}) {
		t.Errorf("expired after a week: got %v, want reload-1", got)
	}
	if _, evicted := c.Record(week.Add(time.Hour), asked("open files"), []wire.Action{opens("w")}, nil); !slices.Equal(evicted, []string{"reload-2"}) {
		t.Errorf("evicted by the next record: got %v, want reload-2", evicted)
	}
}

func TestReloadKeepsTheHundredThatWereUsedLast(t *testing.T) {
	t.Parallel()
	c := policies.NewReloadCache()
	var gone []string
	for i := range policies.MaxReloadEntries + 2 {
		if i == 50 {
			c.Used(noon.Add(time.Minute), "reload-1", true)
		}
		_, evicted := c.Record(noon, asked("request number "+strconv.Itoa(i)), []wire.Action{opens("w")}, nil)
		gone = append(gone, evicted...)
	}
	if !slices.Equal(gone, []string{"reload-2", "reload-3"}) || len(c.Entries()) != policies.MaxReloadEntries {
		t.Errorf("after two entries too many: got %v evicted and %d left, want reload-2 and reload-3, and %d left", gone, len(c.Entries()), policies.MaxReloadEntries)
	}
}

func TestReloadIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	c := policies.NewReloadCache()
	show := func(bytes int) []wire.Action {
		return []wire.Action{wire.WindowCreate{WindowID: "w", Content: wire.TextContent{Data: strings.Repeat("x", bytes)}}}
	}
	if entry, _ := c.Record(noon, asked("too large"), show(policies.MaxReloadEntryBytes), nil); entry.ID != "" || len(c.Entries()) != 0 {
		t.Errorf("an entry that is too large: got %q recorded, want none", entry.ID)
	}
	var gone []string
	const each = policies.MaxReloadEntryBytes - 4096
	for i := range 20 {
		_, evicted := c.Record(noon.Add(time.Duration(i)), asked("large "+strconv.Itoa(i)), show(each), nil)
		gone = append(gone, evicted...)
	}
	if len(gone) != 4 || gone[0] != "reload-1" || len(c.Entries())*each > policies.MaxReloadBytes {
		t.Errorf("after too many bytes: got %v evicted and %d left, want four from reload-1 and at most %d bytes left", gone, len(c.Entries()), policies.MaxReloadBytes)
	}
	text := strings.Repeat("a long story ", 100_000)
	if entry, _ := c.Record(noon, asked(text), show(1), nil); len(entry.Fingerprint.Grams) > 4096 || entry.ID == "" {
		t.Errorf("entry %q of a long text: got %d grams, want it recorded with at most 4096", entry.ID, len(entry.Fingerprint.Grams))
	}
}

func TestReloadRemovesMostlyFailingEntries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		attempts string // y succeeded, n failed, u succeeded and was reported as failed later
		removed  bool
	}{
		"two failures are too few":      {"nn", false},
		"three failures":                {"nnn", true},
		"half is not more than half":    {"ynyn", false},
		"two of three":                  {"ynn", true},
		"one of three":                  {"yyn", false},
		"the user says so, three times": {"uuu", true},
		"the user says so, once":        {"yyu", false},
		"the user presses too often":    {"F", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache := cacheOf("open notes")
			removed := false
			for _, a := range c.attempts {
				switch a {
				case 'y', 'n':
					removed = cache.Used(noon, "reload-1", a == 'y')
				case 'u':
					removed = cache.Used(noon, "reload-1", true) || cache.Failed("reload-1")
				case 'F':
					removed = cache.Failed("reload-1")
				}
			}
			if _, ok := cache.Get(noon, "reload-1"); removed != c.removed || ok == removed {
				t.Errorf("got removed %v and found %v, want removed %v and found %v", removed, ok, c.removed, !c.removed)
			}
		})
	}
	if c := policies.NewReloadCache(); c.Used(noon, "reload-1", false) || c.Failed("reload-1") {
		t.Error("an unknown entry was removed")
	}
}

func TestReloadIDsAreNeverUsedAgain(t *testing.T) {
	t.Parallel()
	c := cacheOf("open notes", "open mail")
	c.Expire(noon.Add(policies.ReloadAge))
	fresh := policies.NewReloadCache()
	fresh.Restore(c.Entries(), c.Next())
	if entry, _ := fresh.Record(noon, asked("open notes"), []wire.Action{opens("w")}, nil); entry.ID != "reload-3" {
		t.Errorf("id after a restore: got %s, want reload-3", entry.ID)
	}
	fresh.Restore([]policies.ReloadEntry{{ID: "reload-7"}, {ID: "strange"}}, 0)
	if fresh.Next() != 8 || len(fresh.Entries()) != 2 {
		t.Errorf("after a restore: got next %d of %d entries, want 8 of 2", fresh.Next(), len(fresh.Entries()))
	}
}

func TestReloadCachesAreIndependent(t *testing.T) {
	t.Parallel()
	a, b := cacheOf("open notes"), cacheOf("open notes")
	a.Expire(noon.Add(policies.ReloadAge))
	if len(a.Entries()) != 0 || len(b.Entries()) != 1 {
		t.Errorf("entries after one cache expired: got %d and %d, want 0 and 1", len(a.Entries()), len(b.Entries()))
	}
}

func TestReloadEntryIsJSON(t *testing.T) {
	t.Parallel()
	c := policies.NewReloadCache()
	entry, _ := c.Record(noon, clicked("w", "draw", "w"), []wire.Action{
		opens("x"), wire.WindowUpdateContent{WindowID: "w", Operation: wire.UpdateAppend{Data: json.RawMessage(`"more"`)}},
	}, nil)
	data, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	var kept policies.ReloadEntry
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(entry, kept); diff != "" {
		t.Errorf("decoded entry (-want +got):\n%s", diff)
	}
	if err := json.Unmarshal([]byte(`{"id":7}`), &kept); err == nil {
		t.Error("entry with a wrong id: got no error, want one")
	}
}
