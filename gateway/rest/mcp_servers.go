package rest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/wire"
)

// MCPServers runs the MCP servers of users; [mcpclient.Manager] implements it.
type MCPServers interface {
	// Store returns the configured servers of users; it is never nil.
	Store() *mcpclient.Store
	// Status returns all servers of a user and the version of those that the user configured.
	Status(ctx context.Context, at mcpclient.Place) ([]mcpclient.Status, uint64, error)
	// Log returns the last lines about a server, the oldest first. An unknown server is an error.
	Log(ctx context.Context, at mcpclient.Place, name string) ([]mcpclient.Line, error)
	// Try starts a server, also in the pause after a failure, and lists its tools. The error is that of
	// the start.
	Try(ctx context.Context, at mcpclient.Place, name string) error
	// View reads a view of a server, which it starts if necessary.
	View(ctx context.Context, at mcpclient.Place, server, uri string) (mcpclient.View, error)
	// Resource reads a resource of a server for one of its views, in the form that MCP defines.
	Resource(ctx context.Context, at mcpclient.Place, server, uri string) (json.RawMessage, error)
}

// tryTimeout bounds how long a request waits for the start of a server.
const tryTimeout = 45 * time.Second

// mcpServerHandlers serve the MCP servers of users.
type mcpServerHandlers struct {
	servers    MCPServers // nil means that this hub has none
	frameBytes int64
}

// mcpServer is an MCP server as clients see it.
type mcpServer struct {
	Name     string                      `json:"name"`
	Own      bool                        `json:"own" doc:"Whether the caller configured it, not the operator."`
	Type     string                      `json:"type" doc:"stdio, http or sse."`
	Command  string                      `json:"command,omitempty"`
	Args     []string                    `json:"args,omitempty"`
	Env      wire.Object[string, string] `json:"env,omitempty"`
	Cwd      string                      `json:"cwd,omitempty"`
	URL      string                      `json:"url,omitempty"`
	Headers  wire.Object[string, string] `json:"headers,omitempty"`
	Disabled bool                        `json:"disabled,omitempty"`
	Trusted  bool                        `json:"trusted,omitempty" doc:"Whether tools that say that they only read run without a question."`
	Sampling bool                        `json:"sampling,omitempty" doc:"Whether it may ask the model during a call, after the user has agreed."`
	Scope    string                      `json:"scope" doc:"Who shares an instance: hub, user or session."`
	Profiles []string                    `json:"profiles,omitempty" doc:"The tool profiles that have its tools; absent for all."`
	Timeout  int                         `json:"timeout,omitempty" doc:"How many seconds a call may be silent."`
	Secrets  []string                    `json:"secrets,omitempty" doc:"The secrets that it needs; set them with PUT /api/secrets/{name}."`
	State    string                      `json:"state" doc:"On the replica that answers: stopped, starting, ready, failed or stopping."`
	Error    string                      `json:"error,omitempty" doc:"The last failure."`
	RetryAt  string                      `json:"retryAt,omitempty" doc:"When it may be started again after a failure; RFC 3339."`
	Calls    int                         `json:"calls,omitempty" doc:"The calls that run."`
	Tools    []mcpServerTool             `json:"tools,omitempty" doc:"As far as they are known: a server starts when it is needed."`
}

type mcpServerTool struct {
	Name        string `json:"name"`
	ModelName   string `json:"modelName" doc:"Its name for agents."`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	ReadOnly    bool   `json:"readOnly,omitempty" doc:"The server says that the tool only reads."`
	View        string `json:"view,omitempty" doc:"The address of its view, as in ui://map."`
}

type mcpServerList struct {
	Servers  []mcpServer `json:"servers" doc:"Those of the operator, then those of the caller."`
	Version  int64       `json:"version" doc:"It grows with every change of the caller's servers; 0 before the first."`
	Commands bool        `json:"commands,omitempty" doc:"Whether the caller's servers may be programs."`
	Warnings []string    `json:"warnings,omitempty" doc:"What of an added configuration was ignored."`
	Inputs   []string    `json:"inputs,omitempty" doc:"Secrets that an added configuration asks for."`
	// Conflict is set in responses with status 409.
	Conflict string `json:"conflict,omitempty" doc:"With status 409: the change had no effect, because the servers were changed meanwhile. The rest is what they are now."`
}

