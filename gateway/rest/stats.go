package rest

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/access"
	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/gateway/problem"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// agentStats counts the agents and connections of one session, and reveals nothing about those of
// other users.
type agentStats struct {
	Agents      agentCounts      `json:"agents"`
	Connections connectionCounts `json:"connections"`
	WarmPool    warmPoolCounts   `json:"warmPool"`
}

type agentCounts struct {
	MaxAgents    int `json:"maxAgents" wire:"min=0" doc:"Always 0: the limit is for the sessions of all users together."`
	CurrentCount int `json:"currentCount" wire:"min=0" doc:"Running agents."`
	WaitingCount int `json:"waitingCount" wire:"min=0" doc:"Messages that wait for an agent."`
}

type connectionCounts struct {
	ConnectionCount int `json:"connectionCount" wire:"min=0"`
}

// warmPoolCounts exists for the desktop dialect and is always zero: this hub starts no backends in
// advance.
type warmPoolCounts struct {
	PoolSize          int    `json:"poolSize" wire:"min=0"`
	Available         int    `json:"available" wire:"min=0"`
	PreferredProvider string `json:"preferredProvider"`
	WarmedSessions    int    `json:"warmedSessions" wire:"min=0"`
}

// remoteInfo says how another device reaches the desktop.
type remoteInfo struct {
	Remote bool `json:"remote" doc:"Always false: a link for another device needs a ticket."`
}

var (
	agentStatsForm = httpio.FormOf[agentStats]()
	remoteInfoForm = httpio.FormOf[remoteInfo]()
)

// getAgentStats counts in the current session. A user without a session has no agents.
func (o *desktopHandlers) getAgentStats(c echo.Context) error {
	stats := agentStats{WarmPool: warmPoolCounts{PreferredProvider: o.provider}}
	info, err := o.requests.current(c, access.Viewer)
	if p := problem.Of(err); err != nil && (p.Code != wire.CodeSessionNotFound || c.QueryParam("sessionId") != "") {
		return err
	}
	if err == nil {
		err = o.requests.withHandle(c, info, func(ctx context.Context, h *session.Handle) error {
			state, err := h.Snapshot(ctx, nil)
			if err != nil {
				return err
			}
			for _, a := range state.Agents {
				if a.Status == wire.AgentStatusRunning {
					stats.Agents.CurrentCount++
				}
			}
			for _, q := range state.Queues {
				stats.Agents.WaitingCount += len(q.Value)
			}
			stats.Connections.ConnectionCount = state.Connections
			return nil
		})
		if err != nil {
			return err
		}
	}
	return agentStatsForm.Answer(c, http.StatusOK, &stats)
}

func (o *desktopHandlers) getRemoteInfo(c echo.Context) error {
	return remoteInfoForm.Answer(c, http.StatusOK, &remoteInfo{})
}
