package gateway

import "net/http"

func (o *desktopHandlers) routes() []route {
	const tag = "desktop"
	return []route{
		{
			method: http.MethodGet, path: "/api/hub", guard: guardIdentity, handler: o.getHub, tag: tag,
			summary: "What a desktop needs to know about the hub", answers: success(http.StatusOK, "The hub.", jsonBody(hubForm)),
		},
		{
			method: http.MethodGet, path: "/api/apps", guard: guardIdentity, handler: o.getApps, tag: tag,
			summary: "The apps on the desktop", answers: success(http.StatusOK, "The apps.", jsonBody(appsForm)),
		},
		{
			method: http.MethodGet, path: "/api/shortcuts", guard: guardIdentity, handler: o.getShortcuts, tag: tag,
			summary: "The icons on the desktop", query: []param{sessionQuery}, answers: success(http.StatusOK, "The icons.", jsonBody(shortcutsForm)),
		},
		{
			method: http.MethodGet, path: "/api/providers", guard: guardIdentity, handler: o.getProviders, tag: tag,
			summary: "The AI backends", answers: success(http.StatusOK, "The backends.", jsonBody(providersForm)),
		},
		{
			method: http.MethodGet, path: "/api/settings", guard: guardIdentity, handler: o.getSettings, tag: tag,
			summary: "The caller's settings", answers: success(http.StatusOK, "The settings.", jsonBody(settingsForm)),
		},
		{
			method: http.MethodPatch, path: "/api/settings", guard: guardIdentity, handler: o.patchSettings, tag: tag,
			summary: "Change some of the caller's settings", body: jsonBody(settingsPatchForm),
			answers: success(http.StatusOK, "The changed settings.", jsonBody(settingsForm)),
		},
		{
			method: http.MethodGet, path: "/api/domains", guard: guardIdentity, handler: o.getDomains, tag: tag,
			summary: "Which domains the caller's apps may fetch from", answers: success(http.StatusOK, "The domains.", jsonBody(domainsForm)),
		},
		{
			method: http.MethodPatch, path: "/api/domains", guard: guardIdentity, handler: o.patchDomains, tag: tag,
			summary: "Change which domains the caller's apps may fetch from", body: jsonBody(domainsPatchForm),
			answers: success(http.StatusOK, "The changed domains.", jsonBody(domainsForm)),
		},
		{
			method: http.MethodPost, path: "/api/fetch", guard: guardIdentity, handler: o.postFetch, tag: tag,
			summary: "Fetch a page for an app", detail: "Always refused with 403: this hub does not fetch pages for apps.", body: jsonBody(fetchRequestForm),
			answers: []answer{{status: http.StatusForbidden, doc: "This hub does not fetch pages for apps.", content: problems()}},
		},
		{
			method: http.MethodGet, path: "/api/agents/stats", guard: guardIdentity, handler: o.getAgentStats, tag: tag,
			summary: "Counts of the agents in the caller's session", query: []param{sessionQuery},
			answers: success(http.StatusOK, "The counts.", jsonBody(agentStatsForm)),
		},
		{
			method: http.MethodGet, path: "/api/remote-info", guard: guardIdentity, handler: o.getRemoteInfo, tag: tag,
			summary: "How another device reaches the desktop, for desktops written for YAAR", detail: "POST /api/join-tickets makes a link for another device.",
			answers: success(http.StatusOK, "There is no address that works without a ticket.", jsonBody(remoteInfoForm)),
		},
	}
}
