package membership

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// State is the state of a replica.
type State string

// The states of a replica.
const (
	// Serving accepts connections and sessions.
	Serving State = "serving"
	// Draining hands its sessions over and closes its tabs.
	Draining State = "draining"
	// Drained has no sessions and no tabs.
	Drained State = "drained"
)

// Card is the announced description of a replica.
type Card struct {
	ID wire.ReplicaID `json:"id"`
	// Process identifies this process among others under the same replica id.
	Process string    `json:"process"`
	Version string    `json:"version"`
	State   State     `json:"state"`
	Started time.Time `json:"started"`
	// URL is the address of this replica itself, as far as it is known.
	URL  string `json:"url,omitempty"`
	Load Load   `json:"load"`
	// UserConnections counts the connections of users that have many of them to this
	// replica.
	UserConnections map[string]int `json:"crowds,omitempty"`
	// ReadsPacks says that the replica can read packed sessions.
	ReadsPacks bool `json:"readsPacks,omitempty"`
	// ReadsCold says that the replica can read sessions that were moved out of the store.
	ReadsCold bool `json:"readsCold,omitempty"`
}

// Load is the load of a replica.
type Load struct {
	// Owned and Followed count sessions, Tabs the connections attached to them on this
	// replica.
	Owned    int `json:"owned"`
	Followed int `json:"followed"`
	Tabs     int `json:"tabs"`
	// Agents counts the agents that run on this replica; AgentLimit bounds those of all
	// replicas.
	Agents     int `json:"agents"`
	AgentLimit int `json:"agentLimit"`
}

func (c Card) encode() []byte {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings, numbers and times can always be marshaled
	}
	return data
}

// readCard decodes the card of a replica. If the card is unreadable, only the id is set.
func readCard(r store.Replica) Card {
	var c Card
	if err := json.Unmarshal(r.Card, &c); err != nil {
		c = Card{}
	}
	c.ID = r.ID
	return c
}

// Order is a state that an admin orders a replica to take.
type Order string

// The orders.
const (
	OrderDrain Order = "drain"
	OrderServe Order = "serve"
)

// ReplicaOrder is an order for one process. Two orders with the same id are the same order.
type ReplicaOrder struct {
	ID    string `json:"id"`
	Order Order  `json:"order"`
	// Process is set by [Membership.Order].
	Process string `json:"process"`
}

func readOrder(data []byte) (ReplicaOrder, error) {
	var w ReplicaOrder
	if err := json.Unmarshal(data, &w); err != nil {
		return w, fmt.Errorf("decode replica order: %w", err)
	}
	return w, nil
}
