package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/admin"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/openapi"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// mcpTokens serve the MCP tokens of sessions.
type mcpTokens struct {
	requests *sessionRequests
	auth     *auth.Authority
	hub      *session.Hub
	actions  *admin.Actions
	log      *slog.Logger
	// profiles are the names of the profiles of tools, the default first.
	profiles   []string
	frameBytes int64
}

const (
	// mcpTokenLife is the lifetime of an MCP token for which none is given.
	mcpTokenLife = 30 * 24 * time.Hour
	// firstMonitor is the monitor of an MCP token for which none is given.
	firstMonitor wire.MonitorID = "monitor-0"
)

type mcpTokenRequest struct {
	Name    string         `json:"name" wire:"min=1,max=64" doc:"The name of the program; the session shows its calls under it."`
	Profile string         `json:"profile,omitempty" wire:"max=64" doc:"The tools that it gets: default, web, code, app, all or main; default when absent."`
	Monitor wire.MonitorID `json:"monitor,omitempty" doc:"The monitor that it acts on; monitor-0 when absent."`
	TTL     int            `json:"ttl,omitempty" wire:"min=0,max=31622400" doc:"Seconds that it is valid, up to 366 days; 30 days when absent."`
	Lease   int            `json:"lease,omitempty" wire:"min=0,max=86400" doc:"Seconds without use after which it expires, even before ttl; absent if it does not need to be used. A program that may be killed uses it with a short lease, and any request at /mcp is a use."`
}

// mcpTokenInfo describes an MCP token without its secret.
type mcpTokenInfo struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Profile    string         `json:"profile"`
	Monitor    wire.MonitorID `json:"monitor"`
	LastFour   string         `json:"lastFour" doc:"The last four characters of the token."`
	CreatedAt  string         `json:"createdAt" doc:"RFC 3339."`
	ExpiresAt  string         `json:"expiresAt" doc:"RFC 3339."`
	Lease      int            `json:"lease,omitempty" doc:"Seconds without use after which it expires; each use moves expiresAt."`
	LastUsedAt string         `json:"lastUsedAt,omitempty" doc:"RFC 3339, up to a minute old; absent if it was never used."`
}

type mcpTokenAnswer struct {
	Token string `json:"token" doc:"Shown only once: the hub stores its hash."`
	mcpTokenInfo
}

type mcpTokenList struct {
	Tokens []mcpTokenInfo `json:"tokens"`
}

var (
	mcpTokenRequestForm = httpio.FormOf[mcpTokenRequest]()
	mcpTokenForm        = httpio.FormOf[mcpTokenAnswer]()
	mcpTokenListForm    = httpio.FormOf[mcpTokenList]()
)

func (m *mcpTokens) routes() []openapi.Route {
	const tag = "sessions"
	return []openapi.Route{
		{
			Method: http.MethodPost, Path: "/api/sessions/:session/mcp-tokens", Guard: openapi.GuardIdentity, Handler: m.create, Tag: tag,
			Summary: "Create a token with which a program calls tools in the session over MCP", Body: openapi.JSONBody(mcpTokenRequestForm),
			Detail:  "For the user of the session only. The program uses it as a bearer token at /mcp of any replica. 409 when the session has 16 tokens.",
			Answers: openapi.Success(http.StatusCreated, "The token.", openapi.JSONBody(mcpTokenForm)),
		},
		{
			Method: http.MethodGet, Path: "/api/sessions/:session/mcp-tokens", Guard: openapi.GuardIdentity, Handler: m.list, Tag: tag,
			Summary: "List the MCP tokens of a session", Detail: "For the user of the session only.",
			Answers: openapi.Success(http.StatusOK, "The tokens, without their secrets.", openapi.JSONBody(mcpTokenListForm)),
		},
		{
			Method: http.MethodDelete, Path: "/api/sessions/:session/mcp-tokens/:token", Guard: openapi.GuardIdentity, Handler: m.revoke, Tag: tag,
			Summary: "Revoke an MCP token", Detail: "For the user of the session only. Calls that run with it are interrupted, on every replica.",
			Answers: openapi.NoContent("Revoked."),
		},
	}
}

// require returns the session of the request if the caller is its user. An admin is not: a token acts
// on behalf of the user.
func (m *mcpTokens) require(c echo.Context) (session.Info, error) {
	info, err := m.requests.require(c, access.Owner)
	if err == nil && info.User != access.Caller(c).User {
		err = problem.New(wire.CodeForbidden, "")
	}
	return info, err
}

