package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/web"
	"github.com/everdesk/everdesk/wire"
)

// appHandlers serve the apps of users: their pages, icons and data.
type appHandlers struct {
	requests *sessionRequests
	apps     *apps.Store     // nil means that this hub has none
	market   *apps.Market    // may be nil
	compiler AppCompiler     // may be nil
	settings *settings.Store // publishes changes of data; may be nil
	log      *slog.Logger
}

// appInfo describes an app for desktops.
type appInfo struct {
	ID               wire.AppID        `json:"id"`
	Name             string            `json:"name"`
	Description      string            `json:"description,omitempty"`
	Icon             string            `json:"icon,omitempty" doc:"An emoji, or the path of a picture."`
	IconType         string            `json:"iconType,omitempty" doc:"emoji or image."`
	HasSkill         bool              `json:"hasSkill" doc:"Whether the app has a text for agents."`
	HasCredentials   bool              `json:"hasCredentials"`
	Hidden           bool              `json:"hidden,omitempty" doc:"Whether the app has no icon on the desktop."`
	IsCompiled       bool              `json:"isCompiled,omitempty"`
	AppProtocol      bool              `json:"appProtocol,omitempty" doc:"Whether agents can query and command the app."`
	FileAssociations []fileAssociation `json:"fileAssociations,omitempty"`
	Variant          string            `json:"variant,omitempty"`
	DockEdge         string            `json:"dockEdge,omitempty"`
	Frameless        bool              `json:"frameless,omitempty"`
	WindowStyle      json.RawMessage   `json:"windowStyle,omitempty"`
	Version          string            `json:"version,omitempty"`
	Width            int               `json:"width,omitempty" doc:"The first width of the window in pixels."`
	Height           int               `json:"height,omitempty"`
	URL              string            `json:"url" doc:"The address for the content of an iframe window."`
}

type fileAssociation struct {
	Extensions []string `json:"extensions"`
	Command    string   `json:"command"`
	ParamKey   string   `json:"paramKey"`
}

type sessionApps struct {
	Apps []appInfo `json:"apps"`
}

type appData struct {
	Files []string `json:"files" doc:"The names of the files, in order."`
}

var (
	sessionAppsForm = httpio.FormOf[sessionApps]()
	appDataForm     = httpio.FormOf[appData]()
)

// appsOf returns the apps of a user. One that cannot be read is logged and left out.
func (ah *appHandlers) appsOf(user string) []appInfo {
	out := []appInfo{}
	if ah.apps == nil {
		return out
	}
	all, err := ah.apps.List(user)
	if err != nil {
		ah.log.Warn("apps of a user could not be listed", "user", user, "error", err)
	}
	for _, a := range all {
		out = append(out, infoOf(a))
	}
	return out
}

func infoOf(a apps.App) appInfo {
	i := appInfo{
		ID: wire.AppID(a.ID), Name: a.Name, Description: a.Description, Icon: a.Icon, HasSkill: a.HasSkill, HasCredentials: a.HasCredentials,
		Hidden: a.Hidden, IsCompiled: true, AppProtocol: a.AppProtocol, Variant: a.Variant, DockEdge: a.DockEdge, Frameless: a.Frameless,
		Version: a.Version, Width: a.Width, Height: a.Height, URL: "/api/apps/" + a.ID + "/" + apps.PageFile,
	}
	switch {
	case a.IconFile() != "":
		i.Icon, i.IconType = fmt.Sprintf("/api/apps/%s/icon?v=%d", a.ID, a.Deployed.Unix()), "image"
	case a.Icon != "":
		i.IconType = "emoji"
	}
	for _, f := range a.FileAssociations {
		i.FileAssociations = append(i.FileAssociations, fileAssociation(f))
	}
	if len(a.WindowStyle) > 0 {
		if style, err := json.Marshal(a.WindowStyle); err == nil {
			i.WindowStyle = style
		}
	}
	return i
}

