//go:build linux

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// op is something a hub asks of Redis.
type op int

// What hubs ask of Redis. Names in costs.json are those of String.
const (
	opClaim    op = iota // a session that is free
	opOwned              // a claim that is refused
	opRenew              // a lease
	opRelease            // a lease
	opLoad               // all tables and lists, two round trips
	opInfo               // look one session up
	opReceive            // look into an empty inbox
	opSend               // put a command into an inbox
	opCommit             // one event and two fields, a transaction of its own
	opCommit8            // eight events, the same
	opCommit64           // 64 events, the same
	opBatched            // opCommit as one of many in a transaction
	opPublish            // what a follower adds to a commit
	opRead               // a log that has nothing new
	opTail               // begin and end to follow: subscribe, read, unsubscribe
	opCheck              // is a follower where the log is; many in a pipeline
	opSweep              // look for work without an owner in all partitions
	opSlot               // renew the slot of a running agent
	opSlotTurn           // take a slot and give it back
	opQuota              // count a connect
	opFleet              // say that a replica is alive and read who else is, of a hundred
	ops
)

// String implements fmt.Stringer.
func (o op) String() string {
	return [ops]string{
		"claim", "claim refused", "renew", "release", "load", "look up", "inbox poll", "send", "commit", "commit of 8",
		"commit of 64", "commit batched", "publish", "read", "tail", "position check", "sweep", "slot renew",
		"slot taken and given", "connect count", "fleet round",
	}[o]
}

// cost is what one operation costs a Redis.
type cost struct {
	Op string `json:"op"`
	// CPU is what the process has computed for it, in µs, everything included.
	CPU float64 `json:"cpu_us"`
	// Exec is the part of it that Redis itself counts as executing commands.
	Exec float64 `json:"exec_us"`
	// In and Out are bytes that Redis has read and written.
	In  float64 `json:"in_bytes"`
	Out float64 `json:"out_bytes"`
	// Commands is how often each command was called, those in scripts included.
	Commands map[string]float64 `json:"commands"`
}

// costs are all of them.
type costs struct {
	// Measured says with which command, when and where.
	Measured string `json:"measured"`
	Costs    []cost `json:"costs"`
}

//go:embed costs.json
var costsFile []byte

// readCosts reads what was measured. Every operation must be there.
func readCosts(file []byte) ([ops]cost, error) {
	var all costs
	var table [ops]cost
	if err := json.Unmarshal(file, &all); err != nil {
		return table, fmt.Errorf("read the measured costs: %w", err)
	}
	byName := map[string]cost{}
	for _, c := range all.Costs {
		byName[c.Op] = c
	}
	for o := range ops {
		c, ok := byName[o.String()]
		if !ok || c.CPU <= 0 {
			return table, fmt.Errorf("read the measured costs: no figure for %q: run the subcommand measure", o)
		}
		table[o] = c
	}
	return table, nil
}
