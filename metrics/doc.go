// Package metrics counts the events of a hub, for Prometheus and for the admin view.
//
// # What it owns
//
// The names of all metrics (names.go), the counters and histograms, and a registry of its
// own: hubs in one process share nothing. The packages that report do not import it. Each
// declares an interface of what it reports, which [*Metrics] implements; gauges, such as
// the number of tabs, are read when a scrape needs them, see [Metrics.SetLevels].
//
// # Concurrency
//
// All methods may be called from any goroutine, also during a commit: counting is one or
// two atomic additions and allocates nothing.
//
// # Blocking
//
// It has no goroutine and never blocks. A scrape takes as long as reading the gauges; only
// a few scrapes run at once, and others get 503.
//
// # Labels
//
// Labels are bounded. Every value of a label is known when the hub starts; an unknown value
// counts as "other". Sessions, users, agents and addresses are never labels: they are in
// the admin view.
package metrics
