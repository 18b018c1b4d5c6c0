package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// fileHeaders are the request headers for fetching a file.
var fileHeaders = []param{
	{name: "Range", doc: "Which bytes to send."},
	{name: "If-Modified-Since", doc: "The Last-Modified of an earlier response."},
}

// fileAnswers returns the responses to fetching a file besides the whole file.
func fileAnswers() []answer {
	file := bytesOf(echo.MIMEOctetStream)
	return []answer{
		{status: http.StatusPartialContent, doc: "The requested range.", content: file, headers: []param{{name: "Content-Range", doc: "The range."}}},
		{status: http.StatusNotModified, doc: "The file has not changed."},
		{
			status: http.StatusRequestedRangeNotSatisfiable, doc: "The file does not have that range.", content: problems(),
			headers: []param{{name: "Content-Range", doc: "The size of the file."}},
		},
	}
}

func (u *fileHandlers) routes() []route {
	const tag = "files"
	file := bytesOf(echo.MIMEOctetStream)
	save := route{
		guard: guardIdentity, handler: u.put, tag: tag, path: "/api/sessions/:session/files/*", body: file,
		summary: "Store a file", detail: "The body is the file. It replaces an existing file of that name.",
		answers: success(http.StatusCreated, "The file is stored.", jsonBody(fileEntryForm)),
	}
	put, post := save, save
	put.method, post.method = http.MethodPut, http.MethodPost
	return []route{
		{
			method: http.MethodGet, path: "/api/sessions/:session/files", guard: guardIdentity, handler: u.list, tag: tag,
			summary: "List a folder of the session's files", query: []param{{name: "folder", doc: "The folder; the top folder when absent."}},
			answers: success(http.StatusOK, "The content of the folder.", jsonBody(fileListForm)),
		},
		put, post,
		{
			method: http.MethodGet, path: "/api/sessions/:session/files/*", guard: guardIdentity, handler: u.get, tag: tag,
			summary: "Fetch a file", headers: fileHeaders,
			detail:  "Nothing in the file can run on the hub's origin: all files except images, audio, video and plain text are sent as attachments.",
			answers: append(success(http.StatusOK, "The file.", file), fileAnswers()...),
		},
		{
			method: http.MethodDelete, path: "/api/sessions/:session/files/*", guard: guardIdentity, handler: u.delete, tag: tag,
			summary: "Delete a file", answers: noContent("Deleted."),
		},
		{
			method: http.MethodGet, path: pathStorage, guard: guardIdentity, handler: u.getStorage, tag: tag,
			summary: "Fetch a file or list a folder, for the desktop dialect",
			query:   []param{sessionQuery, {name: "list", doc: "true to list the folder instead."}, {name: "token", doc: "The token, where tokens in URLs are enabled."}},
			headers: fileHeaders,
			answers: append(success(http.StatusOK, "The listing, or the file.", jsonBody(storageListForm)), fileAnswers()...),
		},
		{
			method: http.MethodPost, path: "/api/storage/*", guard: guardIdentity, handler: u.postStorage, tag: tag,
			summary: "Store a file, for the desktop dialect", query: []param{sessionQuery}, body: file,
			answers: success(http.StatusOK, "The file is stored.", jsonBody(storageForm)),
		},
		{
			method: http.MethodDelete, path: "/api/storage/*", guard: guardIdentity, handler: u.deleteStorage, tag: tag,
			summary: "Delete a file, for the desktop dialect", query: []param{sessionQuery},
			answers: success(http.StatusOK, "Deleted.", jsonBody(storageForm)),
		},
	}
}
