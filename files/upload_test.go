package files_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/wire"
)

// recordChanges returns a function for [files.Config] that writes changes down.
func recordChanges(to *[]string) func(context.Context, wire.SessionID, []files.Change) {
	return func(_ context.Context, _ wire.SessionID, all []files.Change) {
		var words []string
		for _, c := range all {
			if c.Removed {
				words = append(words, "-"+c.Path)
			} else {
				words = append(words, "+"+c.Path)
			}
		}
		*to = append(*to, strings.Join(words, " "))
	}
}

func startUpload(t *testing.T, s *files.Store, name string, size int64, c files.Condition) files.Upload {
	t.Helper()
	u, err := s.StartUpload(t.Context(), ses, files.NewUpload{Path: name, Size: size}, c)
	if err != nil {
		t.Fatalf("start upload of %s: %v", name, err)
	}
	return u
}

func sendPiece(t *testing.T, s *files.Store, u files.Upload, offset int64, text string) files.Upload {
	t.Helper()
	next, err := s.Append(t.Context(), ses, u.ID, offset, strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatalf("piece at %d: %v", offset, err)
	}
	return next
}

// The begin of an upload whose answer was lost is repeated with its key, also at another replica: the first upload
// continues, and its size counts once.
func TestStartIsRepeated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := files.Config{SessionBytes: 15}
	s, other := open(t, dir, cfg), open(t, dir, cfg)
	begin := func(s *files.Store, n files.NewUpload) (files.Upload, error) {
		return s.StartUpload(t.Context(), ses, n, files.Condition{Absent: true})
	}
	n := files.NewUpload{Path: "a.bin", Size: 10, Key: "k1"}
	first, err := begin(s, n)
	if err != nil {
		t.Fatal(err)
	}
	sendPiece(t, s, first, 0, "0123")
	for name, store := range map[string]*files.Store{"the same": s, "another": other} {
		if again, err := begin(store, n); err != nil || again.ID != first.ID || again.Offset != 4 {
			t.Errorf("begin again at %s replica: got %+v and error %v, want upload %s at offset 4", name, again, err, first.ID)
		}
	}
	for what, n := range map[string]files.NewUpload{
		"another key":  {Path: "a.bin", Size: 10, Key: "k2"},
		"another path": {Path: "b.bin", Size: 10, Key: "k1"},
		"no key":       {Path: "a.bin", Size: 10},
	} {
		if u, err := begin(s, n); !errors.Is(err, files.ErrFull) {
			t.Errorf("%s: got %+v and error %v, want %v, because it is another upload", what, u, err, files.ErrFull)
		}
	}
	sendPiece(t, other, first, 4, "456789")
	if again, err := begin(s, n); err != nil || again.ID == first.ID || again.Offset != 0 {
		t.Errorf("begin again after the end: got %+v and error %v, want another upload at offset 0", again, err)
	}
}

// An upload continues after a cut, with another store on the same folder as another replica has.
func TestUploadContinuesAfterACut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var changes []string
	s := open(t, dir, files.Config{Changed: recordChanges(&changes)})
	u := startUpload(t, s, "big/file.bin", 10, files.Condition{})
	sendPiece(t, s, u, 0, "0123")
	// The connection breaks within the second piece.
	cut := io.MultiReader(strings.NewReader("45"), strings.NewReader(""))
	after, err := s.Append(t.Context(), ses, u.ID, 4, cut, 4)
	if !errors.Is(err, io.ErrUnexpectedEOF) || after.Offset != 4 {
		t.Errorf("a piece that is cut off: got %+v, %v, want offset 4 and %v", after, err, io.ErrUnexpectedEOF)
	}
	other := open(t, dir, files.Config{Changed: recordChanges(&changes)})
	state, err := other.Upload(t.Context(), ses, u.ID)
	if err != nil || state.Offset != 4 || state.Size != 10 || state.Path != "big/file.bin" {
		t.Errorf("upload after the cut: got %+v, %v, want 4 of 10 bytes of big/file.bin", state, err)
	}
	if _, err := other.Append(t.Context(), ses, u.ID, 8, strings.NewReader("89"), 2); !errors.Is(err, files.ErrOffset) {
		t.Errorf("a piece with a gap: got error %v, want %v", err, files.ErrOffset)
	}
	if _, _, err := other.Open(t.Context(), ses, "big/file.bin"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished file: got error %v, want %v", err, fs.ErrNotExist)
	}
	sendPiece(t, other, u, 4, "4567")
	done := sendPiece(t, s, u, 8, "89")
	if done.Done == nil || done.Done.Size != 10 {
		t.Errorf("the last piece: got %+v, want the file with 10 bytes", done)
	}
	if got := load(t, s, ses, "big/file.bin"); got != "0123456789" {
		t.Errorf("file: got %q, want 0123456789", got)
	}
	if _, err := s.Upload(t.Context(), ses, u.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the upload after its end: got error %v, want %v", err, fs.ErrNotExist)
	}
	if got := strings.Join(changes, ","); got != "+big/file.bin" {
		t.Errorf("changes: got %q, want only the finished file", got)
	}
}

