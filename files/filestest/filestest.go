package filestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

// Run runs the suite. open returns a backend without objects; every test has one of its own.
func Run(t *testing.T, open func(t *testing.T) files.Backend) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, files.Backend){
		"what is put can be read and listed":           putAndRead,
		"an object is stored whole or not at all":      wholeOrNothing,
		"conditions compare what is stored":            conditions,
		"one of concurrent conditional writers wins":   oneWriterWins,
		"files and folders move, never onto another":   moves,
		"removing takes a folder with its content":     removes,
		"sessions and areas are separate":              separate,
		"names that other systems give a meaning work": strangeNames,
		"reading seeks and reads in parallel":          seeks,
		"a cancelled put stores nothing":               cancelled,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

const session = wire.SessionID("ses-1")

func file(name string) files.Key {
	return files.Key{Session: session, Area: files.AreaFiles, Name: name}
}

func put(t *testing.T, b files.Backend, key files.Key, text string) files.Entry {
	t.Helper()
	e, err := b.Put(t.Context(), key, strings.NewReader(text), int64(len(text)), files.Condition{})
	if err != nil {
		t.Fatalf("put %v: %v", key, err)
	}
	return e
}

func read(t *testing.T, b files.Backend, key files.Key) string {
	t.Helper()
	f, e, err := b.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("open %v: %v", key, err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatalf("read %v: %v", key, err)
	}
	if e.Path != key.Name || e.Size != int64(len(data)) || e.Folder || e.ETag == "" {
		t.Errorf("entry of %v: got %+v, want a file with %d bytes and an ETag", key, e, len(data))
	}
	return string(data)
}

// paths lists the files below a folder.
func paths(t *testing.T, b files.Backend, key files.Key) []string {
	t.Helper()
	all, err := b.List(t.Context(), key)
	if err != nil {
		t.Fatalf("list %v: %v", key, err)
	}
	found := []string{}
	for _, e := range all {
		if !e.Folder {
			found = append(found, e.Path)
		}
	}
	return found
}

func wantPaths(t *testing.T, b files.Backend, key files.Key, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), paths(t, b, key)); diff != "" {
		t.Errorf("files below %v (-want +got):\n%s", key, diff)
	}
}

func missing(t *testing.T, b files.Backend, key files.Key) {
	t.Helper()
	f, _, err := b.Open(t.Context(), key)
	if err == nil {
		_ = f.Close()
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open %v: got error %v, want %v", key, err, fs.ErrNotExist)
	}
}

