package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/modes"
	"github.com/everdesk/everdesk/wire"
)

// newApprovalDefault is the body of PUT.
type newApprovalDefault struct {
	Rules   wire.AutoApproval `json:"rules"`
	Version *int64            `json:"version,omitempty" doc:"The version that the caller saw. If it is no longer the version, the change is refused with 409."`
}

// approvalDefault holds the rules of the caller's sessions without rules of their own.
type approvalDefault struct {
	Rules   wire.AutoApproval `json:"rules" doc:"All are off if they were never set."`
	IsSet   bool              `json:"isSet" doc:"Whether the caller has set them."`
	Version int64             `json:"version" doc:"It grows with every change of the caller's modes and of these rules; 0 before the first."`
	// Conflict is set in responses with status 409.
	Conflict string `json:"conflict,omitempty" doc:"With status 409: the change had no effect, because they were changed meanwhile. The rest is what they are now."`
}

var (
	newApprovalDefaultForm = httpio.FormOf[newApprovalDefault]()
	approvalDefaultForm    = httpio.FormOf[approvalDefault]()
)

// approvalRoutes returns the routes of the default approval rules.
func (h *modeHandlers) approvalRoutes() []openapi.Route {
	const tag, path = "settings", "/api/auto-approval"
	body := openapi.JSONBody(approvalDefaultForm)
	changed := []openapi.Answer{
		{Status: http.StatusOK, Doc: "The rules after the change.", Content: body},
		{Status: http.StatusConflict, Doc: "They have another version; the body has them as they are now.", Content: body},
	}
	const effect = "Sessions without rules of their own follow them at once. The tabs of the caller get SETTINGS_CHANGED with the name " + modes.SettingName + "."
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: path, Guard: openapi.GuardIdentity, Handler: h.approval, Tag: tag,
			Summary: "What agents may do alone in sessions without rules of their own", Answers: openapi.Success(http.StatusOK, "The rules.", body),
		},
		{
			Method: http.MethodPut, Path: path, Guard: openapi.GuardIdentity, Handler: h.putApproval, Tag: tag,
			Summary: "Set what agents may do alone by default", Detail: effect, Body: openapi.JSONBody(newApprovalDefaultForm), Answers: changed,
		},
		{
			Method: http.MethodDelete, Path: path, Guard: openapi.GuardIdentity, Handler: h.removeApproval, Tag: tag,
			Summary: "Let agents do nothing alone by default", Detail: effect, Answers: changed,
			Query: []openapi.Param{{Name: "version", Doc: "The version that the caller saw."}},
		},
	}
}

func (h *modeHandlers) approval(c echo.Context) error {
	user, err := h.owner(c)
	if err != nil {
		return err
	}
	set, err := h.modes.Read(c.Request().Context(), user)
	return h.answerApproval(c, set, err)
}

func (h *modeHandlers) putApproval(c echo.Context) error {
	in, err := newApprovalDefaultForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	return h.changeApproval(c, in.Version, &in.Rules)
}

func (h *modeHandlers) removeApproval(c echo.Context) error {
	version, err := versionParam(c)
	if err != nil {
		return err
	}
	return h.changeApproval(c, version, nil)
}

// changeApproval replaces or removes the rules and responds with what they are then.
func (h *modeHandlers) changeApproval(c echo.Context, version *int64, rules *wire.AutoApproval) error {
	set, err := h.changed(c, version, func(ctx context.Context, user string, version *uint64) (modes.Set, error) {
		return h.modes.SetApproval(ctx, user, rules, version)
	})
	return h.answerApproval(c, set, err)
}

// answerApproval responds with the rules or, if err is a conflict, with what they are now.
func (h *modeHandlers) answerApproval(c echo.Context, set modes.Set, err error) error {
	status, answer := http.StatusOK, approvalDefault{Version: int64(set.Version), IsSet: set.Approval != nil} //nolint:gosec // a count of changes
	switch {
	case errors.Is(err, modes.ErrConflict):
		status, answer.Conflict = http.StatusConflict, err.Error()
	case err != nil:
		return modeProblem(err)
	}
	if set.Approval != nil {
		answer.Rules = *set.Approval
	}
	return approvalDefaultForm.Answer(c, status, &answer)
}

// versionParam returns the parameter version of a request, or nil.
func versionParam(c echo.Context) (*int64, error) {
	text := c.QueryParam("version")
	if text == "" {
		return nil, nil //nolint:nilnil // no version, no error
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, problem.Query("version", "Want a whole number.")
	}
	return &n, nil
}