func (ah *appHandlers) listOfSession(c echo.Context) error {
	info, err := ah.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	return sessionAppsForm.Answer(c, http.StatusOK, &sessionApps{Apps: ah.appsOf(info.User)})
}

// getFile serves a file of an app of the caller, in the form of the desktop dialect.
func (ah *appHandlers) getFile(c echo.Context) error {
	return ah.send(c, access.Caller(c).User)
}

// getFileOfSession serves a file of an app of the session's owner.
func (ah *appHandlers) getFileOfSession(c echo.Context) error {
	info, err := ah.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	if err := checkGuest(c, info, apps.PageFile, iconName); err != nil {
		return err
	}
	return ah.send(c, info.User)
}

// checkGuest refuses a file that callers who are not the owner of the session do not need to see its
// windows.
func checkGuest(c echo.Context, info session.Info, allowed ...string) error {
	if isOwner(c, info) || slices.Contains(allowed, httpio.PathParam(c, "*")) {
		return nil
	}
	return apps.ErrNotFound
}

// isOwner reports whether the caller is the owner of a session, and not just a device in it.
func isOwner(c echo.Context, info session.Info) bool {
	me := access.Caller(c)
	return me.User == info.User && me.Session == ""
}

// iconName is the last part of the path of an app's icon.
const iconName = "icon"

// send serves a file of an app. Files below static/ and dist/ are those of the app's folder, too.
func (ah *appHandlers) send(c echo.Context, user string) error {
	if ah.apps == nil {
		return apps.ErrNotFound
	}
	id, name := httpio.PathParam(c, "app"), httpio.PathParam(c, "*")
	if dir := path.Dir(name); dir == "static" || dir == "dist" {
		name = path.Base(name)
	}
	if name == iconName {
		data, err := ah.apps.File(user, id, apps.ManifestFile)
		if err != nil {
			return err
		}
		m, err := apps.ParseManifest(data)
		if err != nil {
			return err
		}
		if name = m.IconFile(); name == "" {
			return apps.ErrNotFound
		}
	}
	data, err := ah.apps.File(user, id, name)
	if err != nil {
		return err
	}
	return sendAppFile(c, name, data)
}

func (ah *appHandlers) getSandbox(c echo.Context) error {
	return ah.sendSandbox(c, access.Caller(c).User)
}

func (ah *appHandlers) getSandboxOfSession(c echo.Context) error {
	info, err := ah.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	if err := checkGuest(c, info, "dist/"+apps.PageFile); err != nil {
		return err
	}
	return ah.sendSandbox(c, info.User)
}

func (ah *appHandlers) sendSandbox(c echo.Context, user string) error {
	if ah.apps == nil {
		return apps.ErrNotFound
	}
	name := httpio.PathParam(c, "*")
	if err := files.CheckName(name); err != nil {
		return err
	}
	all, err := ah.apps.Sandboxes().Files(user, httpio.PathParam(c, "sandbox"))
	if err != nil {
		return err
	}
	data, ok := all[name]
	if !ok {
		return apps.ErrNotFound
	}
	return sendAppFile(c, name, data)
}

// appPagePolicy is the content security policy of an app's page in a frame of a desktop of the
// desktop dialect: it has no origin and no network. The hub's own desktop shows apps on the apps'
// origin instead.
const appPagePolicy = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; " +
	"font-src data:; media-src data: blob:; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"

