package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/profiles"
	"github.com/everdesk/everdesk/wire"
)

// profileHandlers serve the model profiles of users.
type profileHandlers struct {
	profiles   *profiles.Store
	frameBytes int64
}

// modelProfile is a profile as clients see it.
type modelProfile struct {
	ID            string       `json:"id" wire:"max=64"`
	Name          string       `json:"name" wire:"max=64"`
	Backend       string       `json:"backend" wire:"max=64" doc:"demo, anthropic, openai, openai-compatible, ollama or an agent of the hub."`
	Model         string       `json:"model" wire:"max=200" doc:"The name of the model; empty for the default of the backend."`
	BaseURL       string       `json:"baseUrl" wire:"max=2000" doc:"The URL of the server; empty for that of the backend."`
	Secret        string       `json:"secret" wire:"max=64" doc:"The name of the caller's secret with the key; empty for none."`
	ContextWindow int          `json:"contextWindow" doc:"In tokens; 0 for the known size of the model."`
	Effort        string       `json:"effort" wire:"max=16" doc:"The reasoning effort: minimal, low, medium or high; empty for the default."`
	Prices        *modelPrices `json:"prices,omitempty" doc:"Absent for the known prices of the model."`
	Pinned        string       `json:"pinned,omitempty" doc:"The flags of the operator that the profile is made from; it cannot be changed."`
}

// modelPrices are prices per million tokens. One that is absent or null is unknown.
type modelPrices struct {
	Input      *float64 `json:"input,omitempty" doc:"Per million tokens; null if it is unknown."`
	Output     *float64 `json:"output,omitempty"`
	CacheRead  *float64 `json:"cacheRead,omitempty"`
	CacheWrite *float64 `json:"cacheWrite,omitempty"`
	Currency   string   `json:"currency" wire:"max=3" doc:"USD."`
	AsOf       string   `json:"asOf,omitempty" wire:"max=10" doc:"The date of the prices, as in 2026-11-17."`
}

// newModelProfile is the body of PUT. Its id is that of the path.
type newModelProfile struct {
	Name          string       `json:"name" wire:"max=64"`
	Backend       string       `json:"backend" wire:"max=64"`
	Model         string       `json:"model,omitempty" wire:"max=200"`
	BaseURL       string       `json:"baseUrl,omitempty" wire:"max=2000"`
	Secret        string       `json:"secret,omitempty" wire:"max=64"`
	ContextWindow int          `json:"contextWindow,omitempty"`
	Effort        string       `json:"effort,omitempty" wire:"max=16"`
	Prices        *modelPrices `json:"prices,omitempty"`
	Version       *int64       `json:"version,omitempty" doc:"The version that the caller saw. If it is no longer the version, the change is refused with 409."`
}

type newModelRoles struct {
	Roles   wire.Object[string, string] `json:"roles" doc:"Ids of profiles by role: main, window, task, plan, summary, title. An empty id removes the default of a role; roles that are not named stay."`
	Version *int64                      `json:"version,omitempty" doc:"As for a profile."`
}

type modelProfileList struct {
	Profiles []modelProfile              `json:"profiles" doc:"Those of the caller, then those of the hub."`
	Roles    wire.Object[string, string] `json:"roles" doc:"The default profile of roles, by id. A role that is absent has that of main."`
	Version  int64                       `json:"version" doc:"It grows with every change of the caller's profiles and roles; 0 before the first."`
	// Conflict is set in responses with status 409.
	Conflict string `json:"conflict,omitempty" doc:"With status 409: the change had no effect, because the profiles were changed meanwhile. The rest is what they are now."`
}

var (
	modelProfileListForm = httpio.FormOf[modelProfileList]()
	newModelProfileForm  = httpio.FormOf[newModelProfile]()
	newModelRolesForm    = httpio.FormOf[newModelRoles]()
)

func (h *profileHandlers) routes() []openapi.Route {
	const tag = "settings"
	const conflict = "With a version that is no longer the stored one the change has no effect. "
	list := openapi.JSONBody(modelProfileListForm)
	changed := []openapi.Answer{
		{Status: http.StatusOK, Doc: "The profiles after the change.", Content: list},
		{Status: http.StatusConflict, Doc: "The profiles have another version; the body has them as they are now.", Content: list},
	}
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/model-profiles", Guard: openapi.GuardIdentity, Handler: h.list, Tag: tag,
			Summary: "The model profiles of the caller and of the hub", Answers: openapi.Success(http.StatusOK, "The profiles.", list),
		},
		{
			Method: http.MethodPut, Path: "/api/model-profiles/:id", Guard: openapi.GuardIdentity, Handler: h.put, Tag: tag,
			Summary: "Create or replace a model profile", Body: openapi.JSONBody(newModelProfileForm),
			Detail:  conflict + "The tabs of the caller get SETTINGS_CHANGED with the name " + profiles.SettingName + ".",
			Answers: changed,
		},
		{
			Method: http.MethodDelete, Path: "/api/model-profiles/:id", Guard: openapi.GuardIdentity, Handler: h.remove, Tag: tag,
			Summary: "Delete a model profile", Query: []openapi.Param{{Name: "version", Doc: "The version that the caller saw."}},
			Detail:  conflict + "Sessions that have chosen it continue with the default.",
			Answers: changed,
		},
		{
			Method: http.MethodPut, Path: "/api/model-profiles/roles", Guard: openapi.GuardIdentity, Handler: h.putRoles, Tag: tag,
			Summary: "Set the default model profiles of roles", Body: openapi.JSONBody(newModelRolesForm), Detail: conflict,
			Answers: changed,
		},
	}
}

