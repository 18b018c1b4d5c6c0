package rest

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/wire"
	"github.com/everdesk/everdesk/workspaces"
)

// workspaceHandlers serve the folders in which agents of sessions work.
type workspaceHandlers struct {
	requests   *sessionRequests
	workspaces *workspaces.Store // nil if there are none
	frameBytes int64
}

type workspaceState struct {
	Folder          string           `json:"folder" doc:"The folder in which agents of the session work that are programs; empty for a folder of the session."`
	Folders         []string         `json:"folders" doc:"The allowed folders, and some folders in them. Others in them can be chosen too."`
	Invalid         bool             `json:"invalid,omitempty" doc:"The folder is not allowed any more, or does not exist any more: such agents fail."`
	Instructions    string           `json:"instructions,omitempty" doc:"The text of AGENTS.md in the folder, which all agents of the session get."`
	InstructionsCut bool             `json:"instructionsCut,omitempty" doc:"The file is longer: agents get what is shown here."`
	Skills          []workspaceSkill `json:"skills" doc:"The guides in the folders .agents/skills and .claude/skills, which all agents of the session can read."`
	Unusable        string           `json:"unusable,omitempty" doc:"Why files for agents in the folder are not used."`
}

type workspaceSkill struct {
	Name  string `json:"name" doc:"What agents call it."`
	About string `json:"about" doc:"What it teaches and when to read it."`
}

type workspaceChoice struct {
	Folder string `json:"folder" wire:"max=4096" doc:"An absolute path; empty for a folder of the session."`
}

var (
	workspaceStateForm  = httpio.FormOf[workspaceState]()
	workspaceChoiceForm = httpio.FormOf[workspaceChoice]()
)

func (h *workspaceHandlers) routes() []openapi.Route {
	const tag, path = "sessions", "/api/sessions/:session/workspace"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: path, Guard: openapi.GuardIdentity, Handler: h.get, Tag: tag,
			Summary: "The folder in which agents of the session work",
			Answers: openapi.Success(http.StatusOK, "The folder.", openapi.JSONBody(workspaceStateForm)),
		},
		{
			Method: http.MethodPut, Path: path, Guard: openapi.GuardIdentity, Handler: h.put, Tag: tag,
			Summary: "Choose the folder in which agents of the session work",
			Detail:  "It counts from the next turn on, for agents that are programs. Checkpoints of the session then hold its files, too.",
			Body:    openapi.JSONBody(workspaceChoiceForm),
			Answers: openapi.Success(http.StatusOK, "The folder.", openapi.JSONBody(workspaceStateForm)),
		},
	}
}

// get responds with the workspace of a session. Guests do not see folders of the host.
func (h *workspaceHandlers) get(c echo.Context) error {
	info, err := h.requests.require(c, access.Viewer)
	if err != nil {
		return err
	}
	if err := requireAccount(c); err != nil {
		return err
	}
	return h.answer(c, info.ID)
}

// put chooses the workspace of a session.
func (h *workspaceHandlers) put(c echo.Context) error {
	info, err := h.requests.require(c, access.Operator)
	if err != nil {
		return err
	}
	if err := requireAccount(c); err != nil {
		return err
	}
	in, err := workspaceChoiceForm.Read(c, h.frameBytes)
	if err != nil {
		return err
	}
	if h.workspaces == nil {
		return workspaces.ErrNotAllowed
	}
	if _, err := h.workspaces.Choose(c.Request().Context(), info.ID, in.Folder); err != nil {
		return err
	}
	return h.answer(c, info.ID)
}

// requireAccount refuses guests of a session.
func requireAccount(c echo.Context) error {
	if me := access.Caller(c); me.Session != "" || !me.Has(auth.RoleUser) {
		return problem.New(wire.CodeForbidden, "")
	}
	return nil
}

func (h *workspaceHandlers) answer(c echo.Context, id wire.SessionID) error {
	out := workspaceState{Folders: []string{}, Skills: []workspaceSkill{}}
	if h.workspaces == nil {
		return workspaceStateForm.Answer(c, http.StatusOK, &out)
	}
	ctx := c.Request().Context()
	var err error
	if out.Folder, err = h.workspaces.Chosen(ctx, id); err != nil {
		return err
	}
	g, err := h.workspaces.GuidanceOf(ctx, id)
	if errors.Is(err, workspaces.ErrNotAllowed) {
		out.Invalid = true
	} else if err != nil {
		return err
	}
	if g.Unusable != nil {
		out.Unusable = g.Unusable.Error()
	}
	out.Instructions, out.InstructionsCut = g.Instructions, g.Cut
	for _, s := range g.Skills {
		out.Skills = append(out.Skills, workspaceSkill{Name: s.Name, About: s.About})
	}
	out.Folders = append(out.Folders, h.workspaces.Folders()...)
	return workspaceStateForm.Answer(c, http.StatusOK, &out)
}
