package tools_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/providers"
	"github.com/everdesk/everdesk/wire"
)

// asFile returns the text of a file as agents read it.
func asFile(name, text string) string {
	return "<outside_data source=\"the file " + name + "\">\n" + text + "\n</outside_data>"
}

func TestFiles(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	w := b.worker()
	if got := b.must("storage_list", `{}`); got != "[]" {
		t.Errorf("an empty storage lists %s, want []", got)
	}
	if got := b.mustAs(w, "storage_write", `{"path":"notes/한글.md","content":"# hello"}`); got != `Wrote 7 bytes to "notes/한글.md".` {
		t.Errorf("write returns %q, want 7 bytes written", got)
	}
	if got := b.must("storage_read", `{"path":"notes/한글.md"}`); got != asFile("notes/한글.md", "# hello") {
		t.Errorf(`read %q, want "# hello" as data`, got)
	}
	if got := b.must("storage_list", `{"path":"/"}`); !strings.Contains(got, `{"path":"notes","isDirectory":true`) {
		t.Errorf("list %s, want the folder notes", got)
	}
	if got := b.must("storage_list", `{"path":"notes/"}`); !strings.Contains(got, `{"path":"notes/한글.md","size":7,"modifiedAt":"20`) {
		t.Errorf("list %s, want the file with 7 bytes", got)
	}
	// Another session has none of the files.
	other := w
	other.Session = "ses-2"
	if r := b.callAs(other, "storage_read", `{"path":"notes/한글.md"}`); !r.IsError {
		t.Errorf("another session reads %q, want an error", r.Text)
	}
	if got := b.mustAs(other, "storage_list", `{}`); got != "[]" {
		t.Errorf("another session lists %s, want []", got)
	}
	b.mustAs(w, "storage_delete", `{"path":"notes/한글.md"}`)
	if r := b.call("storage_read", `{"path":"notes/한글.md"}`); !r.IsError || r.Text != `There is no "notes/한글.md" in storage.` {
		t.Errorf("a removed file: %+v, want an error that it is not there", r)
	}
	repeatable := map[string]bool{}
	for _, told := range b.desktop.begun {
		repeatable[told.call.Tool] = told.call.Repeatable
	}
	want := map[string]bool{"storage:list": true, "storage:read": true, "storage:write": false, "storage:delete": false}
	if diff := cmp.Diff(want, repeatable); diff != "" || len(b.desktop.begun) != len(b.desktop.ended) {
		t.Errorf("repeatable calls (-want +got):\n%s\n%d begun, %d ended, want the same number", diff, len(b.desktop.begun), len(b.desktop.ended))
	}
}

func TestPathsStayInside(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	for _, path := range []string{
		"../secret", "/etc/passwd", "a/../../b", "a//b", "./a", "a/.", "..", ".", "", `a\b`, `..\b`, "C:/x", "nul", "a\x00b", "a\nb",
		".partial/x", "ses-2/../x", strings.Repeat("a/", 20) + "a", strings.Repeat("x", 300), "%2e%2e/x/..", "~/../x", "\u202e/..",
	} {
		input := `{"path":` + string(quote(path)) + `}`
		for _, tool := range []string{"storage_read", "storage_delete"} {
			if r := b.callAs(b.worker(), tool, input); !r.IsError || strings.Contains(r.Text, "/tmp") {
				t.Errorf("%s %q: %+v, want an error without a path of the host", tool, path, r)
			}
		}
		if r := b.callAs(b.worker(), "storage_write", `{"path":`+string(quote(path))+`,"content":"x"}`); !r.IsError || strings.Contains(r.Text, "/tmp") {
			t.Errorf("write %q: %+v, want an error without a path of the host", path, r)
		}
	}
	if r := b.call("storage_list", `{"path":"../"}`); !r.IsError {
		t.Errorf("storage_list of ../ gives %+v, want an error", r)
	}
	if got := b.must("storage_list", `{}`); got != "[]" {
		t.Errorf("after refused calls the storage has %s, want []", got)
	}
}

