package rest

import (
	"net/http"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
)

func (i *signIns) routes() []openapi.Route {
	const tag = "people"
	return []openapi.Route{
		{
			Method: http.MethodPost, Path: "/api/login", Handler: i.postLogin, Tag: tag,
			Summary: "Exchange a token for a cookie", Body: openapi.JSONBody(loginForm),
			Answers: openapi.Success(http.StatusOK, "Signed in.", openapi.JSONBody(identityForm), openapi.Param{Name: "Set-Cookie", Doc: "The cookie."}),
		},
		{
			Method: http.MethodPost, Path: "/api/logout", Guard: openapi.GuardIdentity, Handler: i.postLogout, Tag: tag,
			Summary: "Sign out everywhere", Detail: "All cookies and tickets of the user end and all their connections close with 4411. " +
				"For a viewer or an invited device only the cookie of the request and its connections end. API keys cannot sign out.",
			Answers: openapi.NoContent("Signed out."),
		},
		{
			Method: http.MethodGet, Path: "/api/me", Guard: openapi.GuardIdentity, Handler: i.getMe, Tag: tag,
			Summary: "The identity of the caller", Answers: openapi.Success(http.StatusOK, "The caller.", openapi.JSONBody(identityForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/join-tickets", Guard: openapi.GuardIdentity, Handler: i.postInvitation, Tag: tag,
			Summary: "Make a link that gives another device access to a session", Body: openapi.JSONBody(invitationRequestForm),
			Detail:  "Needs operator access. The link is valid once and for two minutes. API keys and credentials for one session cannot make one.",
			Answers: openapi.Success(http.StatusOK, "The link.", openapi.JSONBody(invitationForm)),
		},
		{
			Method: http.MethodPost, Path: "/api/join", Handler: i.postJoin, Tag: tag,
			Summary: "Exchange the ticket of such a link for a cookie", Body: openapi.JSONBody(joinForm),
			Detail: "The cookie is valid for that session only: it cannot create or see others, nor rename, share or delete this one. " +
				"A browser that is signed in as the same user keeps its cookie. Used, expired and other users' links get the same response.",
			Answers: openapi.Success(http.StatusOK, "The device has access.", openapi.JSONBody(joinedForm), openapi.Param{Name: "Set-Cookie", Doc: "The cookie."}),
		},
		{
			Method: http.MethodPost, Path: "/api/ws-ticket", Guard: openapi.GuardIdentity, Handler: i.postTicket, Tag: tag,
			Summary: "Make a ticket for one WebSocket", Body: openapi.Optional(openapi.JSONBody(ticketRequestForm)),
			Answers: openapi.Success(http.StatusOK, "The ticket.", openapi.JSONBody(ticketForm)),
		},
	}
}

func (t *tokens) routes() []openapi.Route {
	const tag = "people"
	return []openapi.Route{
		{
			Method: http.MethodPost, Path: "/api/tokens/keys", Guard: openapi.GuardAdmin, Handler: t.postKey, Tag: tag,
			Summary: "Create an API key", Body: openapi.JSONBody(keyRequestForm), Answers: openapi.Success(http.StatusCreated, "The key.", openapi.JSONBody(keyForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/tokens/keys", Guard: openapi.GuardAdmin, Handler: t.listKeys, Tag: tag,
			Summary: "List API keys", Query: []openapi.Param{httpio.ListLimit.Param(), {Name: "after", Doc: "The next of the previous page."}},
			Answers: openapi.Success(http.StatusOK, "A page of keys.", openapi.JSONBody(keyListForm)),
		},
		{
			Method: http.MethodDelete, Path: "/api/tokens/keys/:key", Guard: openapi.GuardAdmin, Handler: t.deleteKey, Tag: tag,
			Summary: "Revoke an API key", Answers: openapi.NoContent("Revoked."),
			Detail: "Connections that it opened are closed; those of the user's other credentials stay open.",
		},
		{
			Method: http.MethodPost, Path: "/api/tokens/tickets", Guard: openapi.GuardAdmin, Handler: t.postUserTicket, Tag: tag,
			Summary: "Make a ticket for another user", Body: openapi.JSONBody(userTicketRequestForm), Answers: openapi.Success(http.StatusOK, "The ticket.", openapi.JSONBody(ticketForm)),
		},
	}
}
