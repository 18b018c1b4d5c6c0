package rest

import (
	"archive/zip"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// fileMove renames a file or folder.
type fileMove struct {
	From string `json:"from" doc:"The path as it is."`
	To   string `json:"to" doc:"The new path. Folders are created as needed."`
}

// trashedFile is a deletion that can be undone.
type trashedFile struct {
	ID          string `json:"id"`
	Path        string `json:"path" doc:"Where the file or folder was."`
	IsDirectory bool   `json:"isDirectory"`
	Size        int64  `json:"size" wire:"min=0" doc:"Bytes, of all files in a folder."`
	DeletedAt   string `json:"deletedAt" doc:"RFC 3339."`
}

type trashList struct {
	Trash []trashedFile `json:"trash"`
}

var (
	fileMoveForm  = httpio.FormOf[fileMove]()
	trashListForm = httpio.FormOf[trashList]()
)

// moveBytes bounds the body of a request that names files.
const moveBytes = 16 << 10

// move renames a file or folder.
func (fh *fileHandlers) move(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	m, err := fileMoveForm.Read(c, moveBytes)
	if err != nil {
		return err
	}
	moved, err := fh.files.Move(c.Request().Context(), info.ID, m.From, m.To)
	if err != nil {
		return err
	}
	entry := entryOf(moved)
	return fileEntryForm.Answer(c, http.StatusOK, &entry)
}

// listTrash lists the deletions that can be undone.
func (fh *fileHandlers) listTrash(c echo.Context) error {
	info, err := fh.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	all, err := fh.files.Trashed(c.Request().Context(), info.ID)
	if err != nil {
		return err
	}
	answer := trashList{Trash: make([]trashedFile, 0, len(all))}
	for _, t := range all {
		answer.Trash = append(answer.Trash, trashedFile{ID: t.ID, Path: t.Path, IsDirectory: t.Folder, Size: t.Size, DeletedAt: httpio.FormatTime(t.Deleted)})
	}
	return trashListForm.Answer(c, http.StatusOK, &answer)
}

// restore undoes a deletion.
func (fh *fileHandlers) restore(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	restored, err := fh.files.Restore(c.Request().Context(), info.ID, c.Param("trash"))
	if err != nil {
		return err
	}
	entry := entryOf(restored)
	return fileEntryForm.Answer(c, http.StatusOK, &entry)
}

// emptyTrash removes deleted files for good.
func (fh *fileHandlers) emptyTrash(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	if err := fh.files.EmptyTrash(c.Request().Context(), info.ID); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// archive sends all files of a folder as a zip file.
func (fh *fileHandlers) archive(c echo.Context) error {
	info, err := fh.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	folder := c.QueryParam("folder")
	all, err := fh.files.ListAll(c.Request().Context(), info.ID, folder)
	if err != nil {
		return err
	}
	if len(all) > maxExportFiles {
		return problem.New(wire.CodeSessionInvalidState, "There are too many files for one archive.")
	}
	if sizeOf(all) > maxArchiveBytes {
		return problem.New(wire.CodeSessionInvalidState, "The files are too large for one archive; download them one by one.")
	}
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(transferTimeout))
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, mediaZip)
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderCacheControl, "private, no-store")
	h.Set(echo.HeaderContentDisposition, cmp.Or(mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(cmp.Or(folder, "files")) + ".zip"}), "attachment"))
	c.Response().WriteHeader(http.StatusOK)
	if err := fh.writeArchive(c, info.ID, folder, all); err != nil {
		panic(http.ErrAbortHandler) // the response has begun: only aborting it shows that it is incomplete
	}
	return nil
}

// maxArchiveBytes bounds the files of an archive. A session is allowed less, but programs that write into its folder
// may leave larger files there.
const maxArchiveBytes = 1 << 30

func sizeOf(all []files.Entry) (n int64) {
	for _, e := range all {
		if n += e.Size; n < 0 { // files of programs may be sparse
			return math.MaxInt64
		}
	}
	return n
}

func (fh *fileHandlers) writeArchive(c echo.Context, id wire.SessionID, folder string, all []files.Entry) error {
	out := zip.NewWriter(c.Response())
	for _, e := range all {
		if e.Folder || files.CheckName(e.Path) != nil { // programs make files with names that no request can have
			continue
		}
		if err := fh.addToArchive(c, out, id, e, strings.TrimPrefix(strings.TrimPrefix(e.Path, folder), "/")); err != nil {
			return err
		}
	}
	return out.Close()
}

func (fh *fileHandlers) addToArchive(c echo.Context, out *zip.Writer, id wire.SessionID, e files.Entry, name string) error {
	f, _, err := fh.files.Open(c.Request().Context(), id, e.Path)
	if isUnreadable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	w, err := out.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: e.Modified})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, io.LimitReader(f, e.Size)) // it may have grown
	return err
}

// isUnreadable reports whether a file that was listed is gone, or a program has made it a link or unreadable. It must not
// prevent the download of the others.
func isUnreadable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, files.ErrName)
}
