package secrets_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore"
)

// A replica that does not rotate seals with the new key, too, so that the old key can be removed after
// the rotation.
func TestOtherReplicasSealWithTheNewKey(t *testing.T) {
	t.Parallel()
	docs, folder := openDocuments(t)
	path := filepath.Join(folder, "keys")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *secrets.Store {
		ring, err := secrets.ReadKeyFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return secrets.New(docs, ring, ignore)
	}
	old, fresh := newKeys(1), newKeys(1)
	write(old)
	here, there := open(), open()
	ada := secrets.Owner{User: "ada"}
	set(t, here, ada, "a", "before")
	write(fresh + "\n" + old)
	if r, err := here.Rotate(t.Context()); err != nil || r.Sealed != 1 {
		t.Errorf("the rotation is %+v, %v, want 1 sealed", r, err)
	}
	set(t, there, ada, "b", "after")
	write(fresh)
	later := open()
	for name, want := range map[string]string{"a": "before", "b": "after"} {
		if got := reveal(t, later, ada, name); got != want {
			t.Errorf("without the old key %s is %q, want %q", name, got, want)
		}
	}
	// While the file is being written, the known key counts.
	write("")
	set(t, later, ada, "c", "meanwhile")
	write(fresh)
	if got := reveal(t, open(), ada, "c"); got != "meanwhile" {
		t.Errorf("what was set while the file was empty is %q, want meanwhile", got)
	}
}

// fullStore refuses to store documents.
type fullStore struct{ *documents }

type documents = filestore.Documents

func (fullStore) Put(context.Context, store.Document) (uint64, error) { return 0, store.ErrNoSpace }

// Rotations that fail never delete a key that is needed, however many there are.
func TestFailedRotationsKeepTheOldKey(t *testing.T) {
	t.Parallel()
	docs, folder := openDocuments(t)
	path := filepath.Join(folder, "secret.key")
	ring, err := secrets.OwnKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ada := secrets.Owner{User: "ada"}
	set(t, secrets.New(docs, ring, ignore), ada, "a", canary)
	full := secrets.New(fullStore{docs}, ring, ignore)
	for range 20 {
		if _, err := full.Rotate(t.Context()); err == nil {
			t.Fatal("a rotation without space succeeds, want an error")
		}
	}
	again, err := secrets.OwnKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := secrets.New(docs, again, ignore)
	if got := reveal(t, s, ada, "a"); got != canary {
		t.Errorf("after the failed rotations the secret is %q, want it readable", got)
	}
	if r, err := s.Rotate(t.Context()); err != nil || r.Sealed != 1 || r.Unreadable != 0 {
		t.Errorf("the rotation is %+v, %v, want 1 sealed", r, err)
	}
	if n := keysIn(t, path); n != 1 {
		t.Errorf("the file has %d keys, want 1", n)
	}
}

// keysIn returns the number of keys in a file.
func keysIn(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return len(strings.Fields(string(text)))
}

// Secrets whose key is lost do not make the keys pile up.
func TestRotationsWithUnreadableSecrets(t *testing.T) {
	t.Parallel()
	docs, folder := openDocuments(t)
	path := filepath.Join(folder, "secret.key")
	ring, err := secrets.OwnKeyFile(path)
	if err != nil {
		t.Fatal(err)
	}
	set(t, secrets.New(docs, ringOf(t, newKeys(1)), ignore), secrets.Owner{User: "bob"}, "lost", canary)
	s := secrets.New(docs, ring, ignore)
	ada := secrets.Owner{User: "ada"}
	set(t, s, ada, "a", canary)
	ids := map[string]bool{}
	for range 20 {
		r, err := s.Rotate(t.Context())
		if err != nil || r.Sealed != 1 || r.Unreadable != 1 {
			t.Fatalf("the rotation is %+v, %v, want 1 sealed and 1 unreadable", r, err)
		}
		ids[r.Key] = true
	}
	if got := fmt.Sprintf("%d %d %s", len(ids), keysIn(t, path), reveal(t, s, ada, "a")); got != "20 1 "+canary {
		t.Errorf("20 rotations made this many keys, of which this many are left, with the secret: %s; want 20 1 %s", got, canary)
	}
}
