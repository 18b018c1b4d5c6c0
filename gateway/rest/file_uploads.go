package rest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// newUpload begins an upload in pieces.
type newUpload struct {
	Path string `json:"path" doc:"The path of the file, below the session's folder."`
	Size int64  `json:"size" wire:"min=0" doc:"The size of the whole file, in bytes."`
	Key  string `json:"key,omitempty" doc:"Chosen by the client. A request with the key, path and size of an unfinished upload continues that one, so that it can be repeated if its answer was lost."`
}

// uploadState is an upload in pieces.
type uploadState struct {
	ID         string     `json:"id"`
	Path       string     `json:"path"`
	Size       int64      `json:"size" wire:"min=0"`
	Offset     int64      `json:"offset" wire:"min=0" doc:"How many bytes are stored; where the next piece begins."`
	PieceBytes int64      `json:"pieceBytes" wire:"min=1" doc:"The largest piece."`
	File       *fileEntry `json:"file,omitempty" doc:"The file, once it is complete. The upload has ended then."`
}

var (
	newUploadForm   = httpio.FormOf[newUpload]()
	uploadStateForm = httpio.FormOf[uploadState]()
)

// headerOffset is that of the tus protocol.
const headerOffset = "Upload-Offset"

// answerUpload responds with the state of an upload. A conflict has it, too, so that the client can go on.
func answerUpload(c echo.Context, status int, u files.Upload) error {
	state := uploadState{ID: u.ID, Path: u.Path, Size: u.Size, Offset: u.Offset, PieceBytes: files.PieceBytes}
	if u.Done != nil {
		entry := entryOf(*u.Done)
		state.File = &entry
	}
	c.Response().Header().Set(headerOffset, strconv.FormatInt(u.Offset, 10))
	return uploadStateForm.Answer(c, status, &state)
}

func (fh *fileHandlers) startUpload(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	n, err := newUploadForm.Read(c, moveBytes)
	if err != nil {
		return err
	}
	condition, err := conditionOf(c.Request())
	if err != nil {
		return err
	}
	u, err := fh.files.StartUpload(c.Request().Context(), info.ID, files.NewUpload{Path: n.Path, Size: n.Size, Key: n.Key}, condition)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderLocation, fmt.Sprintf("/api/sessions/%s/uploads/%s", url.PathEscape(string(info.ID)), u.ID))
	return answerUpload(c, http.StatusCreated, u)
}

func (fh *fileHandlers) getUpload(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	u, err := fh.files.Upload(c.Request().Context(), info.ID, c.Param("upload"))
	if err != nil {
		return err
	}
	return answerUpload(c, http.StatusOK, u)
}

// appendPiece stores the next piece of an upload.
func (fh *fileHandlers) appendPiece(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	r := c.Request()
	if err := httpio.RequireUncompressed(r); err != nil {
		return err
	}
	offset, err := strconv.ParseInt(r.Header.Get(headerOffset), 10, 64)
	if err != nil || offset < 0 {
		return problem.New(wire.CodeInvalidMessage, headerOffset+" has to say where the piece begins.")
	}
	if r.ContentLength < 0 {
		return problem.Status(http.StatusLengthRequired, "A piece needs a Content-Length.")
	}
	return fh.storePiece(c, info, offset)
}

func (fh *fileHandlers) storePiece(c echo.Context, info session.Info, offset int64) error {
	allowTransfer(c)
	r := c.Request()
	u, err := fh.files.Append(r.Context(), info.ID, c.Param("upload"), offset, httpio.Body(c, files.PieceBytes), r.ContentLength)
	switch {
	case errors.Is(err, files.ErrOffset):
		return answerUpload(c, http.StatusConflict, u)
	case err != nil:
		return err
	}
	return answerUpload(c, http.StatusOK, u)
}

func (fh *fileHandlers) cancelUpload(c echo.Context) error {
	info, err := fh.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	if err := fh.files.CancelUpload(c.Request().Context(), info.ID, c.Param("upload")); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
