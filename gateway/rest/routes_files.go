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
}

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
		Summary: "Store a file", Detail: "The body is the file. It replaces an existing file of that name.",
		Answers: openapi.Success(http.StatusCreated, "The file is stored.", openapi.JSONBody(fileEntryForm)),
	}
	put, post := save, save
	put.Method, post.Method = http.MethodPut, http.MethodPost
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/files", Guard: openapi.GuardIdentity, Handler: fh.list, Tag: tag,
			Summary: "List a folder of the session's files", Query: []openapi.Param{{Name: "folder", Doc: "The folder; the top folder when absent."}},
			Answers: openapi.Success(http.StatusOK, "The content of the folder.", openapi.JSONBody(fileListForm)),
		},
		put, post,
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/files/*", Guard: openapi.GuardIdentity, Handler: fh.get, Tag: tag,
			Summary: "Fetch a file", Headers: fileHeaders,
			Detail:  "Nothing in the file can run on the hub's origin: all files except images, audio, video and plain text are sent as attachments.",
			Answers: append(openapi.Success(http.StatusOK, "The file.", file), fileAnswers()...),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/files/*", Guard: openapi.GuardIdentity, Handler: fh.delete, Tag: tag,
			Summary: "Delete a file", Answers: openapi.NoContent("Deleted."),
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
	}
}
