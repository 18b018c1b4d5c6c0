package rest

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/wire"
)

// modeHandlers serve the modes of users.
type modeHandlers struct {
	modes      *modes.Store
	frameBytes int64
}

// agentMode is a mode as clients see it.
type agentMode struct {
	ID           string             `json:"id" wire:"max=64"`
	Name         string             `json:"name" wire:"max=64"`
	Instructions string             `json:"instructions" wire:"max=16384" doc:"For the agent, in addition to its role."`
	ToolProfile  string             `json:"toolProfile" wire:"max=16" doc:"all: every tool of the agent; show: those that read, ask, and change windows and notices; read: those that read and ask."`
	Model        string             `json:"model" wire:"max=64" doc:"The id or the name of a model profile; empty for that of the session."`
	Approval     *wire.AutoApproval `json:"approval,omitempty" doc:"Auto-approval rules instead of those of the session; absent for these."`
	Shipped      bool               `json:"shipped,omitempty" doc:"The hub has a mode with this id. It can be changed, and deleting it reverts the changes."`
	Overridden   bool               `json:"overridden,omitempty" doc:"The caller has changed a mode of the hub."`
}

// newAgentMode is the body of PUT. Its id is that of the path.
type newAgentMode struct {
	Name         string             `json:"name" wire:"max=64"`
	Instructions string             `json:"instructions,omitempty" wire:"max=16384" doc:"At most 16 KiB."`
	ToolProfile  string             `json:"toolProfile,omitempty" wire:"max=16" doc:"all, show or read; absent for all."`
	Model        string             `json:"model,omitempty" wire:"max=64" doc:"It need not exist yet; the default is used meanwhile."`
	Approval     *wire.AutoApproval `json:"approval,omitempty"`
	Version      *int64             `json:"version,omitempty" doc:"The version that the caller saw. If it is no longer the version, the change is refused with 409."`
}

type agentModeList struct {
	Modes   []agentMode `json:"modes" doc:"Those of the hub, then those of the caller."`
	Version int64       `json:"version" doc:"It grows with every change of the caller's modes; 0 before the first."`
	// Conflict is set in responses with status 409.
	Conflict string `json:"conflict,omitempty" doc:"With status 409: the change had no effect, because the modes were changed meanwhile. The rest is what they are now."`
}

var (
	agentModeListForm = httpio.FormOf[agentModeList]()
	newAgentModeForm  = httpio.FormOf[newAgentMode]()
)

func (h *modeHandlers) routes() []openapi.Route {
	const tag = "settings"
	const conflict = "With a version that is no longer the stored one the change has no effect. "
	list := openapi.JSONBody(agentModeListForm)
	changed := []openapi.Answer{
		{Status: http.StatusOK, Doc: "The modes after the change.", Content: list},
		{Status: http.StatusConflict, Doc: "The modes have another version; the body has them as they are now.", Content: list},
	}
	return append(h.approvalRoutes(), []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/modes", Guard: openapi.GuardIdentity, Handler: h.list, Tag: tag,
			Summary: "The modes of the hub and of the caller", Answers: openapi.Success(http.StatusOK, "The modes.", list),
		},
		{
			Method: http.MethodPut, Path: "/api/modes/:mode", Guard: openapi.GuardIdentity, Handler: h.put, Tag: tag,
			Summary: "Create or replace a mode, or override one of the hub", Body: openapi.JSONBody(newAgentModeForm),
			Detail: conflict + "The tabs of the caller get SETTINGS_CHANGED with the name " + modes.SettingName +
				". Sessions that have chosen the mode have the change from their next turn on.",
			Answers: changed,
		},
		{
			Method: http.MethodDelete, Path: "/api/modes/:mode", Guard: openapi.GuardIdentity, Handler: h.remove, Tag: tag,
			Summary: "Delete a mode, or the changes of one of the hub", Query: []openapi.Param{{Name: "version", Doc: "The version that the caller saw."}},
			Detail:  conflict + "Sessions that have chosen it keep it as it was, until they choose another.",
			Answers: changed,
		},
	}...)
}

