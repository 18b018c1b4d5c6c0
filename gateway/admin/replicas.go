package admin

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/gateway/httpio"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Agents counts the agents of all replicas.
type Agents interface {
	// Use returns how many agents run and how many wait.
	Use(ctx context.Context) (store.SlotUse, error)
}

type replicaCard struct {
	ID         wire.ReplicaID `json:"id"`
	State      string         `json:"state" doc:"serving, draining or drained."`
	Version    string         `json:"version,omitempty"`
	URL        string         `json:"url,omitempty" doc:"The URL of this replica itself, if it is known."`
	StartedAt  string         `json:"startedAt" doc:"RFC 3339."`
	Owned      int            `json:"owned" doc:"Sessions that it owns."`
	Followed   int            `json:"followed" doc:"Sessions of other replicas that it follows."`
	Tabs       int            `json:"tabs" doc:"Connections to those sessions."`
	Agents     int            `json:"agents" doc:"Running agents."`
	AgentLimit int            `json:"agentLimit" doc:"Limit of running agents over all replicas."`
	Self       bool           `json:"self,omitempty" doc:"This replica sent the response."`
}

type replicaList struct {
	Replicas []replicaCard `json:"replicas"`
}

// limitsCard has the limits and their use.
type limitsCard struct {
	Agents struct {
		Held    int `json:"held"`
		Waiting int `json:"waiting"`
		Limit   int `json:"limit"`
	} `json:"agents" doc:"Over all replicas."`
	UserSessions    int `json:"userSessions" doc:"Sessions per user; negative for no limit."`
	UserConnections int `json:"userConnections" doc:"Streaming connections per user; negative for no limit."`
}

var (
	replicaListForm = httpio.FormOf[replicaList]()
	limitsForm      = httpio.FormOf[limitsCard]()
)

func (v *views) listReplicas(c echo.Context) error {
	all, err := v.members.Replicas(c.Request().Context())
	if err != nil {
		return err
	}
	self := v.members.Card().ID
	list := replicaList{Replicas: []replicaCard{}}
	for _, r := range all {
		list.Replicas = append(list.Replicas, replicaCard{
			ID: r.ID, State: string(r.State), Version: r.Version, URL: r.URL, StartedAt: httpio.FormatTime(r.Started),
			Owned: r.Load.Owned, Followed: r.Load.Followed, Tabs: r.Load.Tabs,
			Agents: r.Load.Agents, AgentLimit: r.Load.AgentLimit, Self: r.ID == self,
		})
	}
	return replicaListForm.Answer(c, http.StatusOK, &list)
}

func (v *views) getLimits(c echo.Context) error {
	out := v.limits
	if v.agents != nil {
		use, err := v.agents.Use(c.Request().Context())
		if err != nil {
			return err
		}
		out.Agents.Held, out.Agents.Waiting = use.Held, use.Waiting
	}
	return limitsForm.Answer(c, http.StatusOK, &out)
}
