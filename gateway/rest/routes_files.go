package rest

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/openapi"
)

// fileHeaders are the request headers for fetching a file.
var fileHeaders = []openapi.Param{
	{Name: "Range", Doc: "Which bytes to send."},
	{Name: "If-Modified-Since", Doc: "The Last-Modified of an earlier response."},
	{Name: "If-None-Match", Doc: "The ETag of an earlier response."},
}

// conditionHeaders are the request headers of a write that must not replace what its sender has not seen.
var conditionHeaders = []openapi.Param{
	{Name: "If-Match", Doc: "The ETag of the file to be replaced. If it has changed, the status is 412."},
	{Name: "If-None-Match", Doc: "* if there must be no file of that name."},
}

// downloadQuery asks for a file as an attachment.
var downloadQuery = openapi.Param{Name: "download", Doc: "true to send it as an attachment, whatever it is."}

// fileAnswers returns the responses to fetching a file besides the whole file.
func fileAnswers() []openapi.Answer {
	file := openapi.Bytes(echo.MIMEOctetStream)
	return []openapi.Answer{
		{Status: http.StatusPartialContent, Doc: "The requested range.", Content: file, Headers: []openapi.Param{{Name: "Content-Range", Doc: "The range."}}},
		{Status: http.StatusNotModified, Doc: "The file has not changed."},
		{
			Status: http.StatusRequestedRangeNotSatisfiable, Doc: "The file does not have that range.", Content: openapi.Problems(),
			Headers: []openapi.Param{{Name: "Content-Range", Doc: "The size of the file."}},
		},
	}
}