// owner returns the user whose modes the caller reads and changes. A guest of a session has none.
func (h *modeHandlers) owner(c echo.Context) (string, error) {
	me := access.Caller(c)
	if !me.Has(auth.RoleUser) || me.Session != "" {
		return "", problem.New(wire.CodeForbidden, "")
	}
	return me.User, nil
}

func (h *modeHandlers) list(c echo.Context) error {
	user, err := h.owner(c)
	if err != nil {
		return err
	}
	set, err := h.modes.Read(c.Request().Context(), user)
	return h.answer(c, set, err)
}

func (h *modeHandlers) put(c echo.Context) error {
	in, err := newAgentModeForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	m := modes.Mode{
		ID: httpio.PathParam(c, "mode"), Name: in.Name, Instructions: in.Instructions, Tools: in.ToolProfile, Model: in.Model, Approval: in.Approval,
	}
	if m.Tools == "" {
		m.Tools = modes.ToolsAll
	}
	return h.change(c, in.Version, func(ctx context.Context, user string, version *uint64) (modes.Set, error) {
		return h.modes.Put(ctx, user, m, version)
	})
}

func (h *modeHandlers) remove(c echo.Context) error {
	version, err := versionParam(c)
	if err != nil {
		return err
	}
	return h.change(c, version, func(ctx context.Context, user string, version *uint64) (modes.Set, error) {
		return h.modes.Remove(ctx, user, httpio.PathParam(c, "mode"), version)
	})
}

// change changes the caller's modes and responds with what they are then.
func (h *modeHandlers) change(c echo.Context, version *int64, do func(ctx context.Context, user string, version *uint64) (modes.Set, error)) error {
	set, err := h.changed(c, version, do)
	return h.answer(c, set, err)
}

// changed changes the caller's document and returns what it holds then.
func (h *modeHandlers) changed(c echo.Context, version *int64, do func(ctx context.Context, user string, version *uint64) (modes.Set, error)) (modes.Set, error) {
	user, err := h.owner(c)
	if err != nil {
		return modes.Set{}, err
	}
	var saw *uint64
	if version != nil {
		saw = new(uint64(max(*version, 0)))
	}
	return do(c.Request().Context(), user, saw)
}

// answer responds with modes or, if err is a conflict, with what they are now.
func (h *modeHandlers) answer(c echo.Context, set modes.Set, err error) error {
	status, answer := http.StatusOK, agentModeList{Version: int64(set.Version)} //nolint:gosec // a count of changes
	switch {
	case errors.Is(err, modes.ErrConflict):
		status, answer.Conflict = http.StatusConflict, err.Error()
	case err != nil:
		return modeProblem(err)
	}
	for _, m := range set.Modes {
		answer.Modes = append(answer.Modes, agentMode{
			ID: m.ID, Name: m.Name, Instructions: m.Instructions, ToolProfile: m.Tools, Model: m.Model, Approval: m.Approval,
			Shipped: m.Shipped, Overridden: m.Overridden,
		})
	}
	return agentModeListForm.Answer(c, status, &answer)
}

// modeProblem returns the response to an error of the modes.
func modeProblem(err error) error {
	if f, ok := errors.AsType[*modes.FieldError](err); ok {
		p := problem.New(wire.CodeInvalidMessage, f.Detail)
		p.Field = f.Field
		return p
	}
	switch {
	case errors.Is(err, modes.ErrNotFound):
		return problem.Status(http.StatusNotFound, err.Error())
	case errors.Is(err, modes.ErrShipped):
		return problem.New(wire.CodeForbidden, err.Error())
	case errors.Is(err, modes.ErrFull):
		return problem.New(wire.CodeInvalidMessage, err.Error())
	}
	return err
}
