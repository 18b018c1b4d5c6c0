package rest

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
)

// hubInfo is what a desktop needs to know about the hub before it connects.
type hubInfo struct {
	Version    string   `json:"version"`
	AppsOrigin string   `json:"appsOrigin" doc:"The origin of html windows and apps, which is not the hub's; empty when there is none."`
	Providers  []string `json:"providers" doc:"The model backends."`
	Provider   string   `json:"provider" doc:"The model backend of new sessions; empty when there is none."`
	CanCrash   bool     `json:"canCrash" doc:"Whether the caller may use POST /api/demo/crash."`
	// NotebooksOff is a sentence without its beginning, as the hub puts it after "notebooks cannot run code".
	NotebooksOff string `json:"notebooksOff,omitempty" doc:"Why notebooks cannot run code on this hub; absent when they can."`
}

var hubForm = httpio.FormOf[hubInfo]()

func (o *desktopHandlers) getHub(c echo.Context) error {
	return hubForm.Answer(c, http.StatusOK, &hubInfo{
		Version: o.version, AppsOrigin: o.appsOrigin(c.Request()), Providers: o.providers, Provider: o.provider,
		CanCrash: o.crash.refusal(c) == nil, NotebooksOff: o.hub.NotebooksOff(),
	})
}