func (m *mcpTokens) create(c echo.Context) error {
	info, err := m.require(c)
	if err != nil {
		return err
	}
	in, err := mcpTokenRequestForm.Read(c, m.frameBytes)
	if err != nil {
		return err
	}
	t := auth.MCPToken{Session: info.ID, User: info.User, UserChanges: info.UserChanges, Name: in.Name, Profile: cmp.Or(in.Profile, m.profiles[0]), Monitor: cmp.Or(in.Monitor, firstMonitor), Lease: time.Duration(in.Lease) * time.Second}
	switch {
	case !slices.Contains(m.profiles, t.Profile):
		return problem.Query("profile", "Want "+strings.Join(m.profiles, ", ")+".")
	case t.Monitor.Validate() != nil:
		return problem.Query("monitor", "Want the id of a monitor, such as monitor-0.")
	case store.CheckName("name", t.Name) != nil:
		return problem.Query("name", "Want 1 to 64 characters without control characters.")
	}
	ttl, token := cmp.Or(time.Duration(in.TTL)*time.Second, mcpTokenLife), ""
	err = m.actions.PerformWithoutReason(c, admin.Action{Action: "mcp-token.make", Target: string(info.ID), Execute: func(ctx context.Context, _ string) (_ string, err error) {
		token, t, err = m.auth.MCPTokens.Create(ctx, t, ttl)
		if errors.Is(err, auth.ErrTooManyMCPTokens) {
			err = problem.New(wire.CodeSessionInvalidState, fmt.Sprintf("The session has %d MCP tokens already; revoke one of them.", auth.MaxMCPTokens))
		}
		return fmt.Sprintf("token: %s; name: %q; profile: %s; monitor: %s; seconds: %d", t.ID, t.Name, t.Profile, t.Monitor, int(ttl.Seconds())), secretDiscarded(err)
	}})
	if err != nil {
		return err
	}
	m.log.InfoContext(c.Request().Context(), "MCP token made", "session", info.ID, "by", info.User, "token", t.ID, "name", t.Name, "profile", t.Profile)
	return mcpTokenForm.Answer(c, http.StatusCreated, &mcpTokenAnswer{Token: token, mcpTokenInfo: mcpTokenInfoOf(t)})
}

func mcpTokenInfoOf(t auth.MCPToken) mcpTokenInfo {
	i := mcpTokenInfo{
		ID: t.ID, Name: t.Name, Profile: t.Profile, Monitor: t.Monitor, LastFour: t.Tail,
		CreatedAt: httpio.FormatTime(t.Created), ExpiresAt: httpio.FormatTime(t.Expires), Lease: int(t.Lease.Seconds()),
	}
	if !t.Used.IsZero() {
		i.LastUsedAt = httpio.FormatTime(t.Used)
	}
	return i
}

func (m *mcpTokens) list(c echo.Context) error {
	info, err := m.require(c)
	if err != nil {
		return err
	}
	all, err := m.auth.MCPTokens.List(c.Request().Context(), info.ID)
	if err != nil {
		return err
	}
	list := mcpTokenList{Tokens: []mcpTokenInfo{}}
	for _, t := range all {
		list.Tokens = append(list.Tokens, mcpTokenInfoOf(t))
	}
	return mcpTokenListForm.Answer(c, http.StatusOK, &list)
}

func (m *mcpTokens) revoke(c echo.Context) error {
	info, err := m.require(c)
	if err != nil {
		return err
	}
	id := httpio.PathParam(c, "token")
	err = m.actions.PerformWithoutReason(c, admin.Action{
		Action: "mcp-token.end", Target: string(info.ID) + "/" + id, DoneIfGoneOnRetry: true,
		Execute: func(ctx context.Context, _ string) (string, error) {
			err := m.auth.MCPTokens.Revoke(ctx, info.ID, info.User, id)
			if errors.Is(err, store.ErrNotFound) {
				err = problem.Status(http.StatusNotFound, "There is no such MCP token.")
			}
			return "", err
		},
	})
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	if err := m.hub.StopCalls(ctx, info.ID, id, "the MCP token was revoked"); err != nil {
		// The replicas that wait for the calls interrupt them as soon as they notice.
		m.log.WarnContext(ctx, "calls of a revoked MCP token not interrupted at once", "session", info.ID, "token", id, "err", err)
	}
	m.log.InfoContext(ctx, "MCP token revoked", "session", info.ID, "by", info.User, "token", id)
	return c.NoContent(http.StatusNoContent)
}
