package gateway

import "net/http"

func (s *Server) desktopRoutes() []route {
	const tag = "desktop"
	return []route{
		{
			method: http.MethodGet, path: "/api/hub", guard: guardIdentity, handler: s.getHub, tag: tag,
			summary: "What a desktop needs to know about the hub", answers: success(http.StatusOK, "The hub.", jsonBody(hubForm)),
		},
		{
			method: http.MethodGet, path: "/api/apps", guard: guardIdentity, handler: s.getApps, tag: tag,
			summary: "The apps on the desktop", answers: success(http.StatusOK, "The apps.", jsonBody(appsForm)),
		},
		{
			method: http.MethodGet, path: "/api/shortcuts", guard: guardIdentity, handler: s.getShortcuts, tag: tag,
			summary: "The icons on the desktop", query: []param{sessionQuery}, answers: success(http.StatusOK, "The icons.", jsonBody(shortcutsForm)),
		},
		{
			method: http.MethodGet, path: "/api/providers", guard: guardIdentity, handler: s.getProviders, tag: tag,
			summary: "The AI backends", answers: success(http.StatusOK, "The backends.", jsonBody(providersForm)),
		},
		{
			method: http.MethodGet, path: "/api/settings", guard: guardIdentity, handler: s.getSettings, tag: tag,
			summary: "The caller's settings", answers: success(http.StatusOK, "The settings.", jsonBody(settingsForm)),
		},
		{
			method: http.MethodPatch, path: "/api/settings", guard: guardIdentity, handler: s.patchSettings, tag: tag,
			summary: "Change some of the caller's settings", body: jsonBody(settingsPatchForm),
			answers: success(http.StatusOK, "The changed settings.", jsonBody(settingsForm)),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session/transcript", guard: guardIdentity, handler: s.getTranscript, tag: tag,
			summary: "The conversations of a session as Markdown", detail: "The newest part of each monitor's conversation, as much as fits into a page of messages.",
			answers: success(http.StatusOK, "The transcript.", jsonBody(transcriptForm)),
		},
		{
			method: http.MethodPost, path: "/api/sessions/:session/restore", guard: guardIdentity, handler: s.postRestore, tag: tag,
			summary: "The actions that show the windows of a session", detail: "The caller applies the actions to its own desktop; no session is changed.",
			answers: success(http.StatusOK, "The actions.", jsonBody(restoredForm)),
		},
		{
			method: http.MethodGet, path: "/api/domains", guard: guardIdentity, handler: s.getDomains, tag: tag,
			summary: "Which domains the caller's apps may fetch from", answers: success(http.StatusOK, "The domains.", jsonBody(domainsForm)),
		},
		{
			method: http.MethodPatch, path: "/api/domains", guard: guardIdentity, handler: s.patchDomains, tag: tag,
			summary: "Change which domains the caller's apps may fetch from", body: jsonBody(domainsPatchForm),
			answers: success(http.StatusOK, "The changed domains.", jsonBody(domainsForm)),
		},
		{
			method: http.MethodPost, path: "/api/fetch", guard: guardIdentity, handler: s.postFetch, tag: tag,
			summary: "Fetch a page for an app", detail: "Always refused with 403: this hub does not fetch pages for apps.", body: jsonBody(fetchRequestForm),
			answers: []answer{{status: http.StatusForbidden, doc: "This hub does not fetch pages for apps.", content: problems()}},
		},
		{
			method: http.MethodGet, path: "/api/agents/stats", guard: guardIdentity, handler: s.getAgentStats, tag: tag,
			summary: "Counts of the agents in the caller's session", query: []param{sessionQuery},
			answers: success(http.StatusOK, "The counts.", jsonBody(agentStatsForm)),
		},
		{
			method: http.MethodGet, path: "/api/remote-info", guard: guardIdentity, handler: s.getRemoteInfo, tag: tag,
			summary: "How another device reaches the desktop, for desktops written for YAAR", detail: "POST /api/join-tickets makes a link for another device.",
			answers: success(http.StatusOK, "There is no address that works without a ticket.", jsonBody(remoteInfoForm)),
		},
	}
}
