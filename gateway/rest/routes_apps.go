package rest

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/openapi"
)

func (ah *appHandlers) routes() []openapi.Route {
	const tag = "apps"
	const frames = "A page runs only in a frame, without an origin, and connects to nothing but the data of its app; everything else except pictures is an attachment."
	file := openapi.Bytes(echo.MIMEOctetStream)
	served := openapi.Success(http.StatusOK, "The file.", file)
	pages := []openapi.Route{
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
	}
	return slices.Concat(ah.marketRoutes(), pages, ah.dataRoutes())
}

// dataRoutes returns the routes of the data of apps: for desktops, and for pages in frames without an origin.
func (ah *appHandlers) dataRoutes() []openapi.Route {
	inSession := appDataHandlers{ah, ah.dataOfSession}.routes("/api/sessions/:session/app-data/:app", openapi.GuardIdentity,
		"Only for the owner of the session.")
	ofPage := appDataHandlers{ah, ah.dataOfPage}.routes(access.PathAppPageData, openapi.GuardAppPage,
		"For the page of an app in a frame of a desktop of the desktop dialect, with the token that the hub writes into the page. The token says which app.")
	return append(inSession, ofPage...)
}

func (d appDataHandlers) routes(folder string, guard openapi.Guard, who string) []openapi.Route {
	const tag = "apps"
	file := openapi.Bytes(echo.MIMEOctetStream)
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: folder, Guard: guard, Handler: d.list, Tag: tag,
			Summary: "List the data of an app", Detail: who, Answers: openapi.Success(http.StatusOK, "The names.", openapi.JSONBody(appDataForm)),
		},
		{
			Method: http.MethodGet, Path: folder + "/*", Guard: guard, Handler: d.get, Tag: tag,
			Summary: "Fetch a file of an app's data", Detail: who,
			Query:   []openapi.Param{{Name: "optional", Doc: "true to get 204 instead of an error for a file that is missing."}},
			Answers: append(openapi.NoContent("There is no such file."), openapi.Success(http.StatusOK, "The file.", file)...),
		},
		{
			Method: http.MethodPut, Path: folder + "/*", Guard: guard, Handler: d.put, Tag: tag,
			Summary: "Store a file of an app's data", Body: file,
			Detail: "The body is the file. It replaces an existing file of that name. With If-Match and the ETag of a file, or If-None-Match: *, it is 412 if the file " +
				"has changed, or exists. The tabs of the user get SETTINGS_CHANGED with appData/APP/FILE. " + who,
			Answers: openapi.NoContent("Stored."),
		},
		{
			Method: http.MethodDelete, Path: folder + "/*", Guard: guard, Handler: d.remove, Tag: tag,
			Summary: "Delete a file of an app's data", Detail: who, Answers: openapi.NoContent("Deleted."),
		},
	}
}
