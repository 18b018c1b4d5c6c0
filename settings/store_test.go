package settings_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
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

func newStore(t *testing.T, docs settings.Documents, pins ...settings.Pin) *settings.Store {
	t.Helper()
	s, err := settings.New(docs, settings.Config{Catalogue: allTypes(), Pins: pins, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func change(name, value string) settings.Change {
	return settings.Change{Name: name, Value: json.RawMessage(value)}
}

// state returns the value and the source of a setting.
func state(t *testing.T, s *settings.Store, of settings.Subject, name string) string {
	t.Helper()
	values, err := s.Read(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if v.Setting.Name == name {
			return string(v.Value) + " " + string(v.Source)
		}
	}
	return ""
}

// codes returns the codes of refusals by name.
func codes(out settings.Outcome) map[string]settings.Code {
	m := map[string]settings.Code{}
	for _, r := range out.Refused {
		m[r.Name] = r.Code
	}
	return m
}

// A refused change blocks no other change of the same call, and each has its code.
func TestOneBadValueBlocksNoOther(t *testing.T) {
	t.Parallel()
	s := newStore(t, openDocuments(t), settings.Pin{Name: "choice", Value: json.RawMessage(`"high"`), Where: "flag --x"})
	ada := settings.Subject{User: "ada"}
	out, err := s.Change(t.Context(), ada, settings.ByUser, []settings.Change{
		change("bool", "true"), change("int", "5"), change("number", `"x"`), change("nothing", "1"), change("choice", `"low"`),
		change("operators", `"a"`), change("hubOnly", "2"), change("hidden", `"k"`), change("text", `"ok"`),
		{Name: "list", Value: json.RawMessage(`["a"]`), Was: json.RawMessage(`["b"]`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]settings.Code{
		"int": settings.CodeRange, "number": settings.CodeType, "nothing": settings.CodeUnknown, "choice": settings.CodePinned,
		"operators": settings.CodeForbidden, "hubOnly": settings.CodeScope, "list": settings.CodeConflict, "hidden": settings.CodeSecret,
	}
	if got := codes(out); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("refused %v, want %v", got, want)
	}
	for name, want := range map[string]string{"bool": "true user", "text": `"ok" user`, "int": "20 default", "choice": `"high" pinned`, "list": "[] default"} {
		if got := state(t, s, ada, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := state(t, s, settings.Subject{User: "bob"}, "bool"); got != "false default" {
		t.Errorf("another user has %s, want false default", got)
	}
}

// A version without a catalogue writes the document of a user as a whole. Settings that it does not know
// keep their values.
func TestAnEarlierVersionKeepsNewSettings(t *testing.T) {
	t.Parallel()
	docs := openDocuments(t)
	s := newStore(t, docs)
	ada := settings.Subject{User: "ada"}
	out, err := s.Change(t.Context(), ada, settings.ByUser, []settings.Change{change("text", `"old"`), change("everywhere", "7"), change("nothing", "1")})
	if err != nil || len(out.Refused) != 1 || out.Refused[0].Code != settings.CodeUnknown {
		t.Fatalf("error %v, refused %v, want only the unknown name refused", err, codes(out))
	}
	d, err := docs.Get(t.Context(), "settings", "ada")
	if err != nil {
		t.Fatal(err)
	}
	d.Data = []byte(`{"text":"new"}`)
	if _, err := docs.Put(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"text": `"new" user`, "everywhere": "7 user"} {
		if got := state(t, s, ada, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// The narrowest value counts, and removing it uncovers the wider one.
func TestScopes(t *testing.T) {
	t.Parallel()
	s := newStore(t, openDocuments(t))
	hub, user, session := settings.Subject{}, settings.Subject{User: "ada"}, settings.Subject{User: "ada", Session: "ses-1"}
	for i, step := range []struct {
		of                   settings.Subject
		value                string
		hub, user, inSession string
	}{
		{hub, "1", "1 hub", "1 hub", "1 hub"},
		{session, "3", "1 hub", "1 hub", "3 session"},
		{user, "2", "1 hub", "2 user", "3 session"},
		{session, "null", "1 hub", "2 user", "2 user"},
		{hub, "", "0 default", "2 user", "2 user"},
		{user, "null", "0 default", "0 default", "0 default"},
	} {
		out, err := s.Change(t.Context(), step.of, settings.ByAdmin, []settings.Change{change("everywhere", step.value)})
		if err != nil || len(out.Refused) > 0 {
			t.Fatalf("step %d: %v, refused %v", i, err, codes(out))
		}
		for of, want := range map[settings.Subject]string{hub: step.hub, user: step.user, session: step.inSession} {
			if got := state(t, s, of, "everywhere"); got != want {
				t.Errorf("step %d: %+v has %s, want %s", i, of, got, want)
			}
		}
	}
	for name, want := range map[settings.Changer]map[string]settings.Code{
		settings.ByUser: {"everywhere": settings.CodeForbidden}, settings.ByAdmin: {},
	} {
		out, err := s.Change(t.Context(), hub, name, []settings.Change{change("everywhere", "4")})
		if err != nil || fmt.Sprint(codes(out)) != fmt.Sprint(want) {
			t.Errorf("%s changes the hub: %v, refused %v, want %v", name, err, codes(out), want)
		}
	}
}

// Stored values that are not valid count as absent; names that this version does not know are kept.
func TestStoredValues(t *testing.T) {
	t.Parallel()
	docs := openDocuments(t)
	put := func(data string) {
		d, _ := docs.Get(t.Context(), "settings", "ada")
		if _, err := docs.Put(t.Context(), store.Document{Collection: "settings", Name: "ada", Data: []byte(data), Version: d.Version}); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"int":99,"text":"ok","future":{"a":1},"bool":null,"hubOnly":5}`)
	s := newStore(t, docs)
	ada := settings.Subject{User: "ada"}
	values, err := s.Read(t.Context(), ada)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if (v.Invalid != nil) != (v.Setting.Name == "int") {
			t.Errorf("%s: invalid is %v", v.Setting.Name, v.Invalid)
		}
	}
	for name, want := range map[string]string{"int": "20 default", "text": `"ok" user`, "bool": "false default", "hubOnly": "1 default"} {
		if got := state(t, s, ada, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if _, err := s.Change(t.Context(), ada, settings.ByUser, []settings.Change{change("int", "11")}); err != nil {
		t.Fatal(err)
	}
	d, err := docs.Get(t.Context(), "settings", "ada")
	if want := `{"future":{"a":1},"hubOnly":5,"int":11,"text":"ok"}`; err != nil || string(d.Data) != want {
		t.Errorf("stored %s, %v, want %s", d.Data, err, want)
	}
	put(`[1]`)
	if _, err := s.Read(t.Context(), ada); err == nil {
		t.Error("a document that is no object is read without an error")
	}
}

func TestPinsAreChecked(t *testing.T) {
	t.Parallel()
	for _, pin := range []settings.Pin{
		{Name: "nothing", Value: json.RawMessage("1"), Where: "file a"},
		{Name: "int", Value: json.RawMessage("1"), Where: "file a"},
	} {
		if _, err := settings.New(nil, settings.Config{Catalogue: allTypes(), Pins: []settings.Pin{pin}}); err == nil {
			t.Errorf("the pin %s of %s is taken", pin.Name, pin.Value)
		}
	}
}

// Two writers on two replicas change the same settings concurrently. Each change that carries the
// value its author saw takes effect only if no other came in between, so every successful increment
// counts once; changes without it never lose those of other settings.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		docs := &memory{}
		of := settings.Subject{User: "ada", Session: "ses-1"}
		counts := rapid.SliceOfN(rapid.IntRange(0, 4), 2, 2).Draw(r, "increments")
		var wg sync.WaitGroup
		var won [2]int
		names := []string{"text", "list"}
		values := []string{`"mine"`, `["mine"]`}
		for w := range 2 {
			s, err := settings.New(docs, settings.Config{Catalogue: allTypes(), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				r.Fatal(err)
			}
			wg.Go(func() {
				for range counts[w] {
					seen := everywhere(r, s, of)
					out, err := s.Change(t.Context(), of, settings.ByUser, []settings.Change{
						{Name: "everywhere", Value: json.RawMessage(strconv.Itoa(seen + 1)), Was: json.RawMessage(strconv.Itoa(seen))},
					})
					if err != nil {
						r.Errorf("change: %v", err)
					}
					won[w] += 1 - len(out.Refused)
				}
				user := settings.Subject{User: "ada"}
				if _, err := s.Change(t.Context(), user, settings.ByUser, []settings.Change{change(names[w], values[w])}); err != nil {
					r.Errorf("change: %v", err)
				}
			})
		}
		wg.Wait()
		s, err := settings.New(docs, settings.Config{Catalogue: allTypes(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			r.Fatal(err)
		}
		if got := everywhere(r, s, of); got != won[0]+won[1] {
			r.Errorf("after %v increments that took effect the value is %d", won, got)
		}
		for w, name := range names {
			if got := state(t, s, of, name); got != values[w]+" user" {
				r.Errorf("%s is %s, want %s user", name, got, values[w])
			}
		}
	})
}

// everywhere returns the value of the setting everywhere.
func everywhere(r *rapid.T, s *settings.Store, of settings.Subject) int {
	values, err := s.Read(context.Background(), of)
	if err != nil {
		r.Errorf("read: %v", err)
	}
	i := slices.IndexFunc(values, func(v settings.State) bool { return v.Setting.Name == "everywhere" })
	n, err := strconv.Atoi(string(values[i].Value))
	if err != nil {
		r.Errorf("value: %v", err)
	}
	return n
}

// memory is a store of documents without TTL in memory, which is fast enough for many programs.
type memory struct {
	mu   sync.Mutex
	docs map[string]store.Document
}

func (m *memory) Get(_ context.Context, collection, name string) (store.Document, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.docs[collection+"/"+name]
	if !ok {
		return d, store.ErrNotFound
	}
	return d, nil
}

func (m *memory) Put(_ context.Context, d store.Document) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := d.Collection + "/" + d.Name
	if m.docs[key].Version != d.Version {
		return 0, store.ErrConflict
	}
	d.Version++
	if m.docs == nil {
		m.docs = map[string]store.Document{}
	}
	m.docs[key] = d
	return d.Version, nil
}

func (m *memory) Documents(_ context.Context, collection, _ string, _ int) (page store.Page[store.Document], err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.docs {
		if d.Collection == collection {
			page.Items = append(page.Items, d)
		}
	}
	return page, nil
}
