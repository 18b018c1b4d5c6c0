package adminview

import "github.com/everdesk/everdesk/wire"

// Status is the state of a session, as admins see it.
type Status string

// The statuses, in order of precedence: a session has the first that applies.
const (
	// Quarantined sessions have data that the hub cannot read.
	Quarantined Status = "quarantined"
	// Stuck sessions do not answer their own hub, or the hub that uses them cannot own
	// them.
	Stuck Status = "stuck"
	// Orphaned sessions have work and no owner.
	Orphaned Status = "orphaned"
	// Waiting sessions wait for an answer of the user.
	Waiting Status = "waiting"
	// Stalled sessions have work, and agents that have produced no output for a while.
	Stalled Status = "stalled"
	// Working sessions have running agents or queued messages.
	Working Status = "working"
	// Idle sessions are loaded and have nothing to do.
	Idle Status = "idle"
	// Dormant sessions are in the store only.
	Dormant Status = "dormant"
)

// Row is a session in the table of all sessions.
type Row struct {
	SessionID wire.SessionID `json:"sessionId"`
	User      string         `json:"user"`
	Title     string         `json:"title,omitempty" doc:"Left out for users who may not see content."`
	Status    Status         `json:"status" doc:"quarantined, stuck, orphaned, waiting, stalled, working, idle or dormant: the first that fits."`
	Doing     string         `json:"doing,omitempty" doc:"The command that a stuck session is in; claim if no replica can own it, closed if it failed too often and stays closed for a while."`
	DoingMS   int64          `json:"doingMs,omitempty" doc:"For how long."`
	Owner     wire.ReplicaID `json:"owner,omitempty" doc:"The replica that runs it, or did when its lease ran out."`
	Epoch     uint64         `json:"epoch" doc:"Grows with every owner."`
	Top       wire.Position  `json:"top,omitzero" doc:"The position of its newest event."`
	Tabs      int            `json:"tabs" doc:"Connections that watch it, at all replicas."`
	Monitors  int            `json:"monitors"`
	Windows   int            `json:"windows"`
	Agents    int            `json:"agents" doc:"Agents that run now."`
	Queued    int            `json:"queued" doc:"Messages that wait."`
	Questions int            `json:"questions" doc:"Approvals, prompts and questions of plans that wait for a person."`
	Budget    int            `json:"budget" doc:"How much of the fullest budget is used, in per cent."`
	Errors    int            `json:"errors" doc:"Turns that failed since it was loaded."`
	LastError string         `json:"lastError,omitempty" doc:"The code of the last one, such as 4001."`
	Tokens    int64          `json:"tokens" doc:"Those that models read and wrote since it was loaded."`
	Cost      float64        `json:"cost,omitempty" doc:"In US dollars, as far as models say."`
	CreatedAt wire.Millis    `json:"createdAt"`
	UpdatedAt wire.Millis    `json:"updatedAt" doc:"When its newest event was written."`
	Reason    string         `json:"reason,omitempty" doc:"Why it is quarantined."`
}

// Replica is one hub process.
type Replica struct {
	ID         wire.ReplicaID `json:"id"`
	State      string         `json:"state" doc:"serving, draining or drained."`
	Version    string         `json:"version,omitempty"`
	URL        string         `json:"url,omitempty"`
	StartedAt  wire.Millis    `json:"startedAt"`
	Owned      int            `json:"owned"`
	Followed   int            `json:"followed"`
	Tabs       int            `json:"tabs"`
	Agents     int            `json:"agents"`
	AgentLimit int            `json:"agentLimit"`
	Self       bool           `json:"self,omitempty"`
	Sample     Sample         `json:"sample" doc:"What it measured last; zero while it has not said."`
	SampledAt  wire.Millis    `json:"sampledAt,omitempty"`
}