func putAndRead(t *testing.T, b files.Backend) {
	t.Helper()
	wantPaths(t, b, file(""))
	missing(t, b, file("a"))
	first := put(t, b, file("a"), "one")
	if first.Path != "a" || first.Size != 3 || first.ETag == "" || first.Modified.IsZero() {
		t.Errorf("entry: got %+v, want a with 3 bytes, an ETag and a time", first)
	}
	second := put(t, b, file("a"), "two")
	if second.ETag == first.ETag {
		t.Errorf("ETag of other content of the same size: got %q again, want another", second.ETag)
	}
	put(t, b, file("dir/sub/b"), "")
	put(t, b, file("dir/c"), strings.Repeat("x", 1<<20))
	if got := read(t, b, file("a")); got != "two" {
		t.Errorf("a: got %q, want two", got)
	}
	if got := read(t, b, file("dir/c")); len(got) != 1<<20 {
		t.Errorf("dir/c: got %d bytes, want %d", len(got), 1<<20)
	}
	wantPaths(t, b, file(""), "a", "dir/c", "dir/sub/b")
	wantPaths(t, b, file("dir"), "dir/c", "dir/sub/b")
	all, err := b.List(t.Context(), file(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Path == "a" && (e.ETag != second.ETag || e.Size != 3) {
			t.Errorf("listed a: got %+v, want ETag %q and 3 bytes", e, second.ETag)
		}
	}
	if _, err := b.List(t.Context(), file("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("list a missing folder: got error %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := b.Put(t.Context(), file("unknown size"), strings.NewReader("text"), -1, files.Condition{}); err != nil {
		t.Errorf("put without a size: %v", err)
	}
	if got := read(t, b, file("unknown size")); got != "text" {
		t.Errorf("file put without a size: got %q, want text", got)
	}
}

func wholeOrNothing(t *testing.T, b files.Backend) {
	t.Helper()
	put(t, b, file("kept"), "before")
	for name, size := range map[string]int64{"kept": 100, "new": 100, "new without size": -1} {
		broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
		if _, err := b.Put(t.Context(), file(name), broken, size, files.Condition{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("put %s from a broken reader: got error %v, want %v", name, err, io.ErrUnexpectedEOF)
		}
	}
	if got := read(t, b, file("kept")); got != "before" {
		t.Errorf("file after a broken put: got %q, want before", got)
	}
	wantPaths(t, b, file(""), "kept")
}

func conditions(t *testing.T, b files.Backend) {
	t.Helper()
	try := func(text string, c files.Condition) (files.Entry, error) {
		return b.Put(t.Context(), file("a"), strings.NewReader(text), int64(len(text)), c)
	}
	if _, err := try("x", files.Condition{ETag: "none"}); !errors.Is(err, files.ErrChanged) {
		t.Errorf("replace a missing file: got error %v, want %v", err, files.ErrChanged)
	}
	missing(t, b, file("a"))
	first, err := try("one", files.Condition{Absent: true})
	if err != nil {
		t.Fatalf("create a: %v", err)
	}
	if _, err := try("two", files.Condition{Absent: true}); !errors.Is(err, files.ErrChanged) {
		t.Errorf("create a again: got error %v, want %v", err, files.ErrChanged)
	}
	second, err := try("two", files.Condition{ETag: first.ETag})
	if err != nil {
		t.Fatalf("replace a: %v", err)
	}
	if _, err := try("six", files.Condition{ETag: first.ETag}); !errors.Is(err, files.ErrChanged) {
		t.Errorf("replace a by an old ETag: got error %v, want %v", err, files.ErrChanged)
	}
	if got := read(t, b, file("a")); got != "two" {
		t.Errorf("a: got %q, want two", got)
	}
	f, e, err := b.Open(t.Context(), file("a"))
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if e.ETag != second.ETag {
		t.Errorf("ETag of the open file: got %q, want that of the write, %q", e.ETag, second.ETag)
	}
}

func oneWriterWins(t *testing.T, b files.Backend) {
	t.Helper()
	first := put(t, b, file("a"), "start")
	const writers = 8
	var wg sync.WaitGroup
	results := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			text := fmt.Sprintf("from %d", i)
			_, results[i] = b.Put(t.Context(), file("a"), strings.NewReader(text), int64(len(text)), files.Condition{ETag: first.ETag})
		})
	}
	wg.Wait()
	won := 0
	for i, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, files.ErrChanged):
			t.Errorf("writer %d: got error %v, want %v", i, err, files.ErrChanged)
		}
	}
	if won != 1 {
		t.Errorf("writers that replaced the file: got %d, want 1", won)
	}
}