// newMCPServers is the body of POST.
type newMCPServers struct {
	Config  string `json:"config" wire:"min=2,max=262144" doc:"A configuration of Claude Desktop, VS Code or Cursor as text, with mcpServers or servers."`
	Version *int64 `json:"version,omitempty" doc:"The version that the caller saw. If it is no longer the version, the change is refused with 409."`
}

// newMCPServer is the body of PUT. Its name is that of the path.
type newMCPServer struct {
	Type     string                      `json:"type,omitempty" wire:"max=32"`
	Command  string                      `json:"command,omitempty" wire:"max=8192"`
	Args     []string                    `json:"args,omitempty" wire:"max=256"`
	Env      wire.Object[string, string] `json:"env,omitempty"`
	Cwd      string                      `json:"cwd,omitempty" wire:"max=8192"`
	URL      string                      `json:"url,omitempty" wire:"max=8192"`
	Headers  wire.Object[string, string] `json:"headers,omitempty"`
	Disabled bool                        `json:"disabled,omitempty"`
	Trusted  bool                        `json:"trusted,omitempty"`
	Sampling bool                        `json:"sampling,omitempty"`
	Scope    string                      `json:"scope,omitempty" wire:"max=16"`
	Profiles []string                    `json:"profiles,omitempty" wire:"max=16"`
	Timeout  int                         `json:"timeout,omitempty" wire:"min=0,max=3600"`
	Version  *int64                      `json:"version,omitempty"`
}

type mcpServerLine struct {
	Time string `json:"time" doc:"RFC 3339."`
	From string `json:"from" doc:"stderr, sent, received, or hub for changes of the state."`
	Text string `json:"text"`
}

type mcpServerLog struct {
	Lines []mcpServerLine `json:"lines" doc:"The newest ones, oldest first."`
}

var (
	mcpServerListForm = httpio.FormOf[mcpServerList]()
	newMCPServersForm = httpio.FormOf[newMCPServers]()
	newMCPServerForm  = httpio.FormOf[newMCPServer]()
	mcpServerLogForm  = httpio.FormOf[mcpServerLog]()
)

func (h *mcpServerHandlers) routes() []openapi.Route {
	const tag = "settings"
	const one = "/api/mcp-servers/:server"
	list := openapi.JSONBody(mcpServerListForm)
	changed := []openapi.Answer{
		{Status: http.StatusOK, Doc: "The servers after the change.", Content: list},
		{Status: http.StatusConflict, Doc: "The servers have another version; the body has them as they are now.", Content: list},
	}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/mcp-servers", Guard: openapi.GuardIdentity, Handler: h.list, Tag: tag,
			Summary: "The MCP servers of the operator and of the caller", Answers: openapi.Success(http.StatusOK, "The servers.", list),
		},
		{
			Method: http.MethodPost, Path: "/api/mcp-servers", Guard: openapi.GuardIdentity, Handler: h.add, Tag: tag,
			Summary: "Add the MCP servers of a configuration", Body: openapi.JSONBody(newMCPServersForm),
			Detail: "Servers of the same name are replaced. Programs are refused unless the operator allows them.", Answers: changed,
		},
		{
			Method: http.MethodPut, Path: one, Guard: openapi.GuardIdentity, Handler: h.put, Tag: tag,
			Summary: "Create or replace an MCP server", Body: openapi.JSONBody(newMCPServerForm), Answers: changed,
		},
		{
			Method: http.MethodDelete, Path: one, Guard: openapi.GuardIdentity, Handler: h.remove, Tag: tag,
			Summary: "Delete an MCP server", Query: []openapi.Param{{Name: "version", Doc: "The version that the caller saw."}}, Answers: changed,
		},
		{
			Method: http.MethodPost, Path: one + "/try", Guard: openapi.GuardIdentity, Handler: h.try, Tag: tag,
			Summary: "Start an MCP server and list its tools", Detail: "A failure is part of the answer.",
			Answers: openapi.Success(http.StatusOK, "The servers, this one as it is then.", list),
		},
		{
			Method: http.MethodGet, Path: one + "/log", Guard: openapi.GuardIdentity, Handler: h.log, Tag: tag,
			Summary: "The last lines about an MCP server", Detail: "Logs of servers that are shared by the whole hub are for admins.",
			Answers: openapi.Success(http.StatusOK, "The log.", openapi.JSONBody(mcpServerLogForm)),
		},
	}
}

