package rest

import (
	"net/http"

	"github.com/everdesk/everdesk/gateway/openapi"
)

func (o *desktopHandlers) routes() []openapi.Route {
	const tag = "desktop"
	return []openapi.Route{
		{
			Method: http.MethodGet, Path: "/api/hub", Guard: openapi.GuardIdentity, Handler: o.getHub, Tag: tag,
			Summary: "What a desktop needs to know about the hub", Answers: openapi.Success(http.StatusOK, "The hub.", openapi.JSONBody(hubForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/demo/crash", Guard: openapi.GuardIdentity, Handler: o.crash.post, Tag: tag,
			Summary: "Kill the hub's process, as the tour of the demo does to show that nothing is lost",
			Detail:  "The process gets SIGKILL right after the reply, and its supervisor starts it again. Only for admins, with the demo provider and --supervised.",
			Answers: openapi.NoContent("The process is about to be killed."),
		},
		{
			Method: http.MethodPost, Path: "/api/approval-tests", Guard: openapi.GuardIdentity, Handler: o.testApproval, Tag: tag,
			Summary: "How auto-approval rules decide on a command line", Detail: "Nothing is run or stored.", Body: openapi.JSONBody(approvalTestForm),
			Answers: openapi.Success(http.StatusOK, "The decision and its reason.", openapi.JSONBody(approvalResultForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/apps", Guard: openapi.GuardIdentity, Handler: o.getApps, Tag: tag,
			Summary: "The apps on the desktop", Answers: openapi.Success(http.StatusOK, "The apps.", openapi.JSONBody(appsForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/shortcuts", Guard: openapi.GuardIdentity, Handler: o.getShortcuts, Tag: tag,
			Summary: "The icons on the desktop", Query: []openapi.Param{sessionQuery}, Answers: openapi.Success(http.StatusOK, "The icons.", openapi.JSONBody(shortcutsForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/providers", Guard: openapi.GuardIdentity, Handler: o.getProviders, Tag: tag,
			Summary: "The AI backends", Answers: openapi.Success(http.StatusOK, "The backends.", openapi.JSONBody(providersForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/settings", Guard: openapi.GuardIdentity, Handler: o.getSettings, Tag: tag,
			Summary: "The caller's settings", Answers: openapi.Success(http.StatusOK, "The settings.", openapi.JSONBody(settingsForm)),
		},
		{
			Method: http.MethodPatch, Path: "/api/settings", Guard: openapi.GuardIdentity, Handler: o.patchSettings, Tag: tag,
			Summary: "Change some of the caller's settings", Body: openapi.JSONBody(settingsPatchForm),
			Answers: openapi.Success(http.StatusOK, "The changed settings.", openapi.JSONBody(settingsForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/agents/stats", Guard: openapi.GuardIdentity, Handler: o.getAgentStats, Tag: tag,
			Summary: "Counts of the agents in the caller's session", Query: []openapi.Param{sessionQuery},
			Answers: openapi.Success(http.StatusOK, "The counts.", openapi.JSONBody(agentStatsForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/remote-info", Guard: openapi.GuardIdentity, Handler: o.getRemoteInfo, Tag: tag,
			Summary: "How another device reaches the desktop, for desktops written for YAAR", Detail: "POST /api/join-tickets makes a link for another device.",
			Answers: openapi.Success(http.StatusOK, "There is no address that works without a ticket.", openapi.JSONBody(remoteInfoForm)),
		},
	}
}
