package rest

import (
	"cmp"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/web"
)

// fileHandlers serve the files of sessions.
type fileHandlers struct {
	requests    *sessionRequests
	files       *files.Store
	uploadBytes int64
}

// transferTimeout bounds the transfer of a file.
const transferTimeout = 10 * time.Minute

type fileEntry struct {
	Path        string `json:"path" doc:"The path below the session's folder, with slashes."`
	IsDirectory bool   `json:"isDirectory"`
	Size        int64  `json:"size" wire:"min=0" doc:"Bytes; 0 for folders."`
	ModifiedAt  string `json:"modifiedAt" doc:"RFC 3339."`
	ETag        string `json:"etag,omitempty" doc:"The ETag of the content; absent for folders."`
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
	fileEntryForm   = httpio.FormOf[fileEntry]()
	fileListForm    = httpio.FormOf[fileList]()
	storageListForm = httpio.FormOf[[]fileEntry]()
	storageForm     = httpio.FormOf[storageAnswer]()
)

func entriesOf(all []files.Entry) []fileEntry {
	out := make([]fileEntry, 0, len(all))
	for _, e := range all {
		out = append(out, entryOf(e))
	}
	return out
}

func entryOf(e files.Entry) fileEntry {
	return fileEntry{Path: e.Path, IsDirectory: e.Folder, Size: e.Size, ModifiedAt: httpio.FormatTime(e.Modified), ETag: e.ETag}
}

// list lists a folder of the session's files.
func (fh *fileHandlers) list(c echo.Context) error {
	info, err := fh.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	list := fh.files.List
	if c.QueryParam("all") == "true" {
		list = fh.files.ListAll
	}
	all, err := list(c.Request().Context(), info.ID, c.QueryParam("folder"))
	if err != nil {
		return err
	}
	return fileListForm.Answer(c, http.StatusOK, &fileList{Files: entriesOf(all)})
}

// put stores the body as a file.
func (fh *fileHandlers) put(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	saved, err := fh.save(c, info)
	if err != nil {
		return err
	}
	entry := entryOf(saved)
	c.Response().Header().Set(headerETag, quoteETag(saved.ETag))
	return fileEntryForm.Answer(c, http.StatusCreated, &entry)
}

// save streams the body of a request to the file store.
func (fh *fileHandlers) save(c echo.Context, info session.Info) (files.Entry, error) {
	r := c.Request()
	if err := httpio.RequireUncompressed(r); err != nil {
		return files.Entry{}, err
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		// It would be stored with the multipart encoding around the file.
		return files.Entry{}, problem.Status(http.StatusUnsupportedMediaType, "The body has to be the file itself, not a form with it.")
	}
	if r.ContentLength > fh.uploadBytes {
		return files.Entry{}, &http.MaxBytesError{Limit: fh.uploadBytes}
	}
	condition, err := conditionOf(r)
	if err != nil {
		return files.Entry{}, err
	}
	allowTransfer(c)
	return fh.files.SaveIf(r.Context(), info.ID, httpio.PathParam(c, "*"), httpio.Body(c, fh.uploadBytes), r.ContentLength, condition)
}

const headerETag = "ETag"

func quoteETag(tag string) string { return `"` + tag + `"` }

// conditionOf returns the condition in the headers of a request.
func conditionOf(r *http.Request) (files.Condition, error) {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case none == "*" && match == "":
		return files.Condition{Absent: true}, nil
	case none != "":
		return files.Condition{}, problem.Status(http.StatusBadRequest, "If-None-Match can only be *, and not together with If-Match.")
	case match == "":
		return files.Condition{}, nil
	}
	tag, found := strings.CutPrefix(match, `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	if !found || !closed || tag == "" || strings.ContainsAny(tag, `",`) {
		return files.Condition{}, problem.Status(http.StatusBadRequest, "If-Match has to be one ETag in quotation marks.")
	}
	return files.Condition{ETag: tag}, nil
}

// allowTransfer gives a request the time that a large file takes.
func allowTransfer(c echo.Context) {
	control := http.NewResponseController(c.Response())
	until := time.Now().Add(transferTimeout)
	_ = control.SetReadDeadline(until)  // fails only for a writer without deadlines,
	_ = control.SetWriteDeadline(until) // as in tests
}

func (fh *fileHandlers) get(c echo.Context) error {
	info, err := fh.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	return fh.send(c, info)
}

// inlineTypes are the media types that browsers may display inline. None of them can run, neither
// as a page nor as its script or style. All other files are sent as attachments.
var inlineTypes = map[string]bool{
	"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/avif": true, "text/plain; charset=utf-8": true,
	"audio/mpeg": true, "audio/ogg": true, "audio/wav": true, "video/mp4": true, "video/webm": true,
}

// send serves a file.
func (fh *fileHandlers) send(c echo.Context, info session.Info) error {
	name := httpio.PathParam(c, "*")
	f, entry, err := fh.files.Open(c.Request().Context(), info.ID, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	return sendContent(c, name, entry.ETag, entry.Modified, f)
}

// sendContent serves the content of a file. An uploaded file must not run as script on the hub's origin: neither when
// it is opened, which its sandbox policy prevents, nor as the script of a page that allows scripts
// of this origin, which its media type prevents.
func sendContent(c echo.Context, name, etag string, modified time.Time, f io.ReadSeeker) error {
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(transferTimeout))
	media, disposition := web.MediaType(name), "inline"
	if !inlineTypes[media] || c.QueryParam("download") == "true" {
		media, disposition = echo.MIMEOctetStream, "attachment"
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, media)
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderContentSecurityPolicy, "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:")
	h.Set(echo.HeaderCacheControl, "private, no-cache")
	h.Set(headerETag, quoteETag(etag))
	h.Set(echo.HeaderContentDisposition, cmp.Or(mime.FormatMediaType(disposition, map[string]string{"filename": path.Base(name)}), disposition))
	return httpio.ServeContent(c, modified, f)
}

func (fh *fileHandlers) delete(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	deleted, err := fh.files.Trash(c.Request().Context(), info.ID, httpio.PathParam(c, "*"))
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, "/api/sessions/"+url.PathEscape(string(info.ID))+"/trash/"+deleted.ID)
	return c.NoContent(http.StatusNoContent)
}

func (fh *fileHandlers) getStorage(c echo.Context) error {
	info, err := fh.requests.current(c, access.Viewer)
	if err != nil {
		return err
	}
	if c.QueryParam("list") != "true" {
		return fh.send(c, info)
	}
	all, err := fh.files.List(c.Request().Context(), info.ID, strings.Trim(httpio.PathParam(c, "*"), "/"))
	if err != nil {
		return err
	}
	entries := entriesOf(all)
	return storageListForm.Answer(c, http.StatusOK, &entries)
}

func (fh *fileHandlers) postStorage(c echo.Context) error {
	info, err := fh.requests.current(c, access.Operator)
	if err != nil {
		return err
	}
	saved, err := fh.save(c, info)
	if err != nil {
		return err
	}
	return storageForm.Answer(c, http.StatusOK, &storageAnswer{OK: true, Path: saved.Path})
}

func (fh *fileHandlers) deleteStorage(c echo.Context) error {
	info, err := fh.requests.current(c, access.Operator)
	if err != nil {
		return err
	}
	name := httpio.PathParam(c, "*")
	if _, err := fh.files.Trash(c.Request().Context(), info.ID, name); err != nil {
		return err
	}
	return storageForm.Answer(c, http.StatusOK, &storageAnswer{OK: true, Path: name})
}