func TestReadingIsBounded(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	save := func(name string, data string) {
		t.Helper()
		if _, err := b.fileStore.Save(t.Context(), "ses-1", name, strings.NewReader(data), -1); err != nil {
			t.Fatal(err)
		}
	}
	save("long.txt", strings.Repeat("é", 60_000)+"end")
	first := b.must("storage_read", `{"path":"long.txt"}`)
	if n := len([]rune(first)); n > 50_000 || !strings.Contains(first, "[characters 0 to 49000 of 60003; read on with offset 49000]") {
		t.Errorf("the first part has %d characters, …%s, want at most 50000 and where to read on", n, first[len(first)-100:])
	}
	if rest := b.must("storage_read", `{"path":"long.txt","offset":49000}`); rest != asFile("long.txt", strings.Repeat("é", 11_000)+"end") {
		t.Errorf("the rest has %d bytes, want %d", len(rest), len(asFile("long.txt", ""))+2*11_000+3)
	}
	if r := b.call("storage_read", `{"path":"long.txt","offset":60004}`); !r.IsError {
		t.Error("a read behind the end succeeds, want an error")
	}
	save("binary", "a\x00b")
	save("latin1", "caf\xe9 au lait")
	save("large.txt", strings.Repeat("x", 5_000_000))
	save("huge", strings.Repeat("x", 6<<20))
	for _, name := range []string{"binary", "latin1", "large.txt", "huge"} {
		if r := b.call("storage_read", `{"path":"`+name+`"}`); !r.IsError || len(r.Text) > 200 || !strings.Contains(r.Text, name) {
			t.Errorf("%s: %.300q, want a short error with its name", name, r.Text)
		}
	}
	save("empty.txt", "")
	if got := b.must("storage_read", `{"path":"empty.txt"}`); got != `"empty.txt" is empty.` {
		t.Errorf("an empty file reads %q, want that it is empty", got)
	}
	png := "\x89PNG\r\n\x1a\n0000"
	save("dot.png", png)
	r := b.call("storage_read", `{"path":"dot.png"}`)
	if diff := cmp.Diff([]providers.Image{{MediaType: "image/png", Data: []byte(png)}}, r.Images); diff != "" || r.IsError {
		t.Errorf("a picture gives %q, error %v; images (-want +got):\n%s", r.Text, r.IsError, diff)
	}
}

// An agent that has read a file does not overwrite what a person changed since.
func TestWritingKeepsTheChangesOfOthers(t *testing.T) {
	t.Parallel()
	b := setUp(t)
	w := b.worker()
	b.mustAs(w, "storage_write", `{"path":"a.md","content":"one"}`)
	b.mustAs(w, "storage_write", `{"path":"a.md","content":"two"}`) // its own version is no change of others
	if _, err := b.fileStore.Save(t.Context(), w.Session, "a.md", strings.NewReader("of a person"), -1); err != nil {
		t.Fatal(err)
	}
	if r := b.callAs(w, "storage_write", `{"path":"a.md","content":"three"}`); !r.IsError || !strings.Contains(r.Text, "Read it again") {
		t.Errorf("writing over the change: got %+v, want an error that asks to read the file", r)
	}
	if got := b.mustAs(w, "storage_read", `{"path":"a.md"}`); got != asFile("a.md", "of a person") {
		t.Errorf("the file: got %q, want that of the person", got)
	}
	b.mustAs(w, "storage_write", `{"path":"a.md","content":"three"}`)
	if _, err := b.fileStore.Trash(t.Context(), w.Session, "a.md"); err != nil {
		t.Fatal(err)
	}
	if r := b.callAs(w, "storage_read", `{"path":"a.md"}`); !r.IsError {
		t.Errorf("a deleted file: got %+v, want an error", r)
	}
	b.mustAs(w, "storage_write", `{"path":"a.md","content":"again"}`)
}

func (broken) SaveIf(context.Context, wire.SessionID, string, io.Reader, int64, files.Condition) (files.Entry, error) {
	panic("save")
}

func (broken) OpenLocal(context.Context, wire.SessionID, string) (*os.File, files.Entry, error) {
	return nil, files.Entry{}, errors.New("open /var/lib/everdesk/ses-1/x: input/output error")
}

func (broken) Trash(context.Context, wire.SessionID, string) (files.Trashed, error) { panic("trash") }