// owner returns the caller as a place where servers run. A guest of a session has none.
func (h *mcpServerHandlers) owner(c echo.Context) (mcpclient.Place, error) {
	me := access.Caller(c)
	switch {
	case !me.Has(auth.RoleUser) || me.Session != "":
		return mcpclient.Place{}, problem.New(wire.CodeForbidden, "")
	case h.servers == nil:
		return mcpclient.Place{}, problem.New(wire.CodeForbidden, "This hub has no MCP servers.")
	}
	return mcpclient.Place{User: me.User}, nil
}

func (h *mcpServerHandlers) list(c echo.Context) error {
	at, err := h.owner(c)
	if err != nil {
		return err
	}
	return h.answer(c, at, mcpServerList{}, nil)
}

func (h *mcpServerHandlers) add(c echo.Context) error {
	at, err := h.owner(c)
	if err != nil {
		return err
	}
	in, err := newMCPServersForm.Read(c, max(h.frameBytes, 2*mcpclient.MaxConfig))
	if err != nil {
		return err
	}
	d, err := mcpclient.Parse([]byte(in.Config))
	if err != nil {
		return mcpServerProblem(err)
	}
	if len(d.Servers) == 0 {
		return problem.New(wire.CodeInvalidMessage, "The configuration has no servers.")
	}
	answer := mcpServerList{Warnings: d.Warnings}
	for _, i := range d.Inputs {
		answer.Inputs = append(answer.Inputs, i.ID)
	}
	_, err = h.servers.Store().Put(c.Request().Context(), at.User, d.Servers, seenVersion(in.Version))
	return h.answer(c, at, answer, err)
}

func (h *mcpServerHandlers) put(c echo.Context) error {
	at, err := h.owner(c)
	if err != nil {
		return err
	}
	in, err := newMCPServerForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	data, err := json.Marshal(mcpclient.Server{
		Type: mcpclient.Transport(in.Type), Command: in.Command, Args: in.Args, Env: mapOf(in.Env), Cwd: in.Cwd, URL: in.URL, Headers: mapOf(in.Headers),
		Disabled: in.Disabled, Trusted: in.Trusted, Sampling: in.Sampling, Scope: mcpclient.Scope(in.Scope), Profiles: in.Profiles, Timeout: in.Timeout,
	})
	if err != nil {
		return err
	}
	s, _, err := mcpclient.ParseServer(httpio.PathParam(c, "server"), data)
	if err != nil {
		return mcpServerProblem(err)
	}
	_, err = h.servers.Store().Put(c.Request().Context(), at.User, []mcpclient.Server{s}, seenVersion(in.Version))
	return h.answer(c, at, mcpServerList{}, err)
}

func (h *mcpServerHandlers) remove(c echo.Context) error {
	at, err := h.owner(c)
	if err != nil {
		return err
	}
	var version *int64
	if text := c.QueryParam("version"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return problem.Query("version", "Want a whole number.")
		}
		version = &n
	}
	_, err = h.servers.Store().Remove(c.Request().Context(), at.User, httpio.PathParam(c, "server"), seenVersion(version))
	return h.answer(c, at, mcpServerList{}, err)
}

// seenVersion returns the version that the caller saw, or nil.
func seenVersion(version *int64) *uint64 {
	if version == nil {
		return nil
	}
	return new(uint64(max(*version, 0)))
}

func (h *mcpServerHandlers) try(c echo.Context) error {
	at, err := h.owner(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), tryTimeout)
	defer cancel()
	err = h.servers.Try(ctx, at, httpio.PathParam(c, "server"))
	if errors.Is(err, mcpclient.ErrNotFound) {
		return mcpServerProblem(err)
	}
	return h.answer(c, at, mcpServerList{}, nil) // the list has the state of the server, with its last error
}

