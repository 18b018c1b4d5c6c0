package rest

import (
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/pictures"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/secrets"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/settings"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workspaces"
)

// Deps are the components and settings of the REST API.
type Deps struct {
	Log         *slog.Logger
	Hub         *session.Hub
	Auth        *auth.Authority
	Limits      *ratelimit.Limiter
	Files       *files.Store
	Checkpoints Checkpoints
	// CheckpointTransfer, unless nil, exports and imports checkpoints with sessions.
	CheckpointTransfer CheckpointTransfer
	Workspaces         *workspaces.Store
	Store              access.Documents
	Settings           *settings.Store
	Secrets            *secrets.Store
	Profiles           *profiles.Store
	Modes              *modes.Store
	Backends           Backends
	Web                Web
	MCPServers         MCPServers
	Apps               *apps.Store
	Hosts              *access.Hosts
	Authenticator      *access.Authenticator
	Sessions           *access.Sessions
	Actions            *admin.Actions
	Budget             *httpio.Budget
	Connections        Connections
	// Market has the apps that users can install; nil means none.
	Market *apps.Market
	// AppCompiler compiles those of them that have no page; nil means that they cannot be installed.
	AppCompiler AppCompiler
	// AppScript is the script that pages of apps in frames run first; empty if there is none.
	AppScript []byte
	// Stream responds to a request for a session's log with Server-Sent Events.
	Stream echo.HandlerFunc
	// Trace starts the trace of a message; traceparent is the client's, not validated.
	Trace func(id wire.SessionID, m *wire.Message, traceparent string)
	// Crash kills this process; nil if nothing would start it again.
	Crash func()
	// AppsOrigin returns the origin of the apps for the sender of a request, or "".
	AppsOrigin func(*http.Request) string

	Version string
	// Providers are the names of the model backends, and Provider is the default for new sessions.
	Providers []string
	Provider  string
	// ToolProfiles are the profiles of tools that MCP tokens can have, the default first.
	ToolProfiles []string
	Heartbeat    time.Duration
	// FrameBytes bounds the body of a request, UploadBytes an uploaded file.
	FrameBytes, UploadBytes int64
	// Pictures scales the pictures of messages.
	Pictures *pictures.Fitter
}

// API is the REST API for users. Each of its parts serves the routes of one subject.
type API struct {
	sessions  sessionHandlers
	exports   sessionFiles
	messages  messages
	histories histories
	plans     plans
	files     fileHandlers
	states    checkpointHandlers
	spaces    workspaceHandlers
	desktop   desktopHandlers
	apps      appHandlers
	settings  settingHandlers
	secrets   secretHandlers
	profiles  profileHandlers
	modes     modeHandlers
	backends  backendHandlers
	web       webHandlers
	servers   mcpServerHandlers
	views     viewHandlers
	signIns   signIns
	tokens    tokens
	mcpTokens mcpTokens
	links     links
	notebooks notebookHandlers
}

// New returns the REST API.
func New(d Deps) *API {
	requests := &sessionRequests{hub: d.Hub, sessions: d.Sessions, actions: d.Actions, trace: d.Trace}
	userApps := appHandlers{requests: requests, apps: d.Apps, market: d.Market, compiler: d.AppCompiler, settings: d.Settings, log: d.Log, auth: d.Auth, hosts: d.Hosts, script: d.AppScript}
	return &API{
		apps: userApps,
		sessions: sessionHandlers{
			requests: requests, hub: d.Hub, sessions: d.Sessions, actions: d.Actions, connections: d.Connections,
			provider: d.Provider, frameBytes: d.FrameBytes,
		},
		exports:   sessionFiles{requests: requests, hub: d.Hub, sessions: d.Sessions, files: d.Files, checkpoints: d.CheckpointTransfer, log: d.Log, provider: d.Provider, imports: make(chan struct{}, maxImports)},
		messages:  messages{requests: requests, budget: d.Budget, stream: d.Stream, heartbeat: d.Heartbeat, frameBytes: d.FrameBytes, fitter: d.Pictures},
		histories: histories{requests: requests, hub: d.Hub, budget: d.Budget},
		plans:     plans{requests: requests, frameBytes: d.FrameBytes},
		states:    checkpointHandlers{requests: requests, checkpoints: d.Checkpoints, frameBytes: d.FrameBytes},
		spaces:    workspaceHandlers{requests: requests, workspaces: d.Workspaces, frameBytes: d.FrameBytes},
		notebooks: notebookHandlers{requests: requests},
		files:     fileHandlers{requests: requests, files: d.Files, uploadBytes: d.UploadBytes},
		desktop: desktopHandlers{
			requests: requests, hub: d.Hub, apps: &userApps, settings: d.Settings, budget: d.Budget, version: d.Version, providers: d.Providers, provider: d.Provider,
			appsOrigin: d.AppsOrigin, frameBytes: d.FrameBytes,
			crash: &crashHandler{kill: d.Crash, provider: d.Provider, authenticator: d.Authenticator, log: d.Log, began: time.Now()},
		},
		settings: settingHandlers{settings: d.Settings, actions: d.Actions, frameBytes: d.FrameBytes},
		profiles: profileHandlers{profiles: d.Profiles, frameBytes: d.FrameBytes},
		modes:    modeHandlers{modes: d.Modes, frameBytes: d.FrameBytes},
		backends: backendHandlers{backends: d.Backends, limits: d.Limits, authenticator: d.Authenticator, frameBytes: d.FrameBytes},
		web:      webHandlers{web: d.Web, frameBytes: d.FrameBytes},
		servers:  mcpServerHandlers{servers: d.MCPServers, frameBytes: d.FrameBytes},
		views:    viewHandlers{requests: requests, servers: d.MCPServers, hub: d.Hub, frameBytes: d.FrameBytes},
		secrets:  secretHandlers{secrets: d.Secrets, settings: d.Settings, actions: d.Actions, frameBytes: d.FrameBytes},
		signIns: signIns{
			auth: d.Auth, limits: d.Limits, hosts: d.Hosts, authenticator: d.Authenticator, sessions: d.Sessions,
			connections: d.Connections, frameBytes: d.FrameBytes,
		},
		tokens: tokens{auth: d.Auth, actions: d.Actions, log: d.Log, frameBytes: d.FrameBytes},
		links: links{
			requests: requests, sessions: d.Sessions, auth: d.Auth, limits: d.Limits, budget: d.Budget, authenticator: d.Authenticator, hosts: d.Hosts, actions: d.Actions,
			appsOrigin: d.AppsOrigin, frameBytes: d.FrameBytes,
		},
		mcpTokens: mcpTokens{
			requests: requests, auth: d.Auth, hub: d.Hub, actions: d.Actions, log: d.Log, profiles: d.ToolProfiles, frameBytes: d.FrameBytes,
		},
	}
}

// Routes returns the routes of the REST API.
func (a *API) Routes() []openapi.Route {
	return slices.Concat(
		a.sessions.routes(), a.exports.routes(), a.messages.routes(), a.histories.routes(), a.plans.routes(),
		a.files.routes(), a.states.routes(), a.spaces.routes(), a.notebooks.routes(), a.desktop.routes(), a.settings.routes(), a.secrets.routes(), a.profiles.routes(), a.modes.routes(), a.backends.routes(), a.web.routes(), a.servers.routes(), a.views.routes(), a.apps.routes(), a.signIns.routes(), a.tokens.routes(), a.mcpTokens.routes(), a.links.routes(),
	)
}
