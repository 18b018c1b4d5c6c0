package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/everdesk/everdesk/wire"
)

// Everything that is counted. docs/OPERATIONS.md lists the same names.
var (
	descSessions    = describe("sessions", "Sessions that are loaded, by what they are up to.", "state")
	descConnections = describe("connections", "Streaming connections that are open.")
	descAgents      = describe("agents", "Agents of the sessions that are owned here.", "kind", "state")
	descInUse       = describe("limiter_in_use", "Agents of this replica that have a slot.")
	descLimit       = describe("limiter_limit", "Agents that may run at once, over all replicas.")
	descQueue       = describe("queue_depth", "What waits in the sessions that are owned here.", "kind")
	descPending     = describe("hitl_pending", "Questions that wait for a person.", "kind")
	descOldest      = describe("hitl_oldest_seconds", "For how long the question has waited that waits longest.")
	descDraining    = describe("draining", "1 while this replica hands its sessions over.")
	descBuild       = describe("build_info", "Always 1; the labels say what runs.", "version", "replica")

	descAppend   = describe("append_seconds", "How long commits to the log took, tries that failed included.")
	descDelay    = describe("event_delay_seconds", "From when this replica knew that events were committed until they were written to a group of up to 128 sockets.")
	descBegin    = describe("accept_to_begin_seconds", "From when a message was taken until its agent had a slot and a model.")
	descTakeover = describe("takeover_seconds", "From when a session had no owner, as far as this replica knew, until it was owned here.")
	descReplayed = describe("replayed_events", "Events that clients had missed and were sent when they came back.")
	descWait     = describe("hitl_wait_seconds", "How long questions waited until they were answered or closed.")
	descRTT      = describe("store_rtt_seconds", "How long the store took to answer a small question.")

	descEvents     = describe("events_total", "Events committed.")
	descDeliveries = describe("deliveries_total", "Events written to sockets.")
	descFenced     = describe("fenced_total", "Sessions that this replica took for its own when they were not any more.")
	descResumes    = describe("resume_total", "Clients that were greeted: with what they had missed or with the whole state, and why.", "result", "reason")
	descSlow       = describe("slow_total", "Tabs that were given up because they were too slow.")
	descRepeated   = describe("dup_messages_total", "Messages that came again and had no second effect.")
	descErrors     = describe("redis_errors_total", "Calls that Redis did not carry out after all tries.", "kind")
	descCloses     = describe("ws_closes_total", "WebSockets that ended, by close code.", "code")
	descLimited    = describe("rate_limited_total", "Refusals because somebody did something too often, by limit.", "limit")
	descTokens     = describe("tokens_total", "Tokens that models read and wrote.", "kind")
	descCost       = describe("cost_dollars_total", "What models cost in US dollars, as far as they say.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("everdesk_"+name, help, labels, nil)
}

// other is the value of a label for all that is not known.
const other = "other"

// What the label state of sessions says.
const (
	stateWorking  = "working"
	stateWaiting  = "waiting"
	stateStalled  = "stalled"
	stateStuck    = "stuck"
	stateIdle     = "idle"
	stateFollowed = "followed"
)

// What the label state of agents says.
const (
	agentRunning = "running"
	agentWaiting = "waiting"
)

// What the label kind of queues and of questions says.
const (
	queueMain    = "main"
	queueWindow  = "window"
	queueMailbox = "mailbox"

	askApproval = "approval"
	askPrompt   = "prompt"
	askPlan     = "plan"
)

// What the label kind of tokens says.
const (
	tokenInput      = "input"
	tokenOutput     = "output"
	tokenCacheRead  = "cache_read"
	tokenCacheWrite = "cache_write"
)

// What the labels of greetings say. A client that is sent what it missed has no
// reason but that its position is known.
const (
	resumeTail     = "tail"
	resumeSnapshot = "snapshot"
	reasonPosition = "position"
)

// The values of labels that others name.
var (
	tokens  = []string{tokenInput, tokenOutput, tokenCacheRead, tokenCacheWrite}
	reasons = []string{
		string(wire.SnapshotFresh), string(wire.SnapshotTooMany), string(wire.SnapshotTrimmed), string(wire.SnapshotUnknown),
	}
	failures = []string{"unavailable", "no_space", "corrupt", "refused", "timeout"}
	limits   = []string{
		"connects", "resumes", "strangers", "connections", "sessions", "messages", "interactions", "renewals",
		"requests", "reads", "answers",
	}
)

// Bounds of the histograms. A commit to a file takes tens of microseconds; a person
// takes hours.
var (
	fastBounds  = []float64{25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	slowBounds  = []float64{1e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 30, 60, 300}
	humanBounds = []float64{1, 5, 15, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}
	countBounds = []float64{0, 1, 5, 10, 50, 100, 250, 500, 1000}
)
