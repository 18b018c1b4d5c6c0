package gateway_test

import (
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/wire"
)

func upload(limit int64) func(*hubOptions) {
	return func(p *hubOptions) { p.gateway = gateway.Config{UploadBytes: limit, Timeouts: p.gateway.Timeouts} }
}

func TestFiles(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	put := func(name, body string) reply {
		return h.rest(http.MethodPut, sessionPath(id, "/files/", name), request{token: ada, body: body, header: header("Content-Type", "application/octet-stream")})
	}
	var entry struct {
		Path        string
		IsDirectory bool
		Size        int64
	}
	put("notes/%ED%95%9C%20a.txt", "hello").wantStatus(http.StatusCreated).decode(&entry)
	if entry.Path != "notes/한 a.txt" || entry.Size != 5 {
		t.Errorf("entry: got %+v, want notes/한 a.txt with 5 bytes", entry)
	}
	put("page.html", "<script>alert(1)</script>").wantStatus(http.StatusCreated)
	put("pic.svg", "<svg/>").wantStatus(http.StatusCreated)

	got := h.get(sessionPath(id, "/files/notes/%ED%95%9C%20a.txt"), ada).wantStatus(http.StatusOK)
	if string(got.body) != "hello" || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("file: got %q %v, want hello as plain text", got.body, got.header)
	}
	part := h.rest(http.MethodGet, sessionPath(id, "/files/notes/%ED%95%9C%20a.txt"), request{token: ada, header: header("Range", "bytes=1-3")}).wantStatus(http.StatusPartialContent)
	if string(part.body) != "ell" {
		t.Errorf("bytes 1-3: got %q, want ell", part.body)
	}
	var list struct {
		Files []struct {
			Path        string
			IsDirectory bool
		}
	}
	h.get(sessionPath(id, "/files"), ada).wantStatus(http.StatusOK).decode(&list)
	if len(list.Files) != 3 || !list.Files[0].IsDirectory || list.Files[0].Path != "notes" {
		t.Errorf("files: got %+v, want three, the folder notes first", list)
	}
	h.get(sessionPath(id, "/files?folder=notes"), ada).wantStatus(http.StatusOK).decode(&list)
	if len(list.Files) != 1 || list.Files[0].Path != "notes/한 a.txt" {
		t.Errorf("files of notes: got %+v, want notes/한 a.txt", list)
	}
	h.rest(http.MethodDelete, sessionPath(id, "/files/page.html"), request{token: ada}).wantStatus(http.StatusNoContent)
	h.get(sessionPath(id, "/files/page.html"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodDelete, sessionPath(id, "/files/page.html"), request{token: ada}).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
}

// A symbolic link in the folder of a session, which only programs on the hub's machine can make, is
// refused as a name, whatever it leads to.
func TestLinksAreRefused(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/files/here.txt"), request{token: ada, body: "x"}).wantStatus(http.StatusCreated)
	folder := filepath.Join(h.fileFolder, string(id))
	for name, target := range map[string]string{"file": "here.txt", "gone": "nothing", "loop": "loop", "outside": t.TempDir()} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "gone", "loop", "outside", "outside/x"} {
		for _, path := range []string{sessionPath(id, "/files/", name), "/api/storage/" + name + "?sessionId=" + string(id)} {
			h.get(path, ada).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
		}
	}
}

