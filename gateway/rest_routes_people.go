package gateway

import "net/http"

func (i *signIns) routes() []route {
	const tag = "people"
	return []route{
		{
			method: http.MethodPost, path: "/api/login", handler: i.postLogin, tag: tag,
			summary: "Exchange a token for a cookie", body: jsonBody(loginForm),
			answers: success(http.StatusOK, "Signed in.", jsonBody(identityForm), param{name: "Set-Cookie", doc: "The cookie."}),
		},
		{
			method: http.MethodPost, path: "/api/logout", guard: guardIdentity, handler: i.postLogout, tag: tag,
			summary: "Sign out everywhere", detail: "All cookies and tickets of the user end and all their connections close with 4411. " +
				"For a viewer or an invited device only the cookie of the request and its connections end. API keys cannot sign out.",
			answers: noContent("Signed out."),
		},
		{
			method: http.MethodGet, path: "/api/me", guard: guardIdentity, handler: i.getMe, tag: tag,
			summary: "The identity of the caller", answers: success(http.StatusOK, "The caller.", jsonBody(identityForm)),
		},
		{
			method: http.MethodPost, path: "/api/join-tickets", guard: guardIdentity, handler: i.postInvitation, tag: tag,
			summary: "Make a link that gives another device access to a session", body: jsonBody(invitationRequestForm),
			detail:  "Needs operator access. The link is valid once and for two minutes. API keys and credentials for one session cannot make one.",
			answers: success(http.StatusOK, "The link.", jsonBody(invitationForm)),
		},
		{
			method: http.MethodPost, path: "/api/join", handler: i.postJoin, tag: tag,
			summary: "Exchange the ticket of such a link for a cookie", body: jsonBody(joinForm),
			detail: "The cookie is valid for that session only: it cannot create or see others, nor rename, share or delete this one. " +
				"A browser that is signed in as the same user keeps its cookie. Used, expired and other users' links get the same response.",
			answers: success(http.StatusOK, "The device has access.", jsonBody(joinedForm), param{name: "Set-Cookie", doc: "The cookie."}),
		},
		{
			method: http.MethodPost, path: "/api/ws-ticket", guard: guardIdentity, handler: i.postTicket, tag: tag,
			summary: "Make a ticket for one WebSocket", body: optionalBody(jsonBody(ticketRequestForm)),
			answers: success(http.StatusOK, "The ticket.", jsonBody(ticketForm)),
		},
	}
}

func (t *tokens) routes() []route {
	const tag = "people"
	return []route{
		{
			method: http.MethodPost, path: "/api/tokens/keys", guard: guardAdmin, handler: t.postKey, tag: tag,
			summary: "Create an API key", body: jsonBody(keyRequestForm), answers: success(http.StatusCreated, "The key.", jsonBody(keyForm)),
		},
		{
			method: http.MethodGet, path: "/api/tokens/keys", guard: guardAdmin, handler: t.listKeys, tag: tag,
			summary: "List API keys", query: []param{listLimit.param(), {name: "after", doc: "The next of the previous page."}},
			answers: success(http.StatusOK, "A page of keys.", jsonBody(keyListForm)),
		},
		{
			method: http.MethodDelete, path: "/api/tokens/keys/:key", guard: guardAdmin, handler: t.deleteKey, tag: tag,
			summary: "Revoke an API key", answers: noContent("Revoked."),
			detail: "Connections that it opened are closed; those of the user's other credentials stay open.",
		},
		{
			method: http.MethodPost, path: "/api/tokens/tickets", guard: guardAdmin, handler: t.postUserTicket, tag: tag,
			summary: "Make a ticket for another user", body: jsonBody(userTicketRequestForm), answers: success(http.StatusOK, "The ticket.", jsonBody(ticketForm)),
		},
	}
}