// Sample holds the measurements of one replica. Rates are of the last second.
type Sample struct {
	Events        float64 `json:"events" doc:"Events committed in a second."`
	Deliveries    float64 `json:"deliveries" doc:"Events written to sockets in a second."`
	AppendP50     float64 `json:"appendP50" doc:"Of the commits of the last second, in seconds."`
	AppendP99     float64 `json:"appendP99"`
	StoreRTT      float64 `json:"storeRtt" doc:"How long the store took to answer last, in seconds."`
	Agents        int     `json:"agents" doc:"Agents that run there."`
	Queued        int     `json:"queued"`
	Questions     int     `json:"questions"`
	Takeovers     uint64  `json:"takeovers" doc:"Since it was started."`
	Fenced        uint64  `json:"fenced" doc:"Leases lost to another replica, since it was started."`
	Slow          uint64  `json:"slow" doc:"Tabs closed because they were too slow, since it was started."`
	RateLimited   uint64  `json:"rateLimited" doc:"Refusals by rate limits, since it was started."`
	StoreErrors   uint64  `json:"storeErrors" doc:"Since it was started."`
	Goroutines    int     `json:"goroutines"`
	ResidentBytes uint64  `json:"residentBytes"`
}

// Totals are sums over all replicas.
type Totals struct {
	Sessions  int            `json:"sessions"`
	ByStatus  map[Status]int `json:"byStatus"`
	Tabs      int            `json:"tabs"`
	Agents    int            `json:"agents"`
	Limit     int            `json:"limit" doc:"Agents that may run at once."`
	Queued    int            `json:"queued"`
	Questions int            `json:"questions"`
}

// Alert is a condition that needs an admin's attention.
type Alert struct {
	Kind  string `json:"kind" doc:"stuck, stalled, orphaned, quarantined, takeovers, fenced, slow, rateLimited, storeErrors, overdue, agentsFull, silentReplica or goneReplica. What replicas count is that of the last 10 minutes."`
	Count int    `json:"count"`
	// Where is the replica that the alert is about, if it is about one.
	Where wire.ReplicaID `json:"where,omitempty"`
}

// Overview is the state of all replicas at one moment.
type Overview struct {
	Time     wire.Millis `json:"time"`
	Replicas []Replica   `json:"replicas"`
	Totals   Totals      `json:"totals"`
	Alerts   []Alert     `json:"alerts"`
}

// History holds the measurements of all replicas in the last 15 minutes, as far as the
// replicas have run.
type History struct {
	Points []Point `json:"points" doc:"The oldest first, 5 seconds apart; there is none of a time when nothing was measured."`
}

// Point is a span of 5 seconds in a [History].
type Point struct {
	Time       wire.Millis `json:"time" doc:"When they began."`
	Events     float64     `json:"events" doc:"Events committed in a second, by all replicas."`
	Deliveries float64     `json:"deliveries" doc:"Events written to sockets in a second."`
	AppendP50  float64     `json:"appendP50" doc:"Of the slowest replica, in seconds."`
	AppendP99  float64     `json:"appendP99"`
	Agents     int         `json:"agents" doc:"Agents that ran."`
	Queued     int         `json:"queued" doc:"Messages that waited."`
	Takeovers  int         `json:"takeovers" doc:"Sessions taken over in these 5 seconds."`
}

// Rows is a change of the table: new or changed rows, and the ids of removed ones. Full
// starts a complete table, which ends with the first update that does not have More set.
type Rows struct {
	Full bool             `json:"full,omitempty"`
	More bool             `json:"more,omitempty"`
	Rows []Row            `json:"rows,omitempty"`
	Gone []wire.SessionID `json:"gone,omitempty"`
}

// Detail is everything known about one session.
type Detail struct {
	Row Row `json:"row"`
	// Known is set if the owner reported the detail; otherwise it is read from the store.
	Known    bool      `json:"known"`
	Monitors []Monitor `json:"monitors"`
	Agents   []Agent   `json:"agents"`
	Windows  []Window  `json:"windows"`
	Asks     []Ask     `json:"asks"`
	Tabs     []Tab     `json:"tabs"`
	Owners   []Owner   `json:"owners" doc:"The newest first, as far back as the log goes."`
	Messages []Message `json:"messages" doc:"The newest of the ledger first."`
}

