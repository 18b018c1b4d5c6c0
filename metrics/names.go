package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/everdesk/everdesk/wire"
)

// All metrics. docs/OPERATIONS.md lists the same names.
var (
	descSessions    = describe("sessions", "Loaded sessions, by state.", "state")
	descConnections = describe("connections", "Open streaming connections.")
	descAgents      = describe("agents", "Agents of the sessions that this replica owns.", "kind", "state")
	descInUse       = describe("limiter_in_use", "Agents of this replica that hold a slot.")
	descLimit       = describe("limiter_limit", "Agents that may run at once, over all replicas.")
	descQueue       = describe("queue_depth", "Waiting messages of the sessions that this replica owns.", "kind")
	descPending     = describe("hitl_pending", "Questions that wait for a user.", "kind")
	descOldest      = describe("hitl_oldest_seconds", "Age of the oldest question that waits for a user.")
	descDraining    = describe("draining", "1 while this replica drains.")
	descBuild       = describe("build_info", "Always 1; the labels have the version and the replica.", "version", "replica")

	descAppend   = describe("append_seconds", "Duration of commits to the log, including failed attempts.")
	descDelay    = describe("event_delay_seconds", "Time from the known commit of events until they were written to a batch of up to 128 sockets.")
	descBegin    = describe("accept_to_begin_seconds", "Time from accepting a message until its agent had a slot and a model.")
	descTakeover = describe("takeover_seconds", "Time from noticing that a session has no owner until this replica owned it.")
	descReplayed = describe("replayed_events", "Missed events sent to a client that resumed.")
	descWait     = describe("hitl_wait_seconds", "Time until questions were answered or closed.")
	descRTT      = describe("store_rtt_seconds", "Round-trip time of a small store request.")

	descEvents     = describe("events_total", "Events committed.")
	descDeliveries = describe("deliveries_total", "Events written to sockets.")
	descFenced     = describe("fenced_total", "Sessions whose lease this replica had lost when it wrote (fenced).")
	descResumes    = describe("resume_total", "Clients attached, by result (missed events or a snapshot) and reason.", "result", "reason")
	descSlow       = describe("slow_total", "Tabs closed because they were too slow.")
	descRepeated   = describe("dup_messages_total", "Repeated messages, which had no second effect.")
	descErrors     = describe("redis_errors_total", "Redis calls that failed after all retries.", "kind")
	descCooled     = describe("sessions_cooled_total", "Unused sessions moved from Redis to the storage of files.")
	descWarmed     = describe("session_warm_seconds", "Time to move a session back to Redis.")
	descColdFailed = describe("cold_errors_total", "Cold sessions or their objects that could not be moved, read or removed.", "kind")
	descCloses     = describe("ws_closes_total", "Closed WebSockets, by close code.", "code")
	descLimited    = describe("rate_limited_total", "Requests, messages and connections refused by a limit, by limit.", "limit")
	descTokens     = describe("tokens_total", "Tokens read and written by models.", "kind")
	descCost       = describe("cost_dollars_total", "Cost of model calls in US dollars, as reported by the providers.")
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("everdesk_"+name, help, labels, nil)
}

// other is the label value for everything that is not a known value.
const other = "other"

// Values of the label state of sessions.
const (
	stateWorking  = "working"
	stateWaiting  = "waiting"
	stateStalled  = "stalled"
	stateStuck    = "stuck"
	stateIdle     = "idle"
	stateFollowed = "followed"
)

// Values of the label state of agents.
const (
	agentRunning = "running"
	agentWaiting = "waiting"
)

// Values of the label kind of queues and of questions.
const (
	queueMain    = "main"
	queueWindow  = "window"
	queueMailbox = "mailbox"

	askApproval = "approval"
	askPrompt   = "prompt"
	askPlan     = "plan"
)

// Values of the label kind of tokens.
const (
	tokenInput      = "input"
	tokenOutput     = "output"
	tokenCacheRead  = "cache_read"
	tokenCacheWrite = "cache_write"
)

// Values of the labels of resume_total. A client that gets missed events has the reason that its
// position is known.
const (
	resumeTail     = "tail"
	resumeSnapshot = "snapshot"
	reasonPosition = "position"
)

// Values of labels that other packages define.
var (
	tokens  = []string{tokenInput, tokenOutput, tokenCacheRead, tokenCacheWrite}
	reasons = []string{
		string(wire.SnapshotFresh), string(wire.SnapshotTooMany), string(wire.SnapshotTrimmed), string(wire.SnapshotUnknown),
	}
	failures     = []string{"unavailable", "no_space", "corrupt", "refused", "timeout"}
	coldFailures = []string{"cool", "remove", "missing", "damaged", "unavailable"}
	limits       = []string{
		"connects", "resumes", "strangers", "connections", "sessions", "messages", "interactions", "renewals",
		"requests", "reads", "probes", "answers",
	}
)

// Bounds of the histograms. A commit to a file takes tens of microseconds; an answer of a user may
// take hours.
var (
	fastBounds  = []float64{25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	slowBounds  = []float64{1e-3, 5e-3, 10e-3, 25e-3, 50e-3, 0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 30, 60, 300}
	humanBounds = []float64{1, 5, 15, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}
	countBounds = []float64{0, 1, 5, 10, 50, 100, 250, 500, 1000}
)