func moves(t *testing.T, b files.Backend) {
	t.Helper()
	put(t, b, file("a"), "A")
	put(t, b, file("dir/b"), "B")
	put(t, b, file("dir/sub/c"), "C")
	if _, err := b.Move(t.Context(), file("nope"), file("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("move a missing file: got error %v, want %v", err, fs.ErrNotExist)
	}
	for _, to := range []string{"dir/b", "dir"} {
		if _, err := b.Move(t.Context(), file("a"), file(to)); !errors.Is(err, files.ErrExists) {
			t.Errorf("move a onto %s: got error %v, want %v", to, err, files.ErrExists)
		}
	}
	if _, err := b.Move(t.Context(), file("dir"), file("dir/sub/dir")); !errors.Is(err, files.ErrName) {
		t.Errorf("move a folder into itself: got error %v, want %v", err, files.ErrName)
	}
	e, err := b.Move(t.Context(), file("a"), file("new/a"))
	if err != nil || e.Path != "new/a" || e.Folder || e.Size != 1 {
		t.Errorf("move a: got %+v, %v, want new/a with 1 byte", e, err)
	}
	if e, err = b.Move(t.Context(), file("dir"), file("other/place")); err != nil || e.Path != "other/place" || !e.Folder {
		t.Errorf("move dir: got %+v, %v, want the folder other/place", e, err)
	}
	wantPaths(t, b, file(""), "new/a", "other/place/b", "other/place/sub/c")
	if got := read(t, b, file("other/place/sub/c")); got != "C" {
		t.Errorf("moved file: got %q, want C", got)
	}
	trash := files.Key{Session: session, Area: files.AreaTrash, Name: "1/other/place"}
	if _, err := b.Move(t.Context(), file("other/place"), trash); err != nil {
		t.Errorf("move to another area: %v", err)
	}
	wantPaths(t, b, file(""), "new/a")
	wantPaths(t, b, files.Key{Session: session, Area: files.AreaTrash}, "1/other/place/b", "1/other/place/sub/c")
}

func removes(t *testing.T, b files.Backend) {
	t.Helper()
	for _, name := range []string{"a", "a.b", "dir/b", "dir/sub/c", "dirt"} {
		put(t, b, file(name), "x")
	}
	if err := b.Remove(t.Context(), file("nope")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("remove a missing file: got error %v, want %v", err, fs.ErrNotExist)
	}
	for _, name := range []string{"a", "dir"} {
		if err := b.Remove(t.Context(), file(name)); err != nil {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	wantPaths(t, b, file(""), "a.b", "dirt")
	if err := b.RemoveAll(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	wantPaths(t, b, file(""))
	if err := b.RemoveAll(t.Context(), session); err != nil {
		t.Errorf("remove all files of a session without files: %v", err)
	}
}

func separate(t *testing.T, b files.Backend) {
	t.Helper()
	keys := []files.Key{
		{Session: "ses-1", Area: files.AreaFiles, Name: "a"},
		{Session: "ses-1", Area: files.AreaTrash, Name: "a"},
		{Session: "ses-1", Area: files.AreaUploads, Name: "a"},
		{Session: "ses-1", Area: files.AreaCold, Name: "a"},
		{Session: "ses-1", Area: files.AreaApps, Name: "a"},
		{Session: "ses-10", Area: files.AreaFiles, Name: "a"},
		{Session: "ses-10", Area: files.AreaTrash, Name: "a"},
	}
	for _, k := range keys {
		put(t, b, k, fmt.Sprint(k))
	}
	for _, k := range keys {
		if got := read(t, b, k); got != fmt.Sprint(k) {
			t.Errorf("%v: got %q, want %q", k, got, fmt.Sprint(k))
		}
		wantPaths(t, b, files.Key{Session: k.Session, Area: k.Area}, "a")
	}
	if err := b.RemoveAll(t.Context(), "ses-1"); err != nil {
		t.Fatal(err)
	}
	for _, k := range keys[:3] {
		missing(t, b, k)
	}
	for _, k := range keys[3:] { // those of the store stay
		wantPaths(t, b, files.Key{Session: k.Session, Area: k.Area}, "a")
	}
	if err := b.Remove(t.Context(), keys[3]); err != nil {
		t.Fatal(err)
	}
	missing(t, b, keys[3])
}

func strangeNames(t *testing.T, b files.Backend) {
	t.Helper()
	names := []string{
		"a b+c&d=e?f#g%20h", "보고서/최종 (2).md", "<img src=x onerror=alert(1)>.html", "…" + "\u202e" + "gpj.exe", `quote"quote'`, "~", "-rf", ".hidden/.env",
		strings.Repeat("n", 200) + ".txt", "e\u0301",
	}
	for _, name := range names {
		if err := files.CheckName(name); err != nil {
			t.Fatalf("%q is no valid name: %v", name, err)
		}
		put(t, b, file(name), name)
	}
	for _, name := range names {
		if got := read(t, b, file(name)); got != name {
			t.Errorf("%q: got %q, want its name", name, got)
		}
		moved := file("moved/" + name)
		if _, err := b.Move(t.Context(), file(name), moved); err != nil {
			t.Errorf("move %q: %v", name, err)
			continue
		}
		if err := b.Remove(t.Context(), moved); err != nil {
			t.Errorf("remove %q: %v", name, err)
		}
	}
	wantPaths(t, b, file(""))
}

func seeks(t *testing.T, b files.Backend) {
	t.Helper()
	put(t, b, file("a"), "0123456789")
	f, _, err := b.Open(t.Context(), file("a"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if at, err := f.Seek(-3, io.SeekEnd); err != nil || at != 7 {
		t.Errorf("seek: got %d, %v, want 7", at, err)
	}
	rest, err := io.ReadAll(f)
	if err != nil || string(rest) != "789" {
		t.Errorf("after the seek: got %q, %v, want 789", rest, err)
	}
	piece := make([]byte, 3)
	if _, err := f.ReadAt(piece, 2); err != nil || !bytes.Equal(piece, []byte("234")) {
		t.Errorf("ReadAt: got %q, %v, want 234", piece, err)
	}
}

func cancelled(t *testing.T, b files.Backend) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("the client is gone")
	from := io.MultiReader(strings.NewReader("half"), readerFunc(func([]byte) (int, error) {
		cancel(gone)
		return 0, gone
	}))
	if _, err := b.Put(ctx, file("a"), from, -1, files.Condition{}); err == nil {
		t.Error("a cancelled put: got no error, want one")
	}
	missing(t, b, file("a"))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }
