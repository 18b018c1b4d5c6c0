package rest

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/wire"
)

// Backends lists the model backends and asks their servers.
type Backends interface {
	// List returns the backends that a profile can have.
	List(ctx context.Context) []Backend
	// Models returns the models that a server lists. Key is a key that is not stored; without one that
	// of the profile's secret is used. Of the profile only backend, base URL and secret count.
	Models(ctx context.Context, user string, p profiles.Profile, key string) ([]Model, *ModelFailure)
	// Test makes one short request to the model of a profile.
	Test(ctx context.Context, user string, p profiles.Profile, key string) (ModelTest, *ModelFailure)
}

// Kinds of backends.
const (
	KindService = "service" // a service on the internet that needs a key
	KindServer  = "server"  // a server whose address the user knows
	KindLocal   = "local"   // a server that the hub looks for on its machine
	KindProgram = "program" // a program on the machine of the hub
)

// Backend is a model backend that a profile can have.
type Backend struct {
	Backend  string `json:"backend" doc:"The name, for the field backend of a profile."`
	Label    string `json:"label" doc:"The name for people."`
	Kind     string `json:"kind" doc:"service, server (the user knows its address), local (the hub looks for it) or program."`
	NeedsKey bool   `json:"needsKey" doc:"Whether a key is needed; false if the operator has set one."`
	BaseURL  string `json:"baseUrl" doc:"The address that is used if a profile has none; empty if there is no such address."`
	Found    bool   `json:"found" doc:"Whether it can be used without entering anything."`
}

// Model is a model that a server lists.
type Model struct {
	ID   string `json:"id"`
	Name string `json:"name" doc:"The name for people; the id if the server has no other."`
}

// ModelFailure says why a model or its server cannot be used.
type ModelFailure struct {
	Class  string `json:"class" doc:"address (the hub does not connect to it), auth, rate, overloaded, transport, context_length, refused, invalid or secret (the key cannot be read)."`
	Detail string `json:"detail" doc:"What the server or the hub says, without the key."`
}

// ModelTest is the result of a test.
type ModelTest struct {
	Answer       string        `json:"answer,omitempty" doc:"What the model said, shortened."`
	Milliseconds int           `json:"ms" doc:"The time until the end of the answer."`
	InputTokens  int           `json:"inputTokens,omitempty" doc:"Cached tokens included."`
	OutputTokens int           `json:"outputTokens,omitempty"`
	CostUSD      float64       `json:"costUsd,omitempty"`
	CostUnknown  bool          `json:"costUnknown,omitempty" doc:"Whether the price of the model is unknown."`
	Failure      *ModelFailure `json:"failure,omitempty" doc:"Why there is no answer."`
}

// backendHandlers serve what is needed to connect a model.
type backendHandlers struct {
	backends      Backends // nil means none
	limits        *ratelimit.Limiter
	authenticator *access.Authenticator
	frameBytes    int64
}

type backendList struct {
	Backends []Backend `json:"backends"`
}

// modelServer is a server whose models a client asks for.
type modelServer struct {
	BaseURL string `json:"baseUrl,omitempty" wire:"max=2000" doc:"The address; empty for that of the backend."`
	Secret  string `json:"secret,omitempty" wire:"max=64" doc:"The name of the caller's secret with the key."`
	Key     string `json:"key,omitempty" wire:"max=8192" doc:"A key that is not stored; it counts before the secret."`
}

type modelList struct {
	Models  []Model       `json:"models"`
	Failure *ModelFailure `json:"failure,omitempty" doc:"Why there is no list."`
}

type modelTestRequest struct {
	Profile newModelProfile `json:"profile" doc:"The profile, which need not be stored."`
	Key     string          `json:"key,omitempty" wire:"max=8192" doc:"A key that is not stored; it counts before the secret of the profile."`
}

var (
	backendListForm      = httpio.FormOf[backendList]()
	modelServerForm      = httpio.FormOf[modelServer]()
	modelListForm        = httpio.FormOf[modelList]()
	modelTestRequestForm = httpio.FormOf[modelTestRequest]()
	modelTestForm        = httpio.FormOf[ModelTest]()
)

func (h *backendHandlers) routes() []openapi.Route {
	const tag = "settings"
	const limited = "It is limited to a few requests per minute. A failure of the server is part of the answer."
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/backends", Guard: openapi.GuardIdentity, Handler: h.list, Tag: tag,
			Summary: "The model backends that a profile can have", Answers: openapi.Success(http.StatusOK, "The backends.", openapi.JSONBody(backendListForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/backends/:backend/models", Guard: openapi.GuardIdentity, Handler: h.models, Tag: tag,
			Summary: "The models that a server lists", Detail: limited, Body: openapi.Optional(openapi.JSONBody(modelServerForm)),
			Answers: openapi.Success(http.StatusOK, "The models.", openapi.JSONBody(modelListForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/model-profiles/test", Guard: openapi.GuardIdentity, Handler: h.test, Tag: tag,
			Summary: "Test a model with one short request", Detail: limited, Body: openapi.JSONBody(modelTestRequestForm),
			Answers: openapi.Success(http.StatusOK, "The result.", openapi.JSONBody(modelTestForm)),
		},
	}
}

// user returns the caller, who may use models. A guest of a session may not.
func (h *backendHandlers) user(c echo.Context) (string, error) {
	me := access.Caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" || h.backends == nil {
		return "", problem.New(wire.CodeForbidden, "")
	}
	return me.User, nil
}

func (h *backendHandlers) list(c echo.Context) error {
	if _, err := h.user(c); err != nil {
		return err
	}
	return backendListForm.Answer(c, http.StatusOK, &backendList{Backends: h.backends.List(c.Request().Context())})
}

func (h *backendHandlers) models(c echo.Context) error {
	user, err := h.user(c)
	if err != nil {
		return err
	}
	in, err := modelServerForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if wait := h.limits.Probe(ctx, user); wait > 0 {
		return h.authenticator.RateLimited(c, wait)
	}
	p := profiles.Profile{Backend: httpio.PathParam(c, "backend"), BaseURL: in.BaseURL, Secret: in.Secret}
	all, failure := h.backends.Models(ctx, user, p, in.Key)
	return modelListForm.Answer(c, http.StatusOK, &modelList{Models: all, Failure: failure})
}

func (h *backendHandlers) test(c echo.Context) error {
	user, err := h.user(c)
	if err != nil {
		return err
	}
	in, err := modelTestRequestForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if wait := h.limits.Probe(ctx, user); wait > 0 {
		return h.authenticator.RateLimited(c, wait)
	}
	result, failure := h.backends.Test(ctx, user, in.Profile.profile("test"), in.Key)
	result.Failure = failure
	return modelTestForm.Answer(c, http.StatusOK, &result)
}
