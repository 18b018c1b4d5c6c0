package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
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
	// auth makes the tokens of pages in frames, and script is what they run first; without script they get neither.
	auth   *auth.Authority
	hosts  *access.Hosts
	script []byte
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
func (ah *appHandlers) appsOf(ctx context.Context, user string) []appInfo {
	out := []appInfo{}
	if ah.apps == nil {
		return out
	}
	all, err := ah.apps.List(ctx, user)
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
		ID: wire.AppID(a.ID), Name: a.Name, Description: a.Description, HasSkill: a.HasSkill, HasCredentials: a.HasCredentials,
		Hidden: a.Hidden, IsCompiled: true, AppProtocol: a.AppProtocol, Variant: a.Variant, DockEdge: a.DockEdge, Frameless: a.Frameless,
		Version: a.Version, Width: a.Width, Height: a.Height, URL: "/api/apps/" + a.ID + "/" + apps.PageFile,
	}
	i.Icon, i.IconType = iconOf(&a.Manifest, fmt.Sprintf("/api/apps/%s/%s?v=%d", a.ID, iconName, a.Deployed.Unix()))
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

// iconOf returns the icon of an app and its type. path is where the hub serves it if it is a picture.
func iconOf(m *apps.Manifest, path string) (icon, iconType string) {
	switch {
	case m.IconFile() != "":
		return path, "image"
	case m.Icon != "":
		return m.Icon, "emoji"
	default:
		return "", ""
	}
}

func (ah *appHandlers) listOfSession(c echo.Context) error {
	info, err := ah.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	return sessionAppsForm.Answer(c, http.StatusOK, &sessionApps{Apps: ah.appsOf(c.Request().Context(), info.User)})
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
		data, err := ah.apps.File(c.Request().Context(), user, id, apps.ManifestFile)
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
	data, err := ah.apps.File(c.Request().Context(), user, id, name)
	if err != nil {
		return err
	}
	if isFramedPage(c, name) {
		return ah.sendFramedPage(c, user, id, data)
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
	data, err := ah.apps.Sandboxes().File(c.Request().Context(), user, httpio.PathParam(c, "sandbox"), name)
	if err != nil {
		return err
	}
	return sendAppFile(c, name, data)
}

// sendAppFile serves a file of an app. Agents write apps, so that none may run on the hub's origin: a page runs only in
// a frame, with an origin of its own, and other files are pictures or attachments.
func sendAppFile(c echo.Context, name string, data []byte) error {
	media, policy, disposition := web.MediaType(name), "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:", "inline"
	switch {
	case isFramedPage(c, name):
		media, policy = "text/html; charset=utf-8", framedPagePolicy("'none'")
	case path.Base(name) == apps.PageFile, path.Ext(name) != ".svg" && !inlineTypes[media]:
		media, disposition = echo.MIMEOctetStream, "attachment"
	case path.Ext(name) == ".svg":
		media = "image/svg+xml"
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