func (fh *fileHandlers) routes() []openapi.Route {
	const tag = "files"
	file := openapi.Bytes(echo.MIMEOctetStream)
	save := openapi.Route{
		Guard: openapi.GuardIdentity, Handler: fh.put, Tag: tag, Path: "/api/sessions/:session/files/*", Body: file,
		Summary: "Store a file", Detail: "The body is the file. It replaces an existing file of that name.", Headers: conditionHeaders,
		Answers: openapi.Success(http.StatusCreated, "The file is stored.", openapi.JSONBody(fileEntryForm)),
	}
	put, post := save, save
	put.Method, post.Method = http.MethodPut, http.MethodPost
	return append(fh.changeRoutes(), []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/files", Guard: openapi.GuardIdentity, Handler: fh.list, Tag: tag,
			Summary: "List a folder of the session's files", Query: []openapi.Param{{Name: "folder", Doc: "The folder; the top folder when absent."}, {Name: "all", Doc: "true for everything in its folders, too."}},
			Answers: openapi.Success(http.StatusOK, "The content of the folder.", openapi.JSONBody(fileListForm)),
		},
		put, post,
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/files/*", Guard: openapi.GuardIdentity, Handler: fh.get, Tag: tag,
			Summary: "Fetch a file", Headers: fileHeaders, Query: []openapi.Param{downloadQuery},
			Detail:  "Nothing in the file can run on the hub's origin: all files except images, audio, video and plain text are sent as attachments.",
			Answers: append(openapi.Success(http.StatusOK, "The file.", file), fileAnswers()...),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/files/*", Guard: openapi.GuardIdentity, Handler: fh.delete, Tag: tag,
			Summary: "Delete a file or folder", Detail: "The deletion can be undone for a day: POST to the Location.", Answers: []openapi.Answer{{Status: http.StatusNoContent, Doc: "Deleted.", Headers: []openapi.Param{{Name: echo.HeaderLocation, Doc: "The URL of the deletion."}}}},
		},
		{
			Method: http.MethodGet, Path: access.PathStorage, Guard: openapi.GuardIdentity, Handler: fh.getStorage, Tag: tag,
			Summary: "Fetch a file or list a folder, for the desktop dialect",
			Query:   []openapi.Param{sessionQuery, {Name: "list", Doc: "true to list the folder instead."}, {Name: "token", Doc: "The token, where tokens in URLs are enabled."}},
			Headers: fileHeaders,
			Answers: append(openapi.Success(http.StatusOK, "The listing, or the file.", openapi.JSONBody(storageListForm)), fileAnswers()...),
		},
		{
			Method: http.MethodPost, Path: "/api/storage/*", Guard: openapi.GuardIdentity, Handler: fh.postStorage, Tag: tag,
			Summary: "Store a file, for the desktop dialect", Query: []openapi.Param{sessionQuery}, Body: file,
			Answers: openapi.Success(http.StatusOK, "The file is stored.", openapi.JSONBody(storageForm)),
		},
		{
			Method: http.MethodDelete, Path: "/api/storage/*", Guard: openapi.GuardIdentity, Handler: fh.deleteStorage, Tag: tag,
			Summary: "Delete a file, for the desktop dialect", Query: []openapi.Param{sessionQuery},
			Answers: openapi.Success(http.StatusOK, "Deleted.", openapi.JSONBody(storageForm)),
		},
	}...)
}

// changeRoutes are the routes for moving, deleting and uploading in pieces.
func (fh *fileHandlers) changeRoutes() []openapi.Route {
	const tag = "files"
	state := openapi.JSONBody(uploadStateForm)
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/files.zip", Guard: openapi.GuardIdentity, Handler: fh.archive, Tag: tag,
			Summary: "Fetch all files of a folder as a zip file", Query: []openapi.Param{{Name: "folder", Doc: "The folder; all files when absent."}},
			Answers: openapi.Success(http.StatusOK, "The files.", openapi.Bytes(mediaZip)),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/file-moves", Guard: openapi.GuardIdentity, Handler: fh.move, Tag: tag,
			Summary: "Rename or move a file or folder", Body: openapi.JSONBody(fileMoveForm), Detail: "The new path has to be free.",
			Answers: openapi.Success(http.StatusOK, "It has the new path.", openapi.JSONBody(fileEntryForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/trash", Guard: openapi.GuardIdentity, Handler: fh.listTrash, Tag: tag,
			Summary: "List deletions that can be undone", Answers: openapi.Success(http.StatusOK, "The deletions of the last day, the newest first.", openapi.JSONBody(trashListForm)),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/trash", Guard: openapi.GuardIdentity, Handler: fh.emptyTrash, Tag: tag,
			Summary: "Remove deleted files for good", Answers: openapi.NoContent("Removed."),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/trash/:trash", Guard: openapi.GuardIdentity, Handler: fh.restore, Tag: tag,
			Summary: "Undo a deletion", Detail: "If there is another file at the old path by now, the name gets a number.",
			Answers: openapi.Success(http.StatusOK, "The file or folder.", openapi.JSONBody(fileEntryForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/uploads", Guard: openapi.GuardIdentity, Handler: fh.startUpload, Tag: tag,
			Summary: "Begin to upload a file in pieces", Body: openapi.JSONBody(newUploadForm), Headers: conditionHeaders,
			Detail:  "An upload can be continued for a day, after any cut and on any replica. Its size counts against the limits of the session from the beginning. An empty file is complete at once.",
			Answers: openapi.Success(http.StatusCreated, "The upload.", state, openapi.Param{Name: echo.HeaderLocation, Doc: "The URL of the upload."}),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/uploads/:upload", Guard: openapi.GuardIdentity, Handler: fh.getUpload, Tag: tag,
			Summary: "Fetch the state of an upload", Answers: openapi.Success(http.StatusOK, "The upload, with the offset at which it continues.", state),
		},
		{
			Method: http.MethodPatch, Path: "/api/sessions/:session/uploads/:upload", Guard: openapi.GuardIdentity, Handler: fh.appendPiece, Tag: tag,
			Summary: "Upload the next piece", Body: openapi.Bytes(echo.MIMEOctetStream),
			Headers: []openapi.Param{{Name: headerOffset, Doc: "Where the piece begins."}},
			Detail:  "The body is the piece, with a Content-Length. A piece that is cut off is not stored. With the last piece the file is complete.",
			Answers: append(openapi.Success(http.StatusOK, "The piece is stored.", state),
				openapi.Answer{Status: http.StatusConflict, Doc: "The upload continues at another offset, which the body has.", Content: state}),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/uploads/:upload", Guard: openapi.GuardIdentity, Handler: fh.cancelUpload, Tag: tag,
			Summary: "Cancel an upload", Answers: openapi.NoContent("Removed."),
		},
	}
}
