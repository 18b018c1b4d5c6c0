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

// transferTimeout is how long a file may be on its way.
const transferTimeout = 10 * time.Minute

// fileEntry is a file or folder in a listing.
type fileEntry struct {
	Path        string `json:"path" doc:"The way there from the session's folder, with slashes."`
	IsDirectory bool   `json:"isDirectory"`
	Size        int64  `json:"size" wire:"min=0" doc:"Bytes; 0 for folders."`
	ModifiedAt  string `json:"modifiedAt" doc:"RFC 3339."`
}

// fileList is what a folder holds.
type fileList struct {
	Files []fileEntry `json:"files"`
}

// storageAnswer is how desktops of the other dialect are told that it is done.
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
	return fileEntry{Path: e.Path, IsDirectory: e.Folder, Size: e.Size, ModifiedAt: stamp(e.Modified)}
}

// listFiles shows what a folder of the session holds.
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

// putFile keeps the body as a file.
func (s *Server) putFile(c echo.Context) error {
	info, err := s.requireAccess(c, accessOperator)
	if err != nil {
		return err
	}
	saved, err := s.save(c, info)
	if err != nil {
		return err
	}
	entry := entryOf(saved)
	return fileEntryForm.answer(c, http.StatusCreated, &entry)
}

// save streams the body of a request to the disk.
func (s *Server) save(c echo.Context, info session.Info) (files.Entry, error) {
	r := c.Request()
	if err := requireUncompressed(r); err != nil {
		return files.Entry{}, err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		// It would be kept with the wrapping that forms put around files.
		return files.Entry{}, statusProblem(http.StatusUnsupportedMediaType, "The body has to be the file itself, not a form with it.")
	}
	if r.ContentLength > s.cfg.UploadBytes {
		return files.Entry{}, &http.MaxBytesError{Limit: s.cfg.UploadBytes}
	}
	// A large file takes longer than other requests may.
	control := http.NewResponseController(c.Response())
	until := time.Now().Add(transferTimeout)
	_ = control.SetReadDeadline(until)  // not every writer has deadlines,
	_ = control.SetWriteDeadline(until) // those of tests have none
	return s.files.Save(r.Context(), info.ID, pathParam(c, "*"), bodyOf(c, s.cfg.UploadBytes), r.ContentLength)
}

func (s *Server) getFile(c echo.Context) error {
	info, err := s.requireAccess(c, accessViewer)
	if err != nil {
		return err
	}
	return s.send(c, info)
}

// shown are the types of files that a browser may show by itself. Nothing in them
// can run, neither as a page nor as the script or style of one. Everything
// else is bytes to be saved.
var shown = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "text/plain; charset=utf-8": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/wav": true, "video/mp4": true, "video/webm": true,
}

// send shows a file. Whoever uploaded it must not be able to run something in the
// name of the hub's own pages: neither by opening it, for which it comes with a
// policy that allows nothing, nor as the script of a page that is allowed scripts
// of this origin, for which it must not have the type of one.
func (s *Server) send(c echo.Context, info session.Info) error {
	name := pathParam(c, "*")
	f, entry, err := s.files.Open(info.ID, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(transferTimeout))
	media, disposition := web.MediaType(name), "inline"
	if !shown[media] {
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

// serveContent is [http.ServeContent] whose refusals are problems.
func serveContent(c echo.Context, modified time.Time, f io.ReadSeeker) error {
	w := &unrefusing{ResponseWriter: c.Response()}
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

// unrefusing keeps a refusal from being written.
type unrefusing struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *unrefusing) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *unrefusing) Write(b []byte) (int, error) {
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

// current is the session that a desktop of the other dialect means: the one it
// names, or the one its user used last.
func (s *Server) current(c echo.Context, least access) (session.Info, error) {
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
		err = s.auditEntry(c, info)
	}
	return info, err
}

func (s *Server) getStorage(c echo.Context) error {
	info, err := s.current(c, accessViewer)
	if err != nil {
		return err
	}
	if c.QueryParam("list") != "true" {
		return s.send(c, info)
	}
	all, err := s.files.List(info.ID, strings.Trim(pathParam(c, "*"), "/"))
	if err != nil {
		return err
	}
	entries := entriesOf(all)
	return storageListForm.answer(c, http.StatusOK, &entries)
}

func (s *Server) postStorage(c echo.Context) error {
	info, err := s.current(c, accessOperator)
	if err != nil {
		return err
	}
	saved, err := s.save(c, info)
	if err != nil {
		return err
	}
	return storageForm.answer(c, http.StatusOK, &storageAnswer{OK: true, Path: saved.Path})
}

func (s *Server) deleteStorage(c echo.Context) error {
	info, err := s.current(c, accessOperator)
	if err != nil {
		return err
	}
	name := pathParam(c, "*")
	if err := s.files.Remove(info.ID, name); err != nil {
		return err
	}
	return storageForm.answer(c, http.StatusOK, &storageAnswer{OK: true, Path: name})
}
