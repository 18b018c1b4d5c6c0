package session

import (
	"context"
	"time"

	"github.com/everdesk/everdesk/wire"
)

// Status is how a session that is owned here is doing.
type Status struct {
	ID    wire.SessionID
	User  string
	Title string
	Epoch uint64
	// Top is the position of the newest event, and Updated when it was written.
	Top     wire.Position
	Updated time.Time
	// Tabs are those of all replicas.
	Tabs     int
	Monitors int
	Windows  int
	// Agents are those that run, Queued the messages that wait for one, and
	// Questions those that wait for a person.
	Agents    int
	Queued    int
	Questions int
	// Budget is how much of the fullest one is used, in per cent.
	Budget int
	// Errors counts the turns that failed since the session was loaded, and
	// LastError is the code of the last one.
	Errors    int
	LastError wire.Code
	// Tokens and Cost, in US dollars, are those of the turns that ended since then.
	Tokens int64
	Cost   float64
	// Working says that it may not be left without an owner.
	Working bool
	// Stuck says that it did not answer in time. Then the rest is what it said
	// the last time, if it did, and Doing the name of what it is in, for that long.
	Stuck bool
	Doing string
	For   time.Duration
}

// Census asks all sessions that are owned here how they are doing, at once.
func (h *Hub) Census(context.Context) []Status { return nil }
