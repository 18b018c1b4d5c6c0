package gateway_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// fileState is an entry of a list of files.
type fileState struct {
	Path string
	ETag string
	Size int64
}

func octets(more ...string) http.Header {
	return header(append([]string{"Content-Type", "application/octet-stream"}, more...)...)
}

// Two writers that have read the same file cannot both replace it.
func TestFileIsReplacedOnlyIfUnchanged(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	path := sessionPath(id, "/files/a.md")
	put := func(body string, condition ...string) reply {
		return h.rest(http.MethodPut, path, request{token: ada, body: body, header: octets(condition...)})
	}
	put("one", "If-Match", `"nothing"`).wantProblem(http.StatusPreconditionFailed, wire.CodeSessionInvalidState)
	first := put("one", "If-None-Match", "*").wantStatus(http.StatusCreated).header.Get("ETag")
	put("two", "If-None-Match", "*").wantProblem(http.StatusPreconditionFailed, wire.CodeSessionInvalidState)
	got := h.get(path, ada).wantStatus(http.StatusOK)
	if got.header.Get("ETag") != first || first == "" {
		t.Errorf("ETag: got %s, want that of the write, %s", got.header.Get("ETag"), first)
	}
	h.rest(http.MethodGet, path, request{token: ada, header: header("If-None-Match", first)}).wantStatus(http.StatusNotModified)
	put("two", "If-Match", first).wantStatus(http.StatusCreated)
	put("six", "If-Match", first).wantProblem(http.StatusPreconditionFailed, wire.CodeSessionInvalidState)
	if got := h.get(path, ada); string(got.body) != "two" {
		t.Errorf("file: got %q, want two", got.body)
	}
	for _, bad := range []string{"x", `"a", "b"`, `""`, "*"} {
		put("x", "If-Match", bad).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	put("x", "If-None-Match", `"a"`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if d := h.get(path+"?download=true", ada).header.Get("Content-Disposition"); !strings.HasPrefix(d, "attachment") {
		t.Errorf("Content-Disposition of a download: got %q, want an attachment", d)
	}
}

func TestFilesAreMovedAndDeletionsUndone(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada, eve := h.userToken("ada"), h.userToken("eve")
	id := h.newSession("ada")
	for _, name := range []string{"a.txt", "dir/b.txt", "dir/c.txt"} {
		h.rest(http.MethodPut, sessionPath(id, "/files/", name), request{token: ada, body: name, header: octets()}).wantStatus(http.StatusCreated)
	}
	move := func(token, from, to string) reply {
		return h.rest(http.MethodPost, sessionPath(id, "/file-moves"), request{token: token, body: `{"from":` + strconv.Quote(from) + `,"to":` + strconv.Quote(to) + `}`})
	}
	move(ada, "a.txt", "dir/a.txt").wantStatus(http.StatusOK)
	move(ada, "dir/a.txt", "dir/b.txt").wantProblem(http.StatusConflict, wire.CodeSessionInvalidState)
	move(ada, "none", "x").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	move(eve, "dir/a.txt", "x").wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	for _, bad := range []string{"", "../x", "/x", "a/../b", ".partial/x", "CON", "x/" + strings.Repeat("a/", 20) + "b"} {
		move(ada, "dir/a.txt", bad).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
	deleted := h.rest(http.MethodDelete, sessionPath(id, "/files/dir"), request{token: ada}).wantStatus(http.StatusNoContent).header.Get("Location")
	var trash struct {
		Trash []struct {
			ID, Path    string
			IsDirectory bool
			Size        int64
		}
	}
	h.get(sessionPath(id, "/trash"), ada).wantStatus(http.StatusOK).decode(&trash)
	if len(trash.Trash) != 1 || trash.Trash[0].Path != "dir" || !trash.Trash[0].IsDirectory || deleted != sessionPath(id, "/trash/", trash.Trash[0].ID) {
		t.Errorf("trash: got %+v at %s, want the folder dir", trash, deleted)
	}
	h.rest(http.MethodPost, deleted, request{token: eve}).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	h.rest(http.MethodPost, deleted, request{token: ada}).wantStatus(http.StatusOK)
	h.rest(http.MethodPost, deleted, request{token: ada}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	var list struct{ Files []fileState }
	h.get(sessionPath(id, "/files?all=true&folder=dir"), ada).wantStatus(http.StatusOK).decode(&list)
	if len(list.Files) != 3 || list.Files[0].Path != "dir/a.txt" || list.Files[0].ETag == "" {
		t.Errorf("files after the undo: got %+v, want three, dir/a.txt first", list.Files)
	}
	zipped := h.get(sessionPath(id, "/files.zip?folder=dir"), ada).wantStatus(http.StatusOK).body
	r, err := zip.NewReader(bytes.NewReader(zipped), int64(len(zipped)))
	if err != nil || len(r.File) != 3 || r.File[1].Name != "b.txt" {
		t.Fatalf("archive: got %v, %v, want a.txt, b.txt and c.txt", r, err)
	}
	f, err := r.File[1].Open()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "dir/b.txt" {
		t.Errorf("b.txt in the archive: got %q, %v, want dir/b.txt", data, err)
	}
}

func TestUploadInPieces(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, upload(100))
	ada := h.userToken("ada")
	id := h.newSession("ada")
	start := func(body string) reply {
		return h.rest(http.MethodPost, sessionPath(id, "/uploads"), request{token: ada, body: body})
	}
	start(`{"path":"../x","size":1}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	start(`{"path":"x","size":-1}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	start(`{"path":"sparse","size":2147483648}`).wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	at := start(`{"path":"dir/a.bin","size":6}`).wantStatus(http.StatusCreated).header.Get("Location")
	piece := func(offset, body string) reply {
		return h.rest(http.MethodPatch, at, request{token: ada, body: body, header: octets("Upload-Offset", offset)})
	}
	piece("0", "abc").wantStatus(http.StatusOK)
	piece("", "d").wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	piece("3", "defghi").wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	if got := piece("5", "f"); got.status != http.StatusConflict || got.header.Get("Upload-Offset") != "3" {
		t.Errorf("a piece with a gap: got %d with offset %s, want %d with 3", got.status, got.header.Get("Upload-Offset"), http.StatusConflict)
	}
	var state struct {
		Offset int64
		File   *fileState
	}
	h.get(at, ada).wantStatus(http.StatusOK).decode(&state)
	if state.Offset != 3 || state.File != nil {
		t.Errorf("upload: got %+v, want 3 bytes and no file", state)
	}
	piece("3", "def").wantStatus(http.StatusOK).decode(&state)
	if state.Offset != 6 || state.File == nil || state.File.Path != "dir/a.bin" {
		t.Errorf("upload after the last piece: got %+v, want the file", state)
	}
	if got := h.get(sessionPath(id, "/files/dir/a.bin"), ada); string(got.body) != "abcdef" {
		t.Errorf("file: got %q, want abcdef", got.body)
	}
	piece("6", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	other := start(`{"path":"b","size":6}`).wantStatus(http.StatusCreated).header.Get("Location")
	h.rest(http.MethodDelete, other, request{token: ada}).wantStatus(http.StatusNoContent)
	h.get(other, ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
}

// fileChanges checks the responses to changes of files against the API description.
func (c *checker) fileChanges(t *testing.T, h *testHub, token string, send func(method, path, body string) reply) {
	t.Helper()
	const one = "/api/sessions/{session}"
	send(http.MethodPost, one+"/file-moves", `{"from":"a","to":"b"}`).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodGet, one+"/files.zip", "").wantStatus(http.StatusOK)
	send(http.MethodPost, one+"/trash/{trash}", "").wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	send(http.MethodGet, one+"/trash", "").wantStatus(http.StatusOK)
	send(http.MethodDelete, one+"/trash", "").wantStatus(http.StatusNoContent)
	begun := send(http.MethodPost, one+"/uploads", `{"path":"piece","size":1}`).wantStatus(http.StatusCreated).header.Get("Location")
	for _, step := range []struct {
		method string
		status int
	}{{http.MethodGet, http.StatusOK}, {http.MethodPatch, http.StatusConflict}, {http.MethodDelete, http.StatusNoContent}} {
		got := h.rest(step.method, begun, request{token: token, header: header("Upload-Offset", "1")}).wantStatus(step.status)
		c.answer(t, step.method, one+"/uploads/{upload}", "", got)
	}
	const storage = "/api/storage/{path}"
	send(http.MethodPost, storage, "x").wantStatus(http.StatusOK)
	c.answer(t, http.MethodGet, storage, "", h.get("/api/storage/a?list=true", token).wantStatus(http.StatusOK))
	send(http.MethodGet, storage, "").wantStatus(http.StatusOK)
	send(http.MethodDelete, storage, "").wantStatus(http.StatusOK)
}