func TestUploadsAreBounded(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{FileBytes: 100, SessionBytes: 250, SessionFiles: 3})
	if _, err := s.StartUpload(t.Context(), ses, files.NewUpload{Path: "sparse", Size: 2 << 30}, files.Condition{}); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("2 GB: got error %v, want %v", err, files.ErrTooLarge)
	}
	a := startUpload(t, s, "a", 100, files.Condition{})
	startUpload(t, s, "b", 100, files.Condition{})
	if _, err := s.StartUpload(t.Context(), ses, files.NewUpload{Path: "c", Size: 100}, files.Condition{}); !errors.Is(err, files.ErrFull) {
		t.Errorf("more than the session may have: got error %v, want %v", err, files.ErrFull)
	}
	if _, err := s.Append(t.Context(), ses, a.ID, 0, strings.NewReader(strings.Repeat("x", 101)), 101); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("a piece beyond the end: got error %v, want %v", err, files.ErrTooLarge)
	}
	if err := s.CancelUpload(t.Context(), ses, a.ID); err != nil {
		t.Fatal(err)
	}
	startUpload(t, s, "c", 100, files.Condition{})
	for _, id := range []string{"", "..", "a/b", a.ID, "zz-1-a", "../ses-2/files"} {
		if _, err := s.Append(t.Context(), ses, id, 0, strings.NewReader("x"), 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("piece for upload %q: got error %v, want %v", id, err, fs.ErrNotExist)
		}
	}
	for _, name := range []string{"", "../x", "/etc/passwd", "a\x00b", `c:\x`} {
		if _, err := s.StartUpload(t.Context(), ses, files.NewUpload{Path: name, Size: 1}, files.Condition{}); !errors.Is(err, files.ErrName) {
			t.Errorf("upload to %q: got error %v, want %v", name, err, files.ErrName)
		}
	}
}

// The condition of an upload is compared when it ends.
func TestUploadDoesNotReplaceAChangedFile(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{})
	first := save(t, s, ses, "a", "one")
	u := startUpload(t, s, "a", 2, files.Condition{ETag: first.ETag})
	save(t, s, ses, "a", "two")
	if _, err := s.Append(t.Context(), ses, u.ID, 0, strings.NewReader("xx"), 2); !errors.Is(err, files.ErrChanged) {
		t.Errorf("the last piece: got error %v, want %v", err, files.ErrChanged)
	}
	if got := load(t, s, ses, "a"); got != "two" {
		t.Errorf("a: got %q, want two", got)
	}
	if empty := startUpload(t, s, "empty", 0, files.Condition{Absent: true}); empty.Done == nil {
		t.Errorf("an upload without bytes: got %+v, want it complete", empty)
	}
}

// Uploads in pieces and files that are received in one request count against the same limits.
func TestUploadsCountBesideOtherFiles(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), files.Config{FileBytes: 100, SessionBytes: 250, SessionFiles: 3})
	startUpload(t, s, "pieces", 100, files.Condition{})
	if _, err := s.Save(t.Context(), ses, "large", strings.NewReader(strings.Repeat("x", 151)), -1); !errors.Is(err, files.ErrTooLarge) && !errors.Is(err, files.ErrFull) {
		t.Errorf("saving 151 bytes, 150 are left: got error %v, want %v", err, files.ErrFull)
	}
	save(t, s, ses, "stored", strings.Repeat("x", 100))
	if _, err := s.Save(t.Context(), ses, "large", strings.NewReader(strings.Repeat("x", 51)), 51); !errors.Is(err, files.ErrFull) {
		t.Errorf("saving 51 bytes, 50 are left: got error %v, want %v", err, files.ErrFull)
	}
	body, received := io.Pipe()
	saved := make(chan error)
	go func() {
		_, err := s.Save(context.Background(), ses, "received", body, 50)
		saved <- err
	}()
	if _, err := io.WriteString(received, "x"); err != nil { // the space is reserved when this is read
		t.Fatal(err)
	}
	if _, err := s.StartUpload(t.Context(), ses, files.NewUpload{Path: "fourth", Size: 0}, files.Condition{}); !errors.Is(err, files.ErrFull) {
		t.Errorf("beginning a fourth file, 3 are allowed: got error %v, want %v", err, files.ErrFull)
	}
	if _, err := io.WriteString(received, strings.Repeat("x", 49)); err != nil {
		t.Fatal(err)
	}
	if err := received.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-saved; err != nil {
		t.Errorf("saving the last 50 bytes: got error %v, want none", err)
	}
}

// Pieces without a head, which an interrupted removal leaves, are removed. An upload whose id the caller does not
// learn leaves nothing.
func TestInterruptedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, files.Config{})
	u := startUpload(t, s, "a", 10, files.Condition{})
	sendPiece(t, s, u, 0, "0123")
	if err := os.Remove(filepath.Join(dir, ".uploads", string(ses), u.ID, "head")); err != nil {
		t.Fatal(err)
	}
	save(t, s, ses, "b", "b")
	if _, err := s.StartUpload(t.Context(), ses, files.NewUpload{Path: "b", Size: 0}, files.Condition{Absent: true}); !errors.Is(err, files.ErrChanged) {
		t.Errorf("an empty file over another: got error %v, want %v", err, files.ErrChanged)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".uploads", string(ses), "[0-9]*")); err != nil || len(left) != 0 {
		t.Errorf("uploads: got %q and the error %v, want none", left, err)
	}
}