// Monitor is a monitor of a session, with its queue.
type Monitor struct {
	ID     wire.MonitorID `json:"id"`
	Name   string         `json:"name,omitempty"`
	Queue  []Queued       `json:"queue"`
	Budget Budget         `json:"budget"`
}

// Queued is a queued message.
type Queued struct {
	MessageID wire.MessageID `json:"messageId"`
	Place     int            `json:"place"`
	Since     wire.Millis    `json:"since,omitempty"`
	WindowID  wire.WindowID  `json:"windowId,omitempty"`
	Text      string         `json:"text,omitempty" doc:"Left out for users who may not see content."`
}

// Budget is the use of a background monitor's budget.
type Budget struct {
	Bounded bool `json:"bounded" doc:"Whether it is a monitor in the background now."`
	Used    int  `json:"used" doc:"In per cent."`
}

// Agent is a running or persistent agent.
type Agent struct {
	ID        wire.AgentID     `json:"id"`
	Kind      wire.AgentKind   `json:"kind"`
	Parent    wire.AgentID     `json:"parent,omitempty" doc:"Whose task it does."`
	MonitorID wire.MonitorID   `json:"monitorId,omitempty"`
	WindowID  wire.WindowID    `json:"windowId,omitempty"`
	Status    wire.AgentStatus `json:"status"`
	Provider  string           `json:"provider,omitempty"`
	MessageID wire.MessageID   `json:"messageId,omitempty"`
	Tool      string           `json:"tool,omitempty"`
	StartedAt wire.Millis      `json:"startedAt,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
}

// Window is an open window.
type Window struct {
	ID        wire.WindowID  `json:"id"`
	MonitorID wire.MonitorID `json:"monitorId"`
	Title     string         `json:"title,omitempty" doc:"Left out for users who may not see content."`
	Renderer  string         `json:"renderer,omitempty"`
	LockedBy  wire.AgentID   `json:"lockedBy,omitempty"`
}

// Ask is a question that waits for the user.
type Ask struct {
	ID       string       `json:"id"`
	Kind     string       `json:"kind" doc:"approval, prompt or plan."`
	AgentID  wire.AgentID `json:"agentId,omitempty"`
	Deadline wire.Millis  `json:"deadline,omitempty"`
	Title    string       `json:"title,omitempty" doc:"Left out for users who may not see content."`
}

// Tab is a connection that follows the session.
type Tab struct {
	ConnectionID wire.ConnectionID `json:"connectionId"`
	ClientID     wire.ClientID     `json:"clientId,omitempty"`
	User         string            `json:"user,omitempty"`
	Replica      wire.ReplicaID    `json:"replica"`
	Monitors     []wire.MonitorID  `json:"monitors,omitempty"`
	Since        wire.Millis       `json:"since,omitempty"`
	Lag          uint64            `json:"lag" doc:"Events that it has not been given yet."`
	Form         string            `json:"form,omitempty" doc:"What it speaks."`
}

// Owner is a replica that owned the session.
type Owner struct {
	Replica wire.ReplicaID `json:"replica"`
	Epoch   uint64         `json:"epoch"`
	At      wire.Millis    `json:"at"`
}

// Message is a message in the session's ledger.
type Message struct {
	MessageID wire.MessageID `json:"messageId"`
	Time      wire.Millis    `json:"time"`
	Verdict   string         `json:"verdict" doc:"accepted, queued, rejected and the like."`
	State     string         `json:"state,omitempty" doc:"What became of it: waiting, running or ended; absent when it was for no agent, or its owner has not reported it."`
	Code      wire.Code      `json:"code,omitempty"`
	AgentID   wire.AgentID   `json:"agentId,omitempty"`
}
