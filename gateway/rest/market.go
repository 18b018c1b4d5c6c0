package rest

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
)

// marketApp is an app that the caller can install.
type marketApp struct {
	ID          wire.AppID `json:"id"`
	Name        string     `json:"name"`
	Description string     `json:"description,omitempty"`
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
			Method: http.MethodPut, Path: "/api/apps/:app", Guard: openapi.GuardIdentity, Handler: ah.install, Tag: tag,
			Summary: "Install an app of the market for the caller",
			Detail:  "It replaces the pages of an installed app with that id and keeps its data. An app without a page is compiled by agents only.",
			Answers: openapi.Success(http.StatusOK, "The app.", openapi.JSONBody(installedForm)),
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
	for _, a := range ah.of(user) {
		installed[a.ID] = true
	}
	offers, err := ah.market.List()
	if err != nil {
		ah.log.Warn("apps of the market could not be listed", "error", err)
	}
	for _, o := range offers {
		id := wire.AppID(o.ID)
		out.Apps = append(out.Apps, marketApp{ID: id, Name: o.Name, Description: o.Description, Installed: installed[id]})
	}
	return marketForm.Answer(c, http.StatusOK, &out)
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
	if err := ah.apps.Deploy(user, id, b); err != nil {
		return err
	}
	for _, a := range ah.of(user) {
		if a.ID == wire.AppID(id) {
			return installedForm.Answer(c, http.StatusOK, &a)
		}
	}
	return apps.ErrNotFound // removed in between
}
