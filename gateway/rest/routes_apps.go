package rest

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/openapi"
)

func (ah *appHandlers) routes() []openapi.Route {
	const tag = "apps"
	const frames = "A page runs only in a frame, without an origin and without network; everything else except pictures is an attachment."
	file := openapi.Bytes(echo.MIMEOctetStream)
	served := openapi.Success(http.StatusOK, "The file.", file)
	return append(ah.marketRoutes(), []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/apps/:app/*", Guard: openapi.GuardIdentity, Handler: ah.getFile, Tag: tag,
			Summary: "Fetch a file of an app of the caller", Detail: "icon is the picture of its icon. " + frames, Answers: served,
		},
		{
			Method: http.MethodGet, Path: "/api/sandbox/:sandbox/*", Guard: openapi.GuardIdentity, Handler: ah.getSandbox, Tag: tag,
			Summary: "Fetch a file of a sandbox of the caller", Detail: frames, Answers: served,
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/apps", Guard: openapi.GuardIdentity, Handler: ah.listOfSession, Tag: tag,
			Summary: "The apps of the session's owner", Answers: openapi.Success(http.StatusOK, "The apps.", openapi.JSONBody(sessionAppsForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/apps/:app/*", Guard: openapi.GuardIdentity, Handler: ah.getFileOfSession, Tag: tag,
			Summary: "Fetch a file of an app of the session's owner", Detail: frames, Answers: served,
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/sandboxes/:sandbox/*", Guard: openapi.GuardIdentity, Handler: ah.getSandboxOfSession, Tag: tag,
			Summary: "Fetch a file of a sandbox of the session's owner", Detail: frames, Answers: served,
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/app-data/:app", Guard: openapi.GuardIdentity, Handler: ah.listData, Tag: tag,
			Summary: "List the data of an app", Detail: "Only for the owner of the session.",
			Answers: openapi.Success(http.StatusOK, "The names.", openapi.JSONBody(appDataForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/app-data/:app/*", Guard: openapi.GuardIdentity, Handler: ah.getData, Tag: tag,
			Summary: "Fetch a file of an app's data", Query: []openapi.Param{{Name: "optional", Doc: "true to get 204 instead of an error for a file that is missing."}},
			Answers: append(openapi.NoContent("There is no such file."), served...),
		},
		{
			Method: http.MethodPut, Path: "/api/sessions/:session/app-data/:app/*", Guard: openapi.GuardIdentity, Handler: ah.putData, Tag: tag,
			Summary: "Store a file of an app's data", Body: file,
			Detail: "The body is the file. It replaces an existing file of that name. With If-Match and the ETag of a file, or If-None-Match: *, it is 412 if the file " +
				"has changed, or exists. The tabs of the user get SETTINGS_CHANGED with appData/APP/FILE.",
			Answers: openapi.NoContent("Stored."),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/app-data/:app/*", Guard: openapi.GuardIdentity, Handler: ah.deleteData, Tag: tag,
			Summary: "Delete a file of an app's data", Answers: openapi.NoContent("Deleted."),
		},
	}...)
}
