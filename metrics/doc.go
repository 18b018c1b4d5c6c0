// Package metrics measures: it counts what the hub does, for Prometheus and for the
// admin monitor.
package metrics

import _ "github.com/prometheus/client_golang/prometheus/promhttp" // until it is used
