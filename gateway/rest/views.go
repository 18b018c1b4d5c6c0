package rest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// viewHandlers serve windows with views of MCP servers.
type viewHandlers struct {
	requests   *sessionRequests
	servers    MCPServers // nil means that this hub has none
	hub        *session.Hub
	frameBytes int64
}

// viewTimeout bounds how long a request waits for a server, which may have to start.
const viewTimeout = time.Minute

// viewCallTimeout bounds a call of a tool with the question to the user before it.
const viewCallTimeout = 5 * time.Minute

// viewDocument is a view of an MCP server.
type viewDocument struct {
	HTML      string   `json:"html" doc:"A document that is written by the server. It has to run without an origin."`
	Connect   []string `json:"connect,omitempty" doc:"The origins that it may connect to."`
	Resources []string `json:"resources,omitempty" doc:"The origins from which it may load scripts, styles, pictures and fonts."`
}

// newViewCall is a call of a tool by a view.
type newViewCall struct {
	Tool    string          `json:"tool" wire:"min=1,max=256" doc:"Its name at the server."`
	Input   json.RawMessage `json:"input,omitempty" doc:"An object."`
	Pressed bool            `json:"pressed,omitempty" doc:"Whether the user has just pressed something in the view. A tool that was denied is asked about again only then."`
}

type newViewResource struct {
	URI string `json:"uri" wire:"min=1,max=2048"`
}

var (
	viewDocumentForm = httpio.FormOf[viewDocument]()
	newViewCallForm  = httpio.FormOf[newViewCall]()
	viewResourceForm = httpio.FormOf[newViewResource]()
	viewResultForm   = httpio.FormOf[json.RawMessage]()
)

func (h *viewHandlers) routes() []openapi.Route {
	const tag = "apps"
	const one = "/api/sessions/:session/views/:monitor/:window"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: one, Guard: openapi.GuardIdentity, Handler: h.get, Tag: tag,
			Summary: "The view of an MCP server that a window shows", Detail: "The server is started if it does not run.",
			Answers: openapi.Success(http.StatusOK, "The view.", openapi.JSONBody(viewDocumentForm)),
		},
		{
			Method: http.MethodPost, Path: one + "/call", Guard: openapi.GuardIdentity, Handler: h.call, Tag: tag,
			Summary: "Call a tool of the MCP server for its view in a window", Body: openapi.JSONBody(newViewCallForm),
			Detail:  "Only for the owner of the session. A tool that is not known to only read asks the user, once for each window. Refusals are results.",
			Answers: openapi.Success(http.StatusOK, "The result, as MCP defines it.", openapi.JSONBody(viewResultForm)),
		},
		{
			Method: http.MethodPost, Path: one + "/resource", Guard: openapi.GuardIdentity, Handler: h.resource, Tag: tag,
			Summary: "Read a resource of the MCP server for its view in a window", Body: openapi.JSONBody(viewResourceForm),
			Detail: "Only for the owner of the session.", Answers: openapi.Success(http.StatusOK, "The resource, as MCP defines it.", openapi.JSONBody(viewResultForm)),
		},
	}
}

// findView returns the session of a request and what its window shows.
func (h *viewHandlers) findView(c echo.Context) (session.Info, wire.MCPApp, error) {
	info, state, err := h.requests.readState(c)
	if err != nil {
		return info, wire.MCPApp{}, err
	}
	monitor, window := wire.MonitorID(httpio.PathParam(c, "monitor")), wire.WindowID(httpio.PathParam(c, "window"))
	i := slices.IndexFunc(state.Windows, func(w wire.WindowState) bool { return w.MonitorID == monitor && w.WindowID == window })
	if i < 0 {
		return info, wire.MCPApp{}, problem.Status(http.StatusNotFound, "There is no such window.")
	}
	app, ok := state.Windows[i].Content.(wire.MCPAppContent)
	switch {
	case !ok:
		return info, wire.MCPApp{}, problem.Status(http.StatusNotFound, "The window shows no view of an MCP server.")
	case h.servers == nil:
		return info, wire.MCPApp{}, problem.Status(http.StatusNotFound, "This hub has no MCP servers.")
	}
	return info, app.Data, nil
}

func (h *viewHandlers) get(c echo.Context) error {
	info, app, err := h.findView(c)
	if err != nil {
		return err
	}
	ctx, cancel := h.withTimeout(c, viewTimeout)
	defer cancel()
	v, err := h.servers.View(ctx, mcpclient.Place{User: info.User, Session: string(info.ID)}, app.Server, app.URI)
	if err != nil {
		return viewProblem(err)
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return viewDocumentForm.Answer(c, http.StatusOK, &viewDocument{HTML: v.HTML, Connect: v.Connect, Resources: v.Resources})
}

// findOwned is [viewHandlers.findView] for requests that use the server: they are for the owner of the session only.
func (h *viewHandlers) findOwned(c echo.Context) (session.Info, wire.MCPApp, error) {
	info, app, err := h.findView(c)
	if err == nil && !isOwner(c, info) {
		err = problem.New(wire.CodeForbidden, "Views use MCP servers only for the owner of the desktop.")
	}
	return info, app, err
}

func (h *viewHandlers) call(c echo.Context) error {
	info, app, err := h.findOwned(c)
	if err != nil {
		return err
	}
	in, err := newViewCallForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	if len(in.Input) == 0 || string(in.Input) == "null" {
		in.Input = json.RawMessage("{}")
	}
	ctx, cancel := h.withTimeout(c, viewCallTimeout)
	defer cancel()
	r, err := h.hub.CallForView(ctx, info.ID, session.ViewCall{
		ID: wire.MessageID("view-" + strings.ToLower(rand.Text())), User: info.User, Monitor: wire.MonitorID(httpio.PathParam(c, "monitor")),
		Window: wire.WindowID(httpio.PathParam(c, "window")), Server: app.Server, Tool: in.Tool, Input: in.Input, Pressed: in.Pressed,
	})
	if err != nil {
		return err
	}
	if !r.IsError {
		return c.JSONBlob(http.StatusOK, []byte(r.Text))
	}
	return c.JSON(http.StatusOK, map[string]any{"isError": true, "content": []map[string]string{{"type": "text", "text": r.Text}}})
}

func (h *viewHandlers) resource(c echo.Context) error {
	info, app, err := h.findOwned(c)
	if err != nil {
		return err
	}
	in, err := viewResourceForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	ctx, cancel := h.withTimeout(c, viewTimeout)
	defer cancel()
	data, err := h.servers.Resource(ctx, mcpclient.Place{User: info.User, Session: string(info.ID)}, app.Server, in.URI)
	if err != nil {
		return viewProblem(err)
	}
	return c.JSONBlob(http.StatusOK, data)
}

// withTimeout returns a context for a request that may take longer than others.
func (h *viewHandlers) withTimeout(c echo.Context, most time.Duration) (context.Context, context.CancelFunc) {
	until := time.Now().Add(most + httpio.AnswerTimeout)
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(until) // fails only for a writer without deadlines, as in tests
	return context.WithTimeout(c.Request().Context(), most)
}

// viewProblem returns the response to an error of a server.
func viewProblem(err error) error {
	switch {
	case errors.Is(err, mcpclient.ErrNotFound), errors.Is(err, mcpclient.ErrNoView):
		return problem.Status(http.StatusNotFound, err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return err
	}
	return problem.Status(http.StatusBadGateway, err.Error())
}
