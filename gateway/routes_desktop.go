package gateway

import "net/http"

func (s *Server) desktopRoutes() []route {
	const tag = "desktop"
	return []route{
		{
			method: http.MethodGet, path: "/api/hub", guard: guardKnown, do: s.getHub, tag: tag,
			summary: "What a desktop has to know of the hub", answers: ok(http.StatusOK, "The hub.", of(hubForm)),
		},
		{
			method: http.MethodGet, path: "/api/apps", guard: guardKnown, do: s.getApps, tag: tag,
			summary: "The apps on the desktop", answers: ok(http.StatusOK, "The apps.", of(appsForm)),
		},
		{
			method: http.MethodGet, path: "/api/shortcuts", guard: guardKnown, do: s.getShortcuts, tag: tag,
			summary: "The icons on the desktop", query: []param{sessionQuery}, answers: ok(http.StatusOK, "The icons.", of(shortcutsForm)),
		},
		{
			method: http.MethodGet, path: "/api/providers", guard: guardKnown, do: s.getProviders, tag: tag,
			summary: "The AI backends", answers: ok(http.StatusOK, "The backends.", of(providersForm)),
		},
		{
			method: http.MethodGet, path: "/api/settings", guard: guardKnown, do: s.getSettings, tag: tag,
			summary: "The caller's settings", answers: ok(http.StatusOK, "The settings.", of(settingsForm)),
		},
		{
			method: http.MethodPatch, path: "/api/settings", guard: guardKnown, do: s.patchSettings, tag: tag,
			summary: "Change some of the caller's settings", body: of(settingsPatchForm),
			answers: ok(http.StatusOK, "The settings as they are now.", of(settingsForm)),
		},
		{
			method: http.MethodGet, path: "/api/sessions/:session/transcript", guard: guardKnown, do: s.getTranscript, tag: tag,
			summary: "The conversations of a session as Markdown", detail: "Of each monitor the newest part, as much as a page of messages has.",
			answers: ok(http.StatusOK, "The transcript.", of(transcriptForm)),
		},
		{
			method: http.MethodPost, path: "/api/sessions/:session/restore", guard: guardKnown, do: s.postRestore, tag: tag,
			summary: "What makes the windows of a session appear", detail: "The caller applies the actions to its own desktop; no session is changed.",
			answers: ok(http.StatusOK, "The actions.", of(restoredForm)),
		},
		{
			method: http.MethodGet, path: "/api/domains", guard: guardKnown, do: s.getDomains, tag: tag,
			summary: "Which domains the caller's apps may fetch from", answers: ok(http.StatusOK, "The domains.", of(domainsForm)),
		},
		{
			method: http.MethodPatch, path: "/api/domains", guard: guardKnown, do: s.patchDomains, tag: tag,
			summary: "Change which domains the caller's apps may fetch from", body: of(domainsPatchForm),
			answers: ok(http.StatusOK, "The domains as they are now.", of(domainsForm)),
		},
		{
			method: http.MethodPost, path: "/api/fetch", guard: guardKnown, do: s.postFetch, tag: tag,
			summary: "Fetch a page for an app", detail: "Always refused with 403: this hub does not fetch pages for apps.", body: of(fetchRequestForm),
			answers: []answer{{status: http.StatusForbidden, doc: "This hub does not fetch pages for apps.", content: problems()}},
		},
		{
			method: http.MethodGet, path: "/api/agents/stats", guard: guardKnown, do: s.getAgentStats, tag: tag,
			summary: "How busy the agents of the caller's session are", query: []param{sessionQuery},
			answers: ok(http.StatusOK, "The counts.", of(agentStatsForm)),
		},
		{
			method: http.MethodGet, path: "/api/remote-info", guard: guardKnown, do: s.getRemoteInfo, tag: tag,
			summary: "How another device reaches the desktop, as desktops written for YAAR ask", detail: "POST /api/join-tickets makes a link for another device.",
			answers: ok(http.StatusOK, "There is no address that would do without a ticket.", of(remoteInfoForm)),
		},
	}
}