// Uploaded files must not run as script on the hub's origin.
func TestUploadsCannotRun(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	for name, media := range map[string]string{
		"a.png": "image/png", "a.JPG": "image/jpeg", "a.gif": "image/gif", "a.webp": "image/webp", "a.avif": "image/avif",
		"a.txt": "text/plain; charset=utf-8", "a.md": "text/plain; charset=utf-8", "a.mp3": "audio/mpeg", "a.mp4": "video/mp4",
		"a.html": "", "a.HTM": "", "a.xhtml": "", "a.js": "", "a.MJS": "", "a.css": "", "a.wasm": "", "a.svg": "", "a.xml": "", "a.json": "",
		"a.map": "", "a.webmanifest": "", "a.pdf": "", "a.csv": "", "a.ico": "", "a.woff2": "", "a": "", "a.unknown": "", "a.txt.js": "",
	} {
		h.rest(http.MethodPut, sessionPath(id, "/files/", name), request{token: ada, body: "<script>1</script>", header: header("Content-Type", "text/html")}).wantStatus(http.StatusCreated)
		for _, path := range []string{sessionPath(id, "/files/", name), "/api/storage/" + name + "?sessionId=" + string(id)} {
			got := h.get(path, ada).wantStatus(http.StatusOK).header
			if !strings.HasPrefix(got.Get("Content-Security-Policy"), "sandbox; default-src 'none'") || got.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: got %v, want the sandbox policy and nosniff", path, got)
			}
			if inline := strings.HasPrefix(got.Get("Content-Disposition"), "inline"); inline != (media != "") {
				t.Errorf("%s: got Content-Disposition %q, want inline: %v", path, got.Get("Content-Disposition"), media != "")
			}
			if want := cmp.Or(media, "application/octet-stream"); got.Get("Content-Type") != want {
				t.Errorf("%s: Content-Type %q, want %q", path, got.Get("Content-Type"), want)
			}
		}
	}
	h.rest(http.MethodPut, sessionPath(id, "/files/x%22%3B%20filename=%22y.html"), request{token: ada, body: "x"}).wantStatus(http.StatusCreated)
	got := h.get(sessionPath(id, "/files/x%22%3B%20filename=%22y.html"), ada).wantStatus(http.StatusOK).header.Get("Content-Disposition")
	if !strings.HasPrefix(got, "attachment") || strings.Count(got, "filename") != 2 || !strings.Contains(got, `\"`) {
		t.Errorf("Content-Disposition: got %s, want an attachment with an escaped name", got)
	}
}