// sendAppFile serves a file of an app. Agents write apps, so that none may run on the hub's origin:
// a page runs only in a frame, with an origin of its own, and other files are pictures or
// attachments.
func sendAppFile(c echo.Context, name string, data []byte) error {
	media, policy, disposition := web.MediaType(name), "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:", "inline"
	switch {
	case name == apps.PageFile || path.Base(name) == apps.PageFile:
		if c.Request().Header.Get("Sec-Fetch-Dest") == "iframe" {
			media, policy = "text/html; charset=utf-8", appPagePolicy
			break
		}
		media, disposition = echo.MIMEOctetStream, "attachment"
	case path.Ext(name) == ".svg":
		media = "image/svg+xml"
	case !inlineTypes[media]:
		media, disposition = echo.MIMEOctetStream, "attachment"
	}
	h := c.Response().Header()
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderContentSecurityPolicy, policy)
	h.Set("Connection-Allowlist", "()")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set(echo.HeaderCacheControl, "private, no-cache")
	h.Set(echo.HeaderContentDisposition, disposition)
	return c.Blob(http.StatusOK, media, data)
}

// owner returns the owner of the request's session, who must be the caller: the data of an app
// belongs to a user and not to a session that others see.
func (ah *appHandlers) owner(c echo.Context) (string, error) {
	info, err := ah.requests.require(c, access.Viewer)
	if err != nil {
		return "", err
	}
	if !isOwner(c, info) {
		return "", problem.New(wire.CodeForbidden, "The data of an app is only for the owner of the desktop.")
	}
	if ah.apps == nil {
		return "", apps.ErrNotFound
	}
	return info.User, nil
}

func (ah *appHandlers) listData(c echo.Context) error {
	user, err := ah.owner(c)
	if err != nil {
		return err
	}
	names, err := ah.apps.ListData(user, httpio.PathParam(c, "app"))
	if err != nil {
		return err
	}
	return appDataForm.Answer(c, http.StatusOK, &appData{Files: append([]string{}, names...)})
}

func (ah *appHandlers) getData(c echo.Context) error {
	user, err := ah.owner(c)
	if err != nil {
		return err
	}
	data, err := ah.apps.ReadData(user, httpio.PathParam(c, "app"), httpio.PathParam(c, "*"))
	if errors.Is(err, apps.ErrNotFound) && c.QueryParam("optional") == "true" {
		return c.NoContent(http.StatusNoContent)
	}
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderXContentTypeOptions, "nosniff")
	h.Set(echo.HeaderContentSecurityPolicy, "sandbox; default-src 'none'")
	h.Set(echo.HeaderContentDisposition, "attachment")
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set(headerETag, quoteETag(apps.DataVersion(data)))
	return c.Blob(http.StatusOK, echo.MIMEOctetStream, data)
}

// dataChanged notifies all tabs of the user, in any session and on any replica.
func (ah *appHandlers) dataChanged(c echo.Context, user, app, name string) {
	if ah.settings != nil {
		ah.settings.PublishAppData(c.Request().Context(), user, app, name)
	}
}

func (ah *appHandlers) putData(c echo.Context) error {
	user, err := ah.owner(c)
	if err != nil {
		return err
	}
	if err := httpio.RequireUncompressed(c.Request()); err != nil {
		return err
	}
	data, err := io.ReadAll(httpio.Body(c, apps.MaxDataFile))
	if err != nil {
		return err
	}
	app, name := httpio.PathParam(c, "app"), httpio.PathParam(c, "*")
	condition, err := conditionOf(c.Request())
	if err != nil {
		return err
	}
	if condition == (files.Condition{}) {
		err = ah.apps.WriteData(user, app, name, data)
	} else {
		err = ah.apps.ReplaceData(user, app, name, data, condition.ETag)
	}
	if err != nil {
		return err
	}
	ah.dataChanged(c, user, app, name)
	c.Response().Header().Set(headerETag, quoteETag(apps.DataVersion(data)))
	return c.NoContent(http.StatusNoContent)
}

func (ah *appHandlers) deleteData(c echo.Context) error {
	user, err := ah.owner(c)
	if err != nil {
		return err
	}
	app, name := httpio.PathParam(c, "app"), httpio.PathParam(c, "*")
	if err := ah.apps.RemoveData(user, app, name); err != nil {
		return err
	}
	ah.dataChanged(c, user, app, name)
	return c.NoContent(http.StatusNoContent)
}
