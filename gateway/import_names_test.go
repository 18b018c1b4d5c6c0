package gateway_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/wire"
)

// withFiles returns a session file that has more files, which its metadata lists as the hub itself would. A name that
// ends with @ is a symbolic link to its content.
func withFiles(t *testing.T, data []byte, more map[string]string) []byte {
	t.Helper()
	old, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var meta map[string]any
	if err := json.Unmarshal([]byte(partOf(t, data, "metadata.json")), &meta); err != nil {
		t.Fatal(err)
	}
	parts, ok := meta["parts"].(map[string]any)
	if !ok {
		t.Fatalf("the parts are %T, want an object", meta["parts"])
	}
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	add := func(name, text string, mode fs.FileMode) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(mode)
		w, err := out.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range more {
		mode := fs.FileMode(0o644)
		if link, is := strings.CutSuffix(name, "@"); is {
			name, mode = link, fs.ModeSymlink|0o777
		}
		sum := sha256.Sum256([]byte(text))
		parts[name] = map[string]any{"bytes": len(text), "sha256": hex.EncodeToString(sum[:])}
		add(name, text, mode)
	}
	for _, f := range old.File {
		if f.Name != "metadata.json" {
			add(f.Name, partOf(t, data, f.Name), 0o644)
		}
	}
	text, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	add("metadata.json", string(text), 0o644)
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Names in a session file cannot lead out of the storage of the new session. A refused file leaves no session.
func TestNamesInASessionFileStayInItsStorage(t *testing.T) {
	t.Parallel()
	h := newAgentHub(t, false)
	ann := h.userToken("ann")
	id := h.newSession("ann")
	data := h.get(sessionPath(id, "/export"), ann).wantStatus(http.StatusOK).body
	sessions := func() string { return string(h.get("/api/sessions", ann).wantStatus(http.StatusOK).body) }
	before := sessions()
	for _, name := range []string{
		"../out", "../../../../etc/cron.d/x", "a/../../out", "/etc/passwd", `..\out`, `C:\out`, "C:/out", "a//b", "./a", "a/./b", "nul", "COM1.txt", "a/aux.md", "a\x00b", "a\nb", ".partial/x",
		strings.Repeat("x", 256), strings.Repeat("x/", 20) + "x", strings.Repeat("long/", 250) + "x", "\xff",
	} {
		p := h.importFile(ann, "", withFiles(t, data, map[string]string{"storage/" + name: "x"})).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
		if !strings.Contains(p.Detail, "session log is refused") {
			t.Errorf("%.60q: got %+v, want that the session log is refused", name, p)
		}
	}
	// A file that is also a folder is found while files are written.
	if got := h.importFile(ann, "", withFiles(t, data, map[string]string{"storage/a": "x", "storage/a/b": "x"})); got.status < 400 || got.status >= 500 {
		t.Errorf("a file and a folder of one name: got %d %s, want a refusal", got.status, got.body)
	}
	if after := sessions(); after != before {
		t.Errorf("sessions after refused imports: got\n%s\nwant\n%s", after, before)
	}
	// A link is stored as a file with its text, and names that differ in case are two files or refused.
	var made struct{ SessionID wire.SessionID }
	h.importFile(ann, "", withFiles(t, data, map[string]string{"storage/link@": "/etc/passwd", "storage/A.txt": "upper", "storage/a.txt": "lower"})).wantStatus(http.StatusCreated).decode(&made)
	for name, want := range map[string]string{"link": "/etc/passwd", "A.txt": "upper", "a.txt": "lower"} {
		if got := h.get(sessionPath(made.SessionID, "/files/"+name), ann).wantStatus(http.StatusOK); string(got.body) != want {
			t.Errorf("%s: got %.100q, want %q", name, got.body, want)
		}
	}
}
