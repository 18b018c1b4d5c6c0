package membership

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// State is what a replica does.
type State string

// The states of a replica.
const (
	// Serving takes everybody.
	Serving State = "serving"
	// Draining hands its sessions over and sends its tabs away.
	Draining State = "draining"
	// Drained has neither any more.
	Drained State = "drained"
)

// Card is what a replica says of itself.
type Card struct {
	ID wire.ReplicaID `json:"id"`
	// Process tells this life of the replica from others under the same name.
	Process string    `json:"process"`
	Version string    `json:"version"`
	State   State     `json:"state"`
	Started time.Time `json:"started"`
	// URL is where this very replica answers, as far as it knows.
	URL  string `json:"url,omitempty"`
	Load Load   `json:"load"`
	// UserConnections are the users who have many connections there, and how many.
	UserConnections map[string]int `json:"crowds,omitempty"`
}

// Load is how much a replica has to do.
type Load struct {
	// Owned and Followed are sessions, Tabs those who watch them here.
	Owned    int `json:"owned"`
	Followed int `json:"followed"`
	Tabs     int `json:"tabs"`
	// Agents run here; AgentLimit is how many may run everywhere.
	Agents     int `json:"agents"`
	AgentLimit int `json:"agentLimit"`
}

func (c Card) encode() []byte {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings, numbers and times always have a JSON form
	}
	return data
}

// readCard reads what a replica says of itself. Of one whose card cannot be read
// only the name is known.
func readCard(r store.Replica) Card {
	var c Card
	if err := json.Unmarshal(r.Card, &c); err != nil {
		c = Card{}
	}
	c.ID = r.ID
	return c
}

// Order is what an admin wants of a replica.
type Order string

// The orders.
const (
	OrderDrain Order = "drain"
	OrderServe Order = "serve"
)

// ReplicaOrder is an order for one process. The same id again is the same order.
type ReplicaOrder struct {
	ID    string `json:"id"`
	Order Order  `json:"order"`
	// Process is filled in by [Fleet.Order].
	Process string `json:"process"`
}

func readOrder(data []byte) (ReplicaOrder, error) {
	var w ReplicaOrder
	if err := json.Unmarshal(data, &w); err != nil {
		return w, fmt.Errorf("read a wish: %w", err)
	}
	return w, nil
}
