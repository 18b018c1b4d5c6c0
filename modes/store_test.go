package modes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/wire"
)

func openDocuments(t *testing.T) *filestore.Documents {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Documents
}

func small(id string) modes.Mode {
	return modes.Mode{ID: id, Name: "Name of " + id, Tools: modes.ToolsAll}
}

// ids returns the ids of modes.
func ids(s modes.Set) string {
	var all []string
	for _, m := range s.Modes {
		all = append(all, m.ID)
	}
	return strings.Join(all, " ")
}

func TestShippedModesAreValidAndAskChangesNothing(t *testing.T) {
	t.Parallel()
	limits := map[string]string{"code": modes.ToolsAll, "architect": modes.ToolsShow, "ask": modes.ToolsRead, "debug": modes.ToolsAll}
	for _, m := range modes.Shipped() {
		if err := m.Check(); err != nil || !m.Shipped || m.Instructions == "" {
			t.Errorf("%s: %v, shipped %v, want a valid mode with instructions", m.ID, err, m.Shipped)
		}
		if m.Tools != limits[m.ID] {
			t.Errorf("%s has the tools %q, want %q", m.ID, m.Tools, limits[m.ID])
		}
		delete(limits, m.ID)
	}
	if len(limits) > 0 {
		t.Errorf("%v are missing", limits)
	}
}

