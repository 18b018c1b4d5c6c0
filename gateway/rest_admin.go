package gateway

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// Membership is what the admin API needs to know of the replicas.
type Membership interface {
	// Card is this replica.
	Card() membership.Card
	Replicas(ctx context.Context) ([]membership.Card, error)
	Order(ctx context.Context, id wire.ReplicaID, w membership.ReplicaOrder) error
	// Send has a replica do something and waits for what it answers.
	Send(ctx context.Context, to wire.ReplicaID, id string, e membership.Command) (membership.Answer, error)
	// ConnectionsElsewhere is how many connections a user has to other replicas.
	ConnectionsElsewhere(user string) int
}

// Agents is what it needs to know of agents.
type Agents interface {
	Use(ctx context.Context) (store.SlotUse, error)
}

// replicaCard is a replica in a listing.
type replicaCard struct {
	ID         wire.ReplicaID `json:"id"`
	State      string         `json:"state" doc:"serving, draining or drained."`
	Version    string         `json:"version,omitempty"`
	URL        string         `json:"url,omitempty" doc:"Where this very replica answers, as far as it knows."`
	StartedAt  string         `json:"startedAt" doc:"RFC 3339."`
	Owned      int            `json:"owned" doc:"Sessions that it runs."`
	Followed   int            `json:"followed" doc:"Sessions of others that it shows."`
	Tabs       int            `json:"tabs" doc:"Connections that watch them."`
	Agents     int            `json:"agents" doc:"Agents that run there."`
	AgentLimit int            `json:"agentLimit" doc:"How many may run at all replicas together."`
	Self       bool           `json:"self,omitempty" doc:"It is the one that answers."`
}

// replicaList are all replicas.
type replicaList struct {
	Replicas []replicaCard `json:"replicas"`
}

// limitsCard is how full the hub is.
type limitsCard struct {
	Agents struct {
		Held    int `json:"held"`
		Waiting int `json:"waiting"`
		Limit   int `json:"limit"`
	} `json:"agents" doc:"Over all replicas."`
	UserSessions    int `json:"userSessions" doc:"How many sessions a user may make; negative for any number."`
	UserConnections int `json:"userConnections" doc:"How many streaming connections a user may have; negative for any number."`
}

var (
	replicaListForm = formOf[replicaList]()
	limitsForm      = formOf[limitsCard]()
)

func (s *Server) listReplicas(c echo.Context) error {
	all, err := s.members.Replicas(c.Request().Context())
	if err != nil {
		return err
	}
	self := s.members.Card().ID
	list := replicaList{Replicas: []replicaCard{}}
	for _, r := range all {
		list.Replicas = append(list.Replicas, replicaCard{
			ID: r.ID, State: string(r.State), Version: r.Version, URL: r.URL, StartedAt: stamp(r.Started),
			Owned: r.Load.Owned, Followed: r.Load.Followed, Tabs: r.Load.Tabs,
			Agents: r.Load.Agents, AgentLimit: r.Load.AgentLimit, Self: r.ID == self,
		})
	}
	return replicaListForm.answer(c, http.StatusOK, &list)
}

func (s *Server) getLimits(c echo.Context) error {
	out := limitsCard{UserSessions: s.cfg.UserSessions, UserConnections: s.cfg.UserConnections}
	if s.agents != nil {
		use, err := s.agents.Use(c.Request().Context())
		if err != nil {
			return err
		}
		out.Agents.Held, out.Agents.Waiting, out.Agents.Limit = use.Held, use.Waiting, s.agentLimit
	}
	return limitsForm.answer(c, http.StatusOK, &out)
}
