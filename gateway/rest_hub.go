package gateway

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// hubInfo is what a desktop has to know of the hub before it can begin.
type hubInfo struct {
	Version    string   `json:"version"`
	AppsOrigin string   `json:"appsOrigin" doc:"Where html windows and apps live, another origin than the hub's; empty when it has none."`
	Providers  []string `json:"providers" doc:"Who can think."`
	Provider   string   `json:"provider" doc:"Who thinks in new sessions; empty when nobody does."`
}

var hubForm = formOf[hubInfo]()

func (s *Server) getHub(c echo.Context) error {
	return hubForm.answer(c, http.StatusOK, &hubInfo{Version: s.cfg.Version, AppsOrigin: s.appsOrigin(c.Request()), Providers: s.providers, Provider: s.defaultProvider})
}
