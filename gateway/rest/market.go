package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/apps/build"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/internal/truncation"
	"github.com/everdesk/everdesk/wire"
)

// AppCompiler compiles apps of the market that have a source and no page.
type AppCompiler interface {
	// Compile returns the document that a source makes. What is wrong with the source is a [*build.Error]. It returns
	// when the context ends, and within a minute.
	Compile(ctx context.Context, s build.Source) ([]byte, error)
}

// marketApp is an app that the caller can install.
type marketApp struct {
	ID          wire.AppID `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
	Icon        string     `json:"icon,omitempty" doc:"An emoji, or the path of a picture."`
	IconType    string     `json:"iconType,omitempty" doc:"emoji or image."`
	Installed   bool       `json:"installed" doc:"Whether the caller has an app with this id."`
}

type marketApps struct {
	Apps []marketApp `json:"apps"`
}

var (
	marketForm    = httpio.FormOf[marketApps]()
	installedForm = httpio.FormOf[appInfo]()
)

func (ah *appHandlers) marketRoutes() []openapi.Route {
	const tag = "apps"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/market", Guard: openapi.GuardIdentity, Handler: ah.listMarket, Tag: tag,
			Summary: "The apps that the caller can install", Answers: openapi.Success(http.StatusOK, "The apps.", openapi.JSONBody(marketForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/market/:app/icon", Guard: openapi.GuardIdentity, Handler: ah.getMarketIcon, Tag: tag,
			Summary: "Fetch the picture of an app that the caller can install",
			Answers: openapi.Success(http.StatusOK, "The picture.", openapi.Bytes("image/svg+xml")),
		},
		{
			Method: http.MethodPut, Path: "/api/apps/:app", Guard: openapi.GuardIdentity, Handler: ah.install, Tag: tag,
			Summary: "Install an app of the market for the caller",
			Detail: "It replaces the pages of an installed app with that id and keeps its data. An app that has a source and no page is compiled. " +
				"The tabs of the user get SETTINGS_CHANGED with appData/APP/, also when an agent deploys or deletes an app.",
			Answers: append(openapi.Success(http.StatusOK, "The app.", openapi.JSONBody(installedForm)),
				openapi.Answer{Status: http.StatusUnprocessableEntity, Doc: "The source of the app has errors.", Content: openapi.Problems()}),
		},
	}
}

// accountOf returns the user of a request. A guest of a session has no apps.
func (ah *appHandlers) accountOf(c echo.Context) (string, error) {
	me := access.Caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return "", problem.New(wire.CodeForbidden, "")
	}
	return me.User, nil
}

func (ah *appHandlers) listMarket(c echo.Context) error {
	user, err := ah.accountOf(c)
	if err != nil {
		return err
	}
	out := marketApps{Apps: []marketApp{}}
	if ah.market == nil || ah.apps == nil {
		return marketForm.Answer(c, http.StatusOK, &out)
	}
	installed := map[wire.AppID]bool{}
	for _, a := range ah.appsOf(c.Request().Context(), user) {
		installed[a.ID] = true
	}
	offers, err := ah.market.List()
	if err != nil {
		ah.log.Warn("apps of the market could not be listed", "error", err)
	}
	for _, o := range offers {
		id := wire.AppID(o.ID)
		offer := marketApp{ID: id, Name: o.Name, Description: o.Description, Installed: installed[id]}
		offer.Icon, offer.IconType = iconOf(&o.Manifest, "/api/market/"+o.ID+"/"+iconName)
		out.Apps = append(out.Apps, offer)
	}
	return marketForm.Answer(c, http.StatusOK, &out)
}

// getMarketIcon serves the picture of an app before it is installed.
func (ah *appHandlers) getMarketIcon(c echo.Context) error {
	if _, err := ah.accountOf(c); err != nil {
		return err
	}
	if ah.market == nil {
		return apps.ErrNotFound
	}
	b, err := ah.market.Get(httpio.PathParam(c, "app"))
	if err != nil {
		return err
	}
	name := b.Manifest.IconFile()
	if name == "" {
		return apps.ErrNotFound
	}
	return sendAppFile(c, name, b.Files[name])
}

func (ah *appHandlers) install(c echo.Context) error {
	user, err := ah.accountOf(c)
	if err != nil {
		return err
	}
	id := httpio.PathParam(c, "app")
	if ah.market == nil || ah.apps == nil {
		return apps.ErrNotFound
	}
	b, err := ah.market.Get(id)
	if err != nil {
		return err
	}
	if b.Page() == nil {
		if b, err = ah.compiled(c.Request().Context(), id, b); err != nil {
			return err
		}
	}
	if err := ah.apps.Deploy(c.Request().Context(), user, id, b); err != nil {
		return err
	}
	for _, a := range ah.appsOf(c.Request().Context(), user) {
		if a.ID == wire.AppID(id) {
			return installedForm.Answer(c, http.StatusOK, &a)
		}
	}
	return apps.ErrNotFound // removed in between
}

// compiled returns an app of the market with the page that its source makes.
func (ah *appHandlers) compiled(ctx context.Context, id string, b apps.Bundle) (apps.Bundle, error) {
	if ah.compiler == nil {
		return b, problem.Status(http.StatusUnprocessableEntity, "The app has no page, and this hub compiles no apps.")
	}
	page, err := ah.compiler.Compile(ctx, build.Source{Files: b.Files, Title: b.Manifest.Name})
	if wrong, ok := errors.AsType[*build.Error](err); ok {
		return b, problem.Status(http.StatusUnprocessableEntity, "The app cannot be compiled. "+truncation.Runes(wrong.Error(), maxCompileText))
	}
	if err != nil {
		if ctx.Err() == nil {
			ah.log.Warn("compiling an app of the market failed", "app", id, "error", err)
		}
		return b, err
	}
	return b.WithPage(page), nil
}

// maxCompileText bounds the errors of the compiler in an answer, in characters.
const maxCompileText = 1000
