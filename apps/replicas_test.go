package apps_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
)

// bucket is a backend in memory that has, like S3, no folders.
type bucket struct {
	files.Backend // panics where the apps need nothing

	mu      sync.Mutex // guards objects
	objects map[files.Key]object
}

type object struct {
	files.Entry
	data []byte
}

type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

func (b *bucket) Put(_ context.Context, key files.Key, from io.Reader, _ int64, c files.Condition) (files.Entry, error) {
	data, err := io.ReadAll(from)
	if err != nil {
		return files.Entry{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	old, exists := b.objects[key]
	if c.Absent && exists || c.ETag != "" && c.ETag != old.ETag {
		return files.Entry{}, files.ErrChanged
	}
	e := files.Entry{Path: key.Name, Size: int64(len(data)), Modified: time.Now(), ETag: fmt.Sprintf("%x", sha256.Sum256(data))}
	b.objects[key] = object{e, data}
	return e, nil
}

func (b *bucket) Open(_ context.Context, key files.Key) (files.Content, files.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, ok := b.objects[key]
	if !ok {
		return nil, files.Entry{}, fs.ErrNotExist
	}
	return content{bytes.NewReader(o.data)}, o.Entry, nil
}

func (b *bucket) List(_ context.Context, key files.Key) (all []files.Entry, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, o := range b.objects {
		if k.Session == key.Session && k.Area == key.Area && strings.HasPrefix(k.Name, key.Name+"/") {
			all = append(all, o.Entry)
		}
	}
	if len(all) == 0 {
		return nil, fs.ErrNotExist
	}
	slices.SortFunc(all, func(a, b files.Entry) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

func (b *bucket) Remove(_ context.Context, key files.Key) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := len(b.objects)
	for k := range b.objects {
		if k.Session == key.Session && k.Area == key.Area && (k.Name == key.Name || strings.HasPrefix(k.Name, key.Name+"/")) {
			delete(b.objects, k)
		}
	}
	if len(b.objects) == before {
		return fs.ErrNotExist
	}
	return nil
}

func TestReplicasShareApps(t *testing.T) {
	t.Parallel()
	b := &bucket{objects: map[files.Key]object{}}
	shareApps(t, b, b)
	if len(b.objects) != 5 { // the app that was in the folder, and the file of a sandbox
		t.Errorf("objects after the app was removed: got %v, want 5", b.objects)
	}
}

// shareApps tests that what one replica does with an app is there on another one, which shares nothing with it but the
// backend.
func shareApps(t *testing.T, first, second files.Backend) {
	t.Helper()
	old := t.TempDir()
	if err := open(t, old).Deploy(t.Context(), ada, "older", page("older")); err != nil {
		t.Fatal(err)
	}
	one, two := apps.New(first, nil), apps.New(second, nil)
	if users, err := one.MoveFrom(t.Context(), old); err != nil || users != 1 {
		t.Fatalf("MoveFrom a folder: got %d, %v, want 1 user", users, err)
	}
	sandbox, err := one.Sandboxes().Create(t.Context(), ada, map[string][]byte{"src/main.ts": []byte("one")})
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Sandboxes().Write(t.Context(), ada, sandbox, "src/main.ts", []byte("two")); err != nil {
		t.Fatal(err)
	}
	if data, err := one.Sandboxes().File(t.Context(), ada, sandbox, "src/main.ts"); err != nil || string(data) != "two" {
		t.Errorf("the file of the sandbox: got %q, %v, want two", data, err)
	}
	for _, text := range []string{"first", "second"} {
		if err := one.Deploy(t.Context(), ada, "counter", page(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := two.Get(t.Context(), ada, "counter"); err != nil || string(b.Page()) != text || len(b.Files) != 3 {
			t.Errorf("Get: got %q, %v, want %s", b.Files, err, text)
		}
		if all, err := two.List(t.Context(), ada); err != nil || len(all) != 2 || all[0].ID != "counter" || all[1].ID != "older" {
			t.Errorf("List: got %+v, %v, want counter and older", all, err)
		}
	}
	if err := two.WriteData(t.Context(), ada, "counter", "notes/a.md", []byte("x")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", "notes/a.md/b"} {
		if err := one.WriteData(t.Context(), ada, "counter", name, nil); !errors.Is(err, files.ErrName) {
			t.Errorf("WriteData(%q): got %v, want ErrName", name, err)
		}
	}
	if data, err := one.ReadData(t.Context(), ada, "counter", "notes/a.md"); err != nil || string(data) != "x" {
		t.Errorf("ReadData: got %q, %v, want x", data, err)
	}
	if err := two.Remove(t.Context(), ada, "counter"); err != nil {
		t.Fatal(err)
	}
	if all, err := one.List(t.Context(), ada); err != nil || len(all) != 1 {
		t.Errorf("List after Remove: got %+v, %v, want older", all, err)
	}
}
