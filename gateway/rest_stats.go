package gateway

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// agentStats is how busy the agents of a session are. A caller learns nothing of the
// sessions of others.
type agentStats struct {
	Agents      agentCounts      `json:"agents"`
	Connections connectionCounts `json:"connections"`
	WarmPool    warmPoolCounts   `json:"warmPool"`
}

// agentCounts are those of a session.
type agentCounts struct {
	MaxAgents    int `json:"maxAgents" wire:"min=0" doc:"Always 0: the limit is for the sessions of all users together."`
	CurrentCount int `json:"currentCount" wire:"min=0" doc:"How many work now."`
	WaitingCount int `json:"waitingCount" wire:"min=0" doc:"How many messages wait for one."`
}

// connectionCounts are those of a session.
type connectionCounts struct {
	ConnectionCount int `json:"connectionCount" wire:"min=0"`
}

// warmPoolCounts are there for desktops of the other dialect: backends are not
// started ahead here.
type warmPoolCounts struct {
	PoolSize          int    `json:"poolSize" wire:"min=0"`
	Available         int    `json:"available" wire:"min=0"`
	PreferredProvider string `json:"preferredProvider"`
	WarmedSessions    int    `json:"warmedSessions" wire:"min=0"`
}

// remoteInfo is how another device reaches the desktop.
type remoteInfo struct {
	Remote bool `json:"remote" doc:"Always false: a link for another device needs a ticket."`
}

var (
	agentStatsForm = formOf[agentStats]()
	remoteInfoForm = formOf[remoteInfo]()
)

// getAgentStats counts in the current session. A user without one has no agents.
func (s *Server) getAgentStats(c echo.Context) error {
	stats := agentStats{WarmPool: warmPoolCounts{PreferredProvider: s.defaultProvider}}
	info, err := s.current(c, accessViewer)
	if p := problemOf(err, c.Request()); err != nil && (p.Code != wire.CodeSessionNotFound || c.QueryParam("sessionId") != "") {
		return err
	}
	if err == nil {
		err = s.visit(c, info, func(ctx context.Context, room *session.Handle) error {
			state, err := room.Snapshot(ctx, nil)
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
	return agentStatsForm.answer(c, http.StatusOK, &stats)
}

func (s *Server) getRemoteInfo(c echo.Context) error {
	return remoteInfoForm.answer(c, http.StatusOK, &remoteInfo{})
}
