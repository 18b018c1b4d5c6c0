// Package metrics counts what a hub does, for Prometheus and for the admin monitor.
//
// # What it owns
//
// The names of everything that is counted (names.go), the counters and histograms, and
// a registry of its own: hubs in one process do not share anything. Packages that do
// the work do not know of it. Each declares an interface of what it tells, which
// [*Metrics] satisfies; what can be asked for at any time, such as how many tabs there
// are, is asked when somebody looks, see [Metrics.SetLevels].
//
// # Who may call it
//
// Any goroutine, at any time, also in the middle of a commit: to count is one or two
// atomic additions and allocates nothing.
//
// # When it is slow or stops
//
// It has no goroutine and never waits. A scrape takes as long as the levels take to be
// asked for; no more than a few scrapes run at once, others get 503.
//
// # What it refuses
//
// Labels that grow. Every value of a label is known when the hub starts; what is not
// among them counts as "other". Sessions, users, agents and addresses are never labels:
// they are for the admin monitor.
package metrics