func (h *mcpServerHandlers) log(c echo.Context) error {
	at, err := h.owner(c)
	if err != nil {
		return err
	}
	name, ctx := httpio.PathParam(c, "server"), c.Request().Context()
	all, _, err := h.servers.Status(ctx, at)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Name == name && s.Scope == mcpclient.ScopeHub && !access.Caller(c).Has(auth.RoleAdmin) {
			return problem.New(wire.CodeForbidden, "The log of a server that is shared by the whole hub is for admins.")
		}
	}
	lines, err := h.servers.Log(ctx, at, name)
	if err != nil {
		return mcpServerProblem(err)
	}
	answer := mcpServerLog{Lines: []mcpServerLine{}}
	for _, l := range lines {
		answer.Lines = append(answer.Lines, mcpServerLine{httpio.FormatTime(l.Time), string(l.From), l.Text})
	}
	return mcpServerLogForm.Answer(c, http.StatusOK, &answer)
}

// answer responds with the servers as they are now. A conflict is part of the answer.
func (h *mcpServerHandlers) answer(c echo.Context, at mcpclient.Place, answer mcpServerList, err error) error {
	status := http.StatusOK
	switch {
	case errors.Is(err, mcpclient.ErrConflict):
		status, answer.Conflict = http.StatusConflict, err.Error()
	case err != nil:
		return mcpServerProblem(err)
	}
	all, version, err := h.servers.Status(c.Request().Context(), at)
	if err != nil {
		return err
	}
	answer.Version, answer.Commands = int64(version), h.servers.Store().AllowsPrograms() //nolint:gosec // a count of changes
	for _, s := range all {
		answer.Servers = append(answer.Servers, serverView(s, access.Caller(c).Has(auth.RoleAdmin)))
	}
	return mcpServerListForm.Answer(c, status, &answer)
}

// serverView returns a server as its caller may see it: what the operator configured, and what a shared server
// wrote, is for admins.
func serverView(s mcpclient.Status, admin bool) mcpServer {
	v := mcpServer{
		Name: s.Name, Own: s.OfUser, Type: string(s.Type), Disabled: s.Disabled, Trusted: s.Trusted, Sampling: s.Sampling, Scope: string(s.Scope), Profiles: s.Profiles,
		Timeout: s.Timeout, Secrets: s.Secrets, State: string(s.State), Error: s.Error, Calls: s.Calls,
	}
	if s.OfUser {
		v.Command, v.Args, v.Cwd, v.URL, v.Env, v.Headers = s.Command, s.Args, s.Cwd, s.URL, objectOf(s.Env), objectOf(s.Headers)
	}
	if s.Error != "" && s.Scope == mcpclient.ScopeHub && !admin {
		v.Error, v.Calls = "The server failed; admins can see why.", 0
	}
	if !s.RetryAt.IsZero() {
		v.RetryAt = httpio.FormatTime(s.RetryAt)
	}
	for _, t := range s.Tools {
		one := mcpServerTool{Name: t.Name, ModelName: t.ModelName, Title: t.Title, Description: t.Description, ReadOnly: t.Hints.ReadOnly}
		if t.UI != nil {
			one.View = t.UI.ResourceURI
		}
		v.Tools = append(v.Tools, one)
	}
	return v
}

// objectOf returns texts in the order of their names.
func objectOf(all map[string]string) wire.Object[string, string] {
	var out wire.Object[string, string]
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = out.Set(name, all[name])
	}
	return out
}

func mapOf(all wire.Object[string, string]) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		out[m.Key] = m.Value
	}
	return out
}

// mcpServerProblem returns the response to an error of the servers.
func mcpServerProblem(err error) error {
	if f, ok := errors.AsType[*mcpclient.FieldError](err); ok {
		p := problem.New(wire.CodeInvalidMessage, f.Error())
		p.Field = f.Field
		return p
	}
	switch {
	case errors.Is(err, mcpclient.ErrNotFound):
		return problem.Status(http.StatusNotFound, err.Error())
	case errors.Is(err, mcpclient.ErrStdio), errors.Is(err, mcpclient.ErrOfOperator):
		return problem.New(wire.CodeForbidden, err.Error())
	case errors.Is(err, mcpclient.ErrFull):
		return problem.New(wire.CodeInvalidMessage, err.Error())
	}
	return err
}
