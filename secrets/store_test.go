package secrets_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
)

const canary = "sk-canary-0123456789-WXYZ"

func openDocuments(t *testing.T) (*filestore.Documents, string) {
	t.Helper()
	folder := t.TempDir()
	s, err := filestore.Open(folder, filestore.Config{Sync: filestore.SyncOff, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Documents, folder
}

// newKeys returns the text of n keys.
func newKeys(n int) string {
	var all []string
	for range n {
		raw := make([]byte, 32)
		rand.Read(raw)
		all = append(all, base64.StdEncoding.EncodeToString(raw))
	}
	return strings.Join(all, ",")
}

func ringOf(t *testing.T, text string) *secrets.Keyring {
	t.Helper()
	ring, err := secrets.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

func ignore(context.Context, secrets.Owner, []string) {}

func set(t *testing.T, s *secrets.Store, of secrets.Owner, name, text string) {
	t.Helper()
	if err := s.Set(t.Context(), of, name, secrets.NewValue(text)); err != nil {
		t.Fatalf("set %s: %v", name, err)
	}
}

// reveal returns a secret, or the text of the error.
func reveal(t *testing.T, s *secrets.Store, of secrets.Owner, name string) string {
	t.Helper()
	v, err := s.Reveal(t.Context(), of, name)
	if err != nil {
		return err.Error()
	}
	return v.Reveal()
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	docs, _ := openDocuments(t)
	var published []string
	s := secrets.New(docs, ringOf(t, newKeys(1)), func(_ context.Context, of secrets.Owner, names []string) {
		published = append(published, of.User+":"+strings.Join(names, ","))
	})
	ada, hub := secrets.Owner{User: "ada"}, secrets.Owner{}
	set(t, s, ada, "key", canary)
	set(t, s, hub, "key", "of the hub")
	for of, want := range map[secrets.Owner]string{ada: canary, hub: "of the hub", {User: "bob"}: "the secret is not set", {User: "hub"}: "the secret is not set"} {
		if got := reveal(t, s, of, "key"); got != want {
			t.Errorf("the key of %+v is %q, want %q", of, got, want)
		}
	}
	set(t, s, ada, "short", "12345678901")
	list, err := s.List(t.Context(), ada)
	if err != nil || len(list) != 2 || list[0].Name != "key" || list[0].LastFour != "WXYZ" || list[0].Changed.IsZero() || list[1].LastFour != "" {
		t.Errorf("the list is %+v, %v, want key with WXYZ and short with nothing", list, err)
	}
	for range 2 {
		if err := s.Remove(t.Context(), ada, "key"); err != nil {
			t.Error(err)
		}
	}
	if got := reveal(t, s, ada, "key"); got != secrets.ErrNotSet.Error() {
		t.Errorf("after the removal the key is %q", got)
	}
	if want := "[ada:key :key ada:short ada:key]"; fmt.Sprint(published) != want {
		t.Errorf("published %v, want %s", published, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	docs, _ := openDocuments(t)
	s := secrets.New(docs, ringOf(t, newKeys(1)), ignore)
	ada := secrets.Owner{User: "ada"}
	for _, c := range [][2]string{
		{"", "x"},
		{"a b", "x"},
		{"-a", "x"},
		{strings.Repeat("a", 65), "x"},
		{"a/b", "x"},
		{"a", ""},
		{"a", "x\ny"},
		{"a", "x\x00"},
		{"a", strings.Repeat("x", secrets.MaxBytes+1)},
	} {
		if err := s.Set(t.Context(), ada, c[0], secrets.NewValue(c[1])); !errors.Is(err, secrets.ErrInvalid) {
			t.Errorf("the name %.20q with %d bytes: %v, want ErrInvalid", c[0], len(c[1]), err)
		}
	}
	for i := range secrets.MaxSecrets {
		set(t, s, ada, fmt.Sprintf("n%d", i), "x")
	}
	if err := s.Set(t.Context(), ada, "more", secrets.NewValue("x")); !errors.Is(err, secrets.ErrFull) {
		t.Errorf("one more: %v, want ErrFull", err)
	}
	set(t, s, ada, "n0", "changed")
	none := secrets.New(docs, secrets.NoKeys(), ignore)
	if err := none.Set(t.Context(), ada, "a", secrets.NewValue("x")); !errors.Is(err, secrets.ErrNoKey) || !strings.Contains(err.Error(), "--secret-key-file") {
		t.Errorf("without a key: %v, want ErrNoKey with what to do", err)
	}
	if !errors.Is(none.Storable(), secrets.ErrNoKey) || s.Storable() != nil {
		t.Errorf("storable: %v without and %v with a key", none.Storable(), s.Storable())
	}
}

// With another key a secret is reported as unreadable, others are not affected, and it can be set
// again.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	docs, _ := openDocuments(t)
	ada := secrets.Owner{User: "ada"}
	old := secrets.New(docs, ringOf(t, newKeys(1)), ignore)
	set(t, old, ada, "key", canary)
	s := secrets.New(docs, ringOf(t, newKeys(1)), ignore)
	set(t, s, ada, "other", "readable secret")
	if got := reveal(t, s, ada, "key"); !strings.HasPrefix(got, secrets.ErrUnreadable.Error()) {
		t.Errorf("with another key it is %q, want that it cannot be read", got)
	}
	list, err := s.List(t.Context(), ada)
	if err != nil || len(list) != 2 || list[0].Unreadable == "" || list[0].LastFour != "" || list[1].Unreadable != "" {
		t.Errorf("the list is %+v, %v, want key unreadable and other readable", list, err)
	}
	set(t, s, ada, "key", "new")
	if got := reveal(t, s, ada, "key"); got != "new" {
		t.Errorf("set again it is %q, want new", got)
	}
}

// A sealed secret opens only for its owner and name, and only unchanged.
func TestSecretsAreBound(t *testing.T) {
	t.Parallel()
	docs, folder := openDocuments(t)
	s := secrets.New(docs, ringOf(t, newKeys(1)), ignore)
	ada, bob := secrets.Owner{User: "ada"}, secrets.Owner{User: "bob"}
	set(t, s, ada, "key", canary)
	d, err := docs.Get(t.Context(), "secrets", "ada")
	if err != nil {
		t.Fatal(err)
	}
	var sealed map[string]map[string]any
	if err := json.Unmarshal(d.Data, &sealed); err != nil {
		t.Fatal(err)
	}
	put := func(user string, all any) {
		t.Helper()
		data, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		now, _ := docs.Get(t.Context(), "secrets", user) // the zero version if there is none
		if _, err := docs.Put(t.Context(), store.Document{Collection: "secrets", Name: user, Data: data, Version: now.Version}); err != nil {
			t.Fatal(err)
		}
	}
	put("bob", sealed)
	put("ada", map[string]any{"key": sealed["key"], "other": sealed["key"]})
	for _, c := range []struct {
		of   secrets.Owner
		name string
		want bool
	}{{ada, "key", true}, {ada, "other", false}, {bob, "key", false}} {
		if got := reveal(t, s, c.of, c.name); (got == canary) != c.want {
			t.Errorf("%s of %s is %q, want that it opens: %t", c.name, c.of.User, got, c.want)
		}
	}
	data, ok := sealed["key"]["data"].(string)
	if !ok {
		t.Fatalf("the sealed secret is %v", sealed)
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	sealed["key"]["data"] = raw
	put("ada", sealed)
	if got := reveal(t, s, ada, "key"); got == canary {
		t.Error("a changed secret opens")
	}
	noFileHas(t, folder, canary)
}

// noFileHas searches the files of a folder for a text.
func noFileHas(t *testing.T, folder, text string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	docs, folder := openDocuments(t)
	path := filepath.Join(folder, "secret.key")
	ring, err := secrets.OwnKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("the key file has mode %v, %v, want 0600", info.Mode(), err)
	}
	ada := secrets.Owner{User: "ada"}
	set(t, secrets.New(docs, ring, ignore), ada, "key", canary)
	again, err := secrets.OwnKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := reveal(t, secrets.New(docs, again, ignore), ada, "key"); got != canary {
		t.Errorf("after a restart the secret is %q", got)
	}
	for text, why := range map[string]string{"": "1 to 16 keys", "AAAA": "32 bytes", "no key": "32 bytes", newKeys(17): "1 to 16 keys"} {
		if _, err := secrets.ParseKeys(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("the keys %.20q: %v, want %q in the error", text, err, why)
		}
	}
	if _, err := secrets.ReadKeyFile(filepath.Join(folder, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without the file: %v, want that it does not exist", err)
	}
}

// A replica that was started with the old keys opens what another has sealed with a new one, once
// its file has it.
func TestKeyFileIsReadAgain(t *testing.T) {
	t.Parallel()
	docs, folder := openDocuments(t)
	path := filepath.Join(folder, "keys")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old, fresh := newKeys(1), newKeys(1)
	write(old)
	ring, err := secrets.ReadKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	here, there := secrets.New(docs, ring, ignore), secrets.New(docs, ringOf(t, fresh+","+old), ignore)
	ada := secrets.Owner{User: "ada"}
	set(t, here, ada, "a", "first")
	if r, err := there.Rotate(t.Context()); err != nil || r.Sealed != 1 || r.Unreadable != 0 {
		t.Errorf("the rotation is %+v, %v, want 1 sealed", r, err)
	}
	if got := reveal(t, here, ada, "a"); got == "first" {
		t.Error("it opens without the new key")
	}
	write(fresh + "\n" + old)
	if got := reveal(t, here, ada, "a"); got != "first" {
		t.Errorf("with the new key in the file it is %q, want first", got)
	}
}

// While secrets are set and read, the keys are rotated: no secret is ever lost, and the first key is
// the only one in the end.
func TestRotationUnderLoad(t *testing.T) {
	t.Parallel()
	docs, folder := openDocuments(t)
	path := filepath.Join(folder, "secret.key")
	ring, err := secrets.OwnKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := secrets.New(docs, ring, ignore)
	const users, changes = 4, 25
	var wg sync.WaitGroup
	for u := range users {
		of := secrets.Owner{User: fmt.Sprintf("user-%d", u)}
		wg.Go(func() {
			for i := range changes {
				name, text := fmt.Sprintf("n%d", i%3), fmt.Sprintf("%s-%d", canary, i)
				if err := s.Set(t.Context(), of, name, secrets.NewValue(text)); err != nil {
					t.Errorf("set: %v", err)
				}
				if v, err := s.Reveal(t.Context(), of, name); err != nil || v.Reveal() != text {
					t.Errorf("after setting it the secret is %v, %v", v.Reveal() == text, err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 8 {
			if _, err := s.Rotate(t.Context()); err != nil {
				t.Errorf("rotate: %v", err)
			}
		}
	})
	wg.Wait()
	if r, err := s.Rotate(t.Context()); err != nil || r.Sealed != users*3 || r.Unreadable != 0 {
		t.Errorf("the last rotation is %+v, %v, want %d sealed", r, err, users*3)
	}
	text, err := os.ReadFile(path)
	if err != nil || len(strings.Fields(string(text))) != 1 {
		t.Errorf("the file has %d keys, %v, want 1", len(strings.Fields(string(text))), err)
	}
	later, err := secrets.OwnKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for u := range users {
		if got := reveal(t, secrets.New(docs, later, ignore), secrets.Owner{User: fmt.Sprintf("user-%d", u)}, "n0"); !strings.HasPrefix(got, canary) {
			t.Errorf("user %d has %q after a restart", u, got)
		}
	}
}

func TestValuesDoNotPrint(t *testing.T) {
	t.Parallel()
	v := secrets.NewValue(canary)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", v, "inside", struct{ V secrets.Value }{v})
	data, err := json.Marshal(map[string]any{"v": v, "list": []secrets.Value{v}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(v), fmt.Sprintf("%v %+v %#v %s %q", v, v, v, v, v), fmt.Sprintf("%+v", struct{ V secrets.Value }{v}), log.String(), string(data)} {
		if strings.Contains(text, "canary") {
			t.Errorf("it prints as %s", text)
		}
	}
}

// Documents that no hub wrote are reported and cause no panic.
func FuzzStored(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, `[]`, `{"key":{}}`, `{"key":{"key":"00000000","data":"AAAA"}}`, `{"key":{"data":null,"changed":"never"}}`} {
		f.Add([]byte(seed))
	}
	keys := newKeys(1)
	f.Fuzz(func(t *testing.T, data []byte) {
		ring, err := secrets.ParseKeys(keys)
		if err != nil {
			t.Fatal(err)
		}
		s := secrets.New(oneDocument{data: data}, ring, ignore)
		list, err := s.List(t.Context(), secrets.Owner{User: "ada"})
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("got %v, want that it is corrupt", err)
		}
		for _, one := range list {
			if one.Unreadable == "" {
				t.Errorf("%q opens", one.Name)
			}
		}
	})
}

// oneDocument is a store with one document, which cannot be changed.
type oneDocument struct{ data []byte }

func (o oneDocument) Put(context.Context, store.Document) (uint64, error) {
	return 0, store.ErrUnavailable
}

func (o oneDocument) Documents(context.Context, string, string, int) (store.Page[store.Document], error) {
	return store.Page[store.Document]{}, store.ErrUnavailable
}

func (o oneDocument) Get(context.Context, string, string) (store.Document, error) {
	return store.Document{Data: o.data, Version: 1}, nil
}
