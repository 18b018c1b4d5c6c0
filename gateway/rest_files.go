package gateway

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
)

// transferTimeout bounds the transfer of a file.
const transferTimeout = 10 * time.Minute

type fileEntry struct {
	Path        string `json:"path" doc:"The path below the session's folder, with slashes."`
	IsDirectory bool   `json:"isDirectory"`
	Size        int64  `json:"size" wire:"min=0" doc:"Bytes; 0 for folders."`
	ModifiedAt  string `json:"modifiedAt" doc:"RFC 3339."`
}

type fileList struct {
	Files []fileEntry `json:"files"`
}

// storageAnswer is the response to changes in the desktop dialect.
type storageAnswer struct {
	OK   bool   `json:"ok"`
	Path string `json:"path"`
}

var (
	fileEntryForm   = formOf[fileEntry]()
	fileListForm    = formOf[fileList]()
	storageListForm = formOf[[]fileEntry]()
	storageForm     = formOf[storageAnswer]()
)

func entriesOf(all []files.Entry) []fileEntry {
	out := make([]fileEntry, 0, len(all))
	for _, e := range all {
		out = append(out, entryOf(e))
	}
	return out
}

func entryOf(e files.Entry) fileEntry {
	return fileEntry{Path: e.Path, IsDirectory: e.Folder, Size: e.Size, ModifiedAt: formatTime(e.Modified)}
}

// listFiles lists a folder of the session's files.
func (s *Server) listFiles(c echo.Context) error {
	info, err := s.requireAccess(c, accessViewer)
	if err != nil {
		return err
	}
	all, err := s.files.List(info.ID, c.QueryParam("folder"))
	if err != nil {
		return err
	}
	return fileListForm.answer(c, http.StatusOK, &fileList{Files: entriesOf(all)})
}

// putFile stores the body as a file.
func (s *Server) putFile(c echo.Context) error {
	info, err := s.requireAccess(c, accessOperator)
	if err != nil {
		return err
	}
	saved, err := s.saveFile(c, info)
	if err != nil {
		return err
	}
	entry := entryOf(saved)
	return fileEntryForm.answer(c, http.StatusCreated, &entry)
}

// saveFile streams the body of a request to the file store.
func (s *Server) saveFile(c echo.Context, info session.Info) (files.Entry, error) {
	r := c.Request()
	if err := requireUncompressed(r); err != nil {
		return files.Entry{}, err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		// It would be stored with the multipart encoding around the file.
		return files.Entry{}, statusProblem(http.StatusUnsupportedMediaType, "The body has to be the file itself, not a form with it.")
	}
	if r.ContentLength > s.cfg.UploadBytes {
		return files.Entry{}, &http.MaxBytesError{Limit: s.cfg.UploadBytes}
	}
	// A large file takes longer than other requests.
	control := http.NewResponseController(c.Response())
	until := time.Now().Add(transferTimeout)
	_ = control.SetReadDeadline(until)  // fails only for a writer without deadlines,
	_ = control.SetWriteDeadline(until) // as in tests
	return s.files.Save(r.Context(), info.ID, pathParam(c, "*"), bodyOf(c, s.cfg.UploadBytes), r.ContentLength)
}

func (s *Server) getFile(c echo.Context) error {
	info, err := s.requireAccess(c, accessViewer)
	if err != nil {
		return err
	}
	return s.sendFile(c, info)
}

// inlineTypes are the media types that browsers may display inline. None of them can run, neither
// as a page nor as its script or style. All other files are sent as attachments.
var inlineTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "text/plain; charset=utf-8": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/wav": true, "video/mp4": true, "video/webm": true,
}

// sendFile serves a file. An uploaded file must not run as script on the hub's origin: neither when
// it is opened, which its sandbox policy prevents, nor as the script of a page that allows scripts
// of this origin, which its media type prevents.
func (s *Server) sendFile(c echo.Context, info session.Info) error {
	name := pathParam(c, "*")
	f, entry, err := s.files.Open(info.ID, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(transferTimeout))
	media, disposition := web.MediaType(name), "inline"
	if !inlineTypes[media] {
		media, disposition = echo.MIMEOctetStream, "attachment"
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, media)
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderContentSecurityPolicy, "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:")
	h.Set(echo.HeaderCacheControl, "private, no-cache")
	h.Set(echo.HeaderContentDisposition, cmp.Or(mime.FormatMediaType(disposition, map[string]string{"filename": path.Base(name)}), disposition))
	return serveContent(c, entry.Modified, f)
}

// serveContent is [http.ServeContent] with problem documents as error responses.
func serveContent(c echo.Context, modified time.Time, f io.ReadSeeker) error {
	w := &errorCapture{ResponseWriter: c.Response()}
	http.ServeContent(w, c.Request(), "", modified, f)
	if w.status == 0 {
		return nil
	}
	h := c.Response().Header()
	h.Del(echo.HeaderContentType)
	h.Del(echo.HeaderContentDisposition)
	p := statusProblem(w.status, "")
	switch w.status {
	case http.StatusRequestedRangeNotSatisfiable:
		p.Field, p.Detail = "Range", "The file does not have that range."
	case http.StatusPreconditionFailed:
		p.Detail = "The file is not as it was."
	}
	return p
}

// errorCapture withholds an error response.
type errorCapture struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *errorCapture) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *errorCapture) Write(b []byte) (int, error) {
	if w.status != 0 {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

func (s *Server) deleteFile(c echo.Context) error {
	info, err := s.requireAccess(c, accessOperator)
	if err != nil {
		return err
	}
	if err := s.files.Remove(info.ID, pathParam(c, "*")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// currentSession returns the session that a request of the desktop dialect means: the one it names,
// or the most recently updated one of its user.
func (s *Server) currentSession(c echo.Context, least access) (session.Info, error) {
	me, ctx := caller(c), c.Request().Context()
	id := wire.SessionID(cmp.Or(c.QueryParam("sessionId"), string(me.Session)))
	if id == "" {
		var err error
		if id, err = s.latestSession(ctx, me.User); err != nil {
			return session.Info{}, err
		}
	}
	granted, info, err := s.accessTo(ctx, me, id)
	if err == nil && granted < least {
		err = problem(wire.CodeForbidden, "")
	}
	if err == nil && least == accessOperator {
		err = s.auditSessionAccess(c, info)
	}
	return info, err
}

func (s *Server) getStorage(c echo.Context) error {
	info, err := s.currentSession(c, accessViewer)
	if err != nil {
		return err
	}
	if c.QueryParam("list") != "true" {
		return s.sendFile(c, info)
	}
	all, err := s.files.List(info.ID, strings.Trim(pathParam(c, "*"), "/"))
	if err != nil {
		return err
	}
	entries := entriesOf(all)
	return storageListForm.answer(c, http.StatusOK, &entries)
}

func (s *Server) postStorage(c echo.Context) error {
	info, err := s.currentSession(c, accessOperator)
	if err != nil {
		return err
	}
	saved, err := s.saveFile(c, info)
	if err != nil {
		return err
	}
	return storageForm.answer(c, http.StatusOK, &storageAnswer{OK: true, Path: saved.Path})
}

func (s *Server) deleteStorage(c echo.Context) error {
	info, err := s.currentSession(c, accessOperator)
	if err != nil {
		return err
	}
	name := pathParam(c, "*")
	if err := s.files.Remove(info.ID, name); err != nil {
		return err
	}
	return storageForm.answer(c, http.StatusOK, &storageAnswer{OK: true, Path: name})
}