// owner returns the user whose profiles the caller reads and changes. A guest of a session has none.
func (h *profileHandlers) owner(c echo.Context) (string, error) {
	me := access.Caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return "", problem.New(wire.CodeForbidden, "")
	}
	return me.User, nil
}

func (h *profileHandlers) list(c echo.Context) error {
	user, err := h.owner(c)
	if err != nil {
		return err
	}
	set, err := h.profiles.Read(c.Request().Context(), user)
	return h.answer(c, set, err)
}

func (h *profileHandlers) put(c echo.Context) error {
	in, err := newModelProfileForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	p := in.profile(httpio.PathParam(c, "id"))
	return h.change(c, in.Version, func(ctx context.Context, user string, version *uint64) (profiles.Set, error) {
		return h.profiles.Put(ctx, user, p, version)
	})
}

// profile returns the profile with an id.
func (in *newModelProfile) profile(id string) profiles.Profile {
	p := profiles.Profile{
		ID: id, Name: in.Name, Backend: in.Backend, Model: in.Model, BaseURL: in.BaseURL, Secret: in.Secret,
		ContextWindow: in.ContextWindow, Effort: in.Effort,
	}
	if m := in.Prices; m != nil {
		p.Prices = &profiles.Prices{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite, Currency: m.Currency, AsOf: m.AsOf}
	}
	return p
}

func (h *profileHandlers) remove(c echo.Context) error {
	var version *int64
	if text := c.QueryParam("version"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return problem.Query("version", "Want a whole number.")
		}
		version = &n
	}
	return h.change(c, version, func(ctx context.Context, user string, version *uint64) (profiles.Set, error) {
		return h.profiles.Remove(ctx, user, httpio.PathParam(c, "id"), version)
	})
}

func (h *profileHandlers) putRoles(c echo.Context) error {
	in, err := newModelRolesForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	roles := make(map[profiles.Role]string, len(in.Roles))
	for _, m := range in.Roles {
		roles[profiles.Role(m.Key)] = m.Value
	}
	return h.change(c, in.Version, func(ctx context.Context, user string, version *uint64) (profiles.Set, error) {
		return h.profiles.SetRoles(ctx, user, roles, version)
	})
}

// change changes the caller's profiles and responds with what they are then.
func (h *profileHandlers) change(c echo.Context, version *int64, do func(ctx context.Context, user string, version *uint64) (profiles.Set, error)) error {
	user, err := h.owner(c)
	if err != nil {
		return err
	}
	var saw *uint64
	if version != nil {
		saw = new(uint64(max(*version, 0)))
	}
	set, err := do(c.Request().Context(), user, saw)
	return h.answer(c, set, err)
}

// answer responds with profiles or, if err is a conflict, with what they are now.
func (h *profileHandlers) answer(c echo.Context, set profiles.Set, err error) error {
	status, answer := http.StatusOK, modelProfileList{Version: int64(set.Version)} //nolint:gosec // a count of changes
	switch {
	case errors.Is(err, profiles.ErrConflict):
		status, answer.Conflict = http.StatusConflict, err.Error()
	case err != nil:
		return profileProblem(err)
	}
	for _, p := range set.Profiles {
		out := modelProfile{
			ID: p.ID, Name: p.Name, Backend: p.Backend, Model: p.Model, BaseURL: p.BaseURL, Secret: p.Secret,
			ContextWindow: p.ContextWindow, Effort: p.Effort, Pinned: p.Pinned,
		}
		if m := p.Prices; m != nil {
			out.Prices = &modelPrices{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite, Currency: m.Currency, AsOf: m.AsOf}
		}
		answer.Profiles = append(answer.Profiles, out)
	}
	for _, role := range profiles.Roles() {
		if id, ok := set.Roles[role]; ok {
			answer.Roles = answer.Roles.Set(string(role), id)
		}
	}
	return modelProfileListForm.Answer(c, status, &answer)
}

// profileProblem returns the response to an error of the profiles.
func profileProblem(err error) error {
	if f, ok := errors.AsType[*profiles.FieldError](err); ok {
		p := problem.New(wire.CodeInvalidMessage, f.Detail)
		p.Field = f.Field
		return p
	}
	switch {
	case errors.Is(err, profiles.ErrNotFound):
		return problem.Status(http.StatusNotFound, err.Error())
	case errors.Is(err, profiles.ErrPinned):
		return problem.New(wire.CodeForbidden, err.Error())
	case errors.Is(err, profiles.ErrFull):
		return problem.New(wire.CodeInvalidMessage, err.Error())
	}
	return err
}