func TestUsersAddOverrideAndRemoveModes(t *testing.T) {
	t.Parallel()
	var told []string
	s := modes.New(openDocuments(t), func(_ context.Context, user string) { told = append(told, user) })
	mine := modes.Mode{
		ID: "mine", Name: "내 모드", Instructions: "Rhyme.\nAlways.", Tools: modes.ToolsShow, Model: "sonnet",
		Approval: &wire.AutoApproval{AutoApprovalEnabled: true, AllowedCommands: []string{"git status"}},
	}
	if _, err := s.Put(t.Context(), "ada", mine, nil); err != nil {
		t.Fatal(err)
	}
	ask := small("ask")
	ask.Tools = modes.ToolsShow
	got, err := s.Put(t.Context(), "ada", ask, new(uint64(1)))
	if err != nil {
		t.Fatal(err)
	}
	if ids(got) != "code architect ask debug mine" || got.Version != 2 {
		t.Errorf("got %s of version %d, want the shipped ones and mine, version 2", ids(got), got.Version)
	}
	if m, _ := got.Find("ask"); !m.Shipped || !m.Overridden || m.Tools != modes.ToolsShow {
		t.Errorf("ask is %+v, want the override of a shipped mode", m)
	}
	again, err := s.Read(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	m, ok := again.Find("내 모드")
	if !ok || m.Instructions != mine.Instructions || m.Model != "sonnet" || m.Approval == nil || len(m.Approval.AllowedCommands) != 1 {
		t.Errorf("the stored mode is %+v, %v, want %+v", m, ok, mine)
	}
	if other, err := s.Read(t.Context(), "bob"); err != nil || ids(other) != "code architect ask debug" || other.Version != 0 {
		t.Errorf("another user has %s, %v, want the shipped ones", ids(other), err)
	}
	if got, err = s.Remove(t.Context(), "ada", "ask", nil); err != nil {
		t.Fatal(err)
	}
	if m, _ := got.Find("ask"); m.Overridden || m.Tools != modes.ToolsRead {
		t.Errorf("ask is %+v after its override was removed, want the shipped one", m)
	}
	if got, err = s.Remove(t.Context(), "ada", "mine", nil); err != nil || ids(got) != "code architect ask debug" {
		t.Errorf("after the removal there are %s, %v", ids(got), err)
	}
	if len(told) != 4 || told[0] != "ada" {
		t.Errorf("changes of %q were published, want four of ada", told)
	}
}

func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	s := modes.New(openDocuments(t), nil)
	with := func(edit func(*modes.Mode)) error {
		m := small("mine")
		edit(&m)
		_, err := s.Put(t.Context(), "ada", m, nil)
		return err
	}
	remove := func(id string) error { _, err := s.Remove(t.Context(), "ada", id, nil); return err }
	rules := func(r wire.AutoApproval) error { return with(func(m *modes.Mode) { m.Approval = &r }) }
	for name, tt := range map[string]struct {
		got  error
		want string // the beginning
	}{
		"no id":                {with(func(m *modes.Mode) { m.ID = "" }), "id: "},
		"id with a slash":      {with(func(m *modes.Mode) { m.ID = "a/b" }), "id: "},
		"no name":              {with(func(m *modes.Mode) { m.Name = "" }), "name: "},
		"line break in a name": {with(func(m *modes.Mode) { m.Name = "a\nb" }), "name: "},
		"long instructions":    {with(func(m *modes.Mode) { m.Instructions = strings.Repeat("모", 5462) }), "instructions: "},
		"NUL in instructions":  {with(func(m *modes.Mode) { m.Instructions = "a\x00" }), "instructions: "},
		"invalid UTF-8":        {with(func(m *modes.Mode) { m.Instructions = "a\xff" }), "instructions: "},
		"no tool profile":      {with(func(m *modes.Mode) { m.Tools = "" }), "toolProfile: want one of all, show, read"},
		"long model":           {with(func(m *modes.Mode) { m.Model = strings.Repeat("a", 65) }), "model: "},
		"cost of NaN":          {rules(wire.AutoApproval{AllowedMaxCost: math.NaN()}), "approval.allowedMaxCost: "},
		"negative requests":    {rules(wire.AutoApproval{AllowedMaxRequests: -1}), "approval.allowedMaxRequests: "},
		"many commands":        {rules(wire.AutoApproval{DeniedCommands: make([]string, 501)}), "approval.deniedCommands: "},
		"removing a shipped":   {remove("code"), modes.ErrShipped.Error()},
		"removing an unknown":  {remove("x"), modes.ErrNotFound.Error()},
	} {
		if tt.got == nil || !strings.HasPrefix(tt.got.Error(), tt.want) {
			t.Errorf("%s: got error %v, want %s", name, tt.got, tt.want)
		}
	}
	for n := range modes.MaxModes {
		if _, err := s.Put(t.Context(), "ada", small(fmt.Sprintf("m%d", n)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Put(t.Context(), "ada", small("one-more"), nil); !errors.Is(err, modes.ErrFull) {
		t.Errorf("one more: got error %v, want %v", err, modes.ErrFull)
	}
	large := small("m0")
	large.Instructions = strings.Repeat("<", modes.MaxInstructions) // six bytes each in the document
	full := false
	for n := range modes.MaxModes {
		large.ID = fmt.Sprintf("m%d", n)
		if _, err := s.Put(t.Context(), "ada", large, nil); err != nil {
			full = errors.Is(err, modes.ErrFull)
			break
		}
	}
	if !full {
		t.Error("modes that are too large together were stored, want them refused")
	}
}

// Of two changes with the same version one wins, and the other gets what is stored.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	s := modes.New(openDocuments(t), nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, lost := 0, 0
	for n := range 8 {
		wg.Go(func() {
			got, err := s.Put(t.Context(), "ada", small(fmt.Sprintf("m%d", n)), new(uint64(0)))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case errors.Is(err, modes.ErrConflict) && got.Version == 1 && len(got.Modes) == 5:
				lost++
			default:
				t.Errorf("got %s of version %d and error %v", ids(got), got.Version, err)
			}
		})
	}
	wg.Wait()
	if won != 1 || lost != 7 {
		t.Errorf("%d changes won and %d lost, want 1 and 7", won, lost)
	}
}

// A mode that is not valid is not listed and blocks no other. It and unknown fields stay when other modes
// change.
func TestWhatIsNotKnownStays(t *testing.T) {
	t.Parallel()
	docs := openDocuments(t)
	const stored = `{"later":{"x":1},"modes":[{"id":"new","name":"N","toolProfile":"all","tone":"loud"},
		{"id":"bad id","name":"B","toolProfile":"all"},7,{"id":"next","name":"X","toolProfile":"write-only"}]}`
	if _, err := docs.Put(t.Context(), store.Document{Collection: "modes", Name: "ada", Data: []byte(stored)}); err != nil {
		t.Fatal(err)
	}
	s := modes.New(docs, nil)
	if got, err := s.Read(t.Context(), "ada"); err != nil || ids(got) != "code architect ask debug new" {
		t.Fatalf("got %s, %v; want the shipped ones and new", ids(got), err)
	}
	renamed := small("new")
	renamed.Name = "renamed"
	if _, err := s.Put(t.Context(), "ada", renamed, nil); err != nil {
		t.Fatal(err)
	}
	d, err := docs.Get(t.Context(), "modes", "ada")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"later":{"x":1}`, `"tone":"loud"`, `"name":"renamed"`, `"bad id"`, `,7,`, `"write-only"`} {
		if !strings.Contains(string(d.Data), want) {
			t.Errorf("the document is %s, want it to have %s", d.Data, want)
		}
	}
	d.Data = []byte(`{"modes":7}`)
	if _, err = docs.Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), "ada"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("got error %v, want %v", err, store.ErrCorrupt)
	}
}

// reader returns a set, or an error.
type reader struct {
	set   modes.Set
	err   error
	calls int
}

func (r *reader) Read(context.Context, string) (modes.Set, error) {
	r.calls++
	return r.set, r.err
}

func TestAFinderCachesForASecondAndOutlivesAnUnreadableStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &reader{err: errors.New("down")}
		f := modes.NewFinder(r, slog.New(slog.DiscardHandler))
		ada := f.Of("ada")
		if _, err := ada.FindMode("ask"); err == nil || errors.Is(err, modes.ErrNotFound) {
			t.Errorf("got error %v, want that of the store", err)
		}
		if got := strings.Join(ada.ModeIDs(), " "); got != "code architect ask debug" {
			t.Errorf("the ids are %s, want the shipped ones", got)
		}
		r.set, r.err = modes.Set{Modes: []modes.Mode{small("mine")}}, nil
		time.Sleep(time.Second)
		for range 3 {
			if m, err := ada.FindMode("name of MINE"); err != nil || m.ID != "mine" {
				t.Errorf("got %+v, %v, want mine", m, err)
			}
		}
		if _, err := ada.FindMode("ask"); !errors.Is(err, modes.ErrNotFound) {
			t.Errorf("got error %v, want %v", err, modes.ErrNotFound)
		}
		if r.calls != 2 {
			t.Errorf("%d reads, want 2", r.calls)
		}
		r.err = errors.New("down")
		time.Sleep(time.Second)
		if _, err := ada.FindMode("mine"); err != nil || r.calls != 3 {
			t.Errorf("got error %v after %d reads, want the cached mode after 3", err, r.calls)
		}
		r.set.Modes, r.err = nil, nil
		f.Invalidate("ada")
		if _, err := ada.FindMode("mine"); !errors.Is(err, modes.ErrNotFound) {
			t.Errorf("got error %v after Invalidate, want %v", err, modes.ErrNotFound)
		}
	})
}

// A change of the default rules through one replica counts at another one within a second, and at once where it
// was made. Rules of a later version are kept and allow nothing.
func TestDefaultApprovalRules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := openDocuments(t)
		var here *modes.Finder
		first := modes.New(docs, func(_ context.Context, user string) { here.Invalidate(user) })
		here = modes.NewFinder(first, slog.New(slog.DiscardHandler))
		there := modes.NewFinder(modes.New(docs, nil), slog.New(slog.DiscardHandler))
		if got := there.Of("ada").DefaultApproval(); got.AutoApprovalEnabled {
			t.Errorf("the rules are %+v before they were set, want none", got)
		}
		rules := wire.AutoApproval{AutoApprovalEnabled: true, AlwaysAllowReadOnly: true}
		set, err := first.SetApproval(t.Context(), "ada", &rules, new(uint64(0)))
		if err != nil || set.Approval == nil || set.Version != 1 {
			t.Fatalf("got %+v, %v; want the rules", set, err)
		}
		if got := here.Of("ada").DefaultApproval(); !got.AlwaysAllowReadOnly {
			t.Errorf("the rules are %+v where they were set, want them at once", got)
		}
		time.Sleep(time.Second)
		if got := there.Of("ada").DefaultApproval(); !got.AlwaysAllowReadOnly {
			t.Errorf("the rules are %+v at the other replica, want them after a second", got)
		}
		if _, err := first.Put(t.Context(), "ada", small("mine"), nil); err != nil {
			t.Fatal(err)
		}
		if set, err = first.SetApproval(t.Context(), "ada", nil, new(uint64(1))); !errors.Is(err, modes.ErrConflict) || set.Approval == nil {
			t.Errorf("got %+v, %v; want a conflict with what is stored", set, err)
		}
		if _, err := first.SetApproval(t.Context(), "ada", &wire.AutoApproval{AllowedMaxRequests: -1}, nil); err == nil {
			t.Error("rules that are not valid were stored, want them refused")
		}
		if set, err = first.SetApproval(t.Context(), "ada", nil, nil); err != nil || set.Approval != nil || len(set.Modes) != 5 {
			t.Errorf("got %+v, %v; want no rules and all modes", set, err)
		}
		d := store.Document{Collection: "modes", Name: "eve", Data: []byte(`{"approval":{"allowedMaxRequests":"many"},"modes":[]}`)}
		if _, err := docs.Put(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if set, err = first.Put(t.Context(), "eve", small("mine"), nil); err != nil || set.Approval != nil {
			t.Errorf("got %+v, %v; want no rules", set, err)
		}
		if d, err = docs.Get(t.Context(), "modes", "eve"); err != nil || !strings.Contains(string(d.Data), `"allowedMaxRequests":"many"`) {
			t.Errorf("the document is %s, %v; want the rules of the later version in it", d.Data, err)
		}
	})
}