func TestUploadThatIsTooLarge(t *testing.T) {
	t.Parallel()
	h := newTestHub(t, upload(10))
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/files/a"), request{token: ada, body: "0123456789"}).wantStatus(http.StatusCreated)
	h.rest(http.MethodPut, sessionPath(id, "/files/a"), request{token: ada, body: "0123456789x"}).wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	// Without a Content-Length the limit applies while reading.
	res, err := h.stream(http.MethodPut, sessionPath(id, "/files/a"), ada, strings.NewReader(strings.Repeat("x", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	res.wantProblem(http.StatusRequestEntityTooLarge, wire.CodeMessageTooLarge)
	if got := h.get(sessionPath(id, "/files/a"), ada).wantStatus(http.StatusOK); string(got.body) != "0123456789" {
		t.Errorf("the file after a refused upload: got %q, want it unchanged, 0123456789", got.body)
	}
}

func TestStorageOfTheDesktopDialect(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	h.rest(http.MethodPost, "/api/storage/temp/a.webp", request{token: ada, body: "x"}).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
	old, latest := h.newSession("ada"), h.newSession("ada")
	h.post(sessionPath(latest, "/actions"), ada, badgeRequest("mail")).wantStatus(http.StatusOK)
	done := h.rest(http.MethodPost, "/api/storage/temp/a.webp", request{token: ada, body: "image", header: header("Content-Type", "image/webp")}).wantStatus(http.StatusOK)
	if string(done.body) != `{"ok":true,"path":"temp/a.webp"}` {
		t.Errorf("upload: got %s, want ok for temp/a.webp", done.body)
	}
	if got := h.get("/api/storage/temp/a.webp", ada).wantStatus(http.StatusOK); string(got.body) != "image" || got.header.Get("Content-Type") != "image/webp" {
		t.Errorf("stored file: got %q %v, want the image as image/webp", got.body, got.header)
	}
	h.get(sessionPath(latest, "/files/temp/a.webp"), ada).wantStatus(http.StatusOK)
	h.get(sessionPath(old, "/files/temp/a.webp"), ada).wantProblem(http.StatusNotFound, wire.CodeInvalidMessage)
	h.rest(http.MethodPost, "/api/storage/b?sessionId="+string(old), request{token: ada, body: "b"}).wantStatus(http.StatusOK)
	h.get(sessionPath(old, "/files/b"), ada).wantStatus(http.StatusOK)
	var list []struct {
		Path        string
		IsDirectory bool
		Size        int64
		ModifiedAt  string
	}
	h.get("/api/storage/?list=true", ada).wantStatus(http.StatusOK).decode(&list)
	if len(list) != 1 || list[0].Path != "temp" || !list[0].IsDirectory {
		t.Errorf("files: got %+v, want the folder temp", list)
	}
	h.get("/api/storage/temp?list=true", ada).wantStatus(http.StatusOK).decode(&list)
	if len(list) != 1 || list[0].Path != "temp/a.webp" || list[0].Size != 5 || list[0].ModifiedAt == "" {
		t.Errorf("files of temp: got %+v, want temp/a.webp with 5 bytes and a time", list)
	}
	gone := h.rest(http.MethodDelete, "/api/storage/temp/a.webp", request{token: ada}).wantStatus(http.StatusOK)
	if string(gone.body) != `{"ok":true,"path":"temp/a.webp"}` {
		t.Errorf("delete: got %s, want ok for temp/a.webp", gone.body)
	}
	h.get("/api/storage/b?sessionId="+string(old), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}

func TestStartOfADesktop(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	for path, want := range map[string]string{
		"/api/apps":      `{"apps":[],"onboardingCompleted":true,"language":"en"}`,
		"/api/shortcuts": `{"shortcuts":[]}`,
		"/api/providers": `{"providers":[]}`,
		"/api/settings":  `{"language":"en","onboardingCompleted":true}`,
		"/api/sessions":  `{"sessions":[]}`,
		"/health":        `{"status":"ok"}`,
	} {
		if got := h.get(path, ada).wantStatus(http.StatusOK); string(got.body) != want {
			t.Errorf("%s: %s, want %s", path, got.body, want)
		}
	}
	id := h.newSession("ada")
	shortcut := `{"id":"s1","label":"Docs","icon":"d","type":"url","target":"https://example.org","createdAt":1}`
	h.post(sessionPath(id, "/actions"), ada, `{"actions":[{"type":"desktop.createShortcut","shortcut":`+shortcut+`}]}`).wantStatus(http.StatusOK)
	if got := h.get("/api/shortcuts", ada).wantStatus(http.StatusOK); !contains(got.body, `"id":"s1"`) {
		t.Errorf("shortcuts: got %s, want s1", got.body)
	}
	if got := h.get("/api/shortcuts", h.userToken("bob")).wantStatus(http.StatusOK); contains(got.body, "s1") {
		t.Errorf("shortcuts of another user: got %s, want none", got.body)
	}
	h.get("/api/shortcuts?sessionId="+string(id), h.userToken("bob")).wantProblem(http.StatusNotFound, wire.CodeSessionNotFound)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	patch := func(body string) reply {
		return h.rest(http.MethodPatch, "/api/settings", request{token: ada, body: body})
	}
	if got := patch(`{"language":"ko"}`).wantStatus(http.StatusOK); string(got.body) != `{"language":"ko","onboardingCompleted":true}` {
		t.Errorf("settings: got %s, want the language ko and the onboarding completed", got.body)
	}
	if got := patch(`{"onboardingCompleted":false}`).wantStatus(http.StatusOK); string(got.body) != `{"language":"ko","onboardingCompleted":false}` {
		t.Errorf("settings: got %s, want the language ko and the onboarding not completed", got.body)
	}
	if got := h.get("/api/apps", ada); string(got.body) != `{"apps":[],"onboardingCompleted":false,"language":"ko"}` {
		t.Errorf("apps: got %s, want none, the language ko and the onboarding not completed", got.body)
	}
	const look = `"wallpaper":"#2a2a3e","accentColor":"green","iconSize":"large"`
	patch(`{"wallpaper":"dark-blue","iconSize":"large"}`).wantStatus(http.StatusOK)
	if got := patch(`{"wallpaper":"#2a2a3e","accentColor":"green"}`).wantStatus(http.StatusOK); !contains(got.body, look) {
		t.Errorf("got %s, want %s in it", got.body, look)
	}
	for _, path := range []string{"/api/settings", "/api/apps"} { // the desktop dialect reads the latter
		if got := h.get(path, ada).wantStatus(http.StatusOK); !contains(got.body, look) || !contains(got.body, `"language":"ko"`) {
			t.Errorf("%s: got %s, want %s in it", path, got.body, look)
		}
	}
	patch(`{"iconSize":"`+strings.Repeat("x", 17)+`"}`).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	if got := h.get("/api/settings", h.userToken("bob")); string(got.body) != `{"language":"en","onboardingCompleted":true}` {
		t.Errorf("settings of another user: got %s, want the defaults", got.body)
	}
	for _, body := range []string{"", "{}", `{"language":""}`, `{"language":7}`, `{`} {
		patch(body).wantProblem(http.StatusBadRequest, wire.CodeInvalidMessage)
	}
}

// Ranges are served, and an invalid range is a problem document.
func TestRanges(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	c := newChecker(t, describe(t, h))
	const described = "/api/sessions/{session}/files/{path}"
	path := sessionPath(id, "/files/a.txt")
	modified := h.rest(http.MethodPut, path, request{token: ada, body: "hello"}).wantStatus(http.StatusCreated).header.Get("Date")
	ask := func(name, value string) reply {
		got := h.rest(http.MethodGet, path, request{token: ada, header: header(name, value)})
		c.answer(t, http.MethodGet, described, "", got)
		return got
	}
	if got := ask("Range", "bytes=1-2").wantStatus(http.StatusPartialContent); string(got.body) != "el" || got.header.Get("Content-Range") != "bytes 1-2/5" {
		t.Errorf("bytes 1-2: got %s %v, want el of 5 bytes", got.body, got.header)
	}
	for _, wrong := range []string{"bytes=999-", "bytes=7-6", "lines=1-2"} {
		got := ask("Range", wrong)
		if p := got.wantProblem(http.StatusRequestedRangeNotSatisfiable, wire.CodeInvalidMessage); p.Field != "Range" || got.header.Get("Content-Disposition") != "" {
			t.Errorf("range %s: got %+v %v, want the field Range and no file", wrong, p, got.header)
		}
	}
	if got := ask("Range", "bytes=999-").header.Get("Content-Range"); got != "bytes */5" {
		t.Errorf("Content-Range: got %q, want bytes */5", got)
	}
	ask("If-Modified-Since", modified).wantStatus(http.StatusNotModified)
	for _, status := range []string{"200", "206", "304", "416"} {
		for _, where := range []string{described, "/api/storage/{path}"} {
			if c.d.Paths[where]["get"].Responses[status].Description == "" {
				t.Errorf("%s: %s is not described", where, status)
			}
		}
	}
}

// A form would be stored with its multipart encoding.
func TestUploadByFormIsRefused(t *testing.T) {
	t.Parallel()
	h := newTestHub(t)
	ada := h.userToken("ada")
	id := h.newSession("ada")
	h.rest(http.MethodPut, sessionPath(id, "/files/a.bin"), request{
		token: ada, body: "--x\r\n\r\nhello\r\n--x--", header: header("Content-Type", "multipart/form-data; boundary=x"),
	}).wantProblem(http.StatusUnsupportedMediaType, wire.CodeInvalidMessage)
}
