// Package redistest starts real Redis servers for tests and benchmarks: one server, a master
// with a replica under three Sentinels, the same with delayed replication ([SentinelOver]), or
// a Cluster.
//
// The package owns every process it starts: servers listen on free loopback ports, keep their
// files in the test's temporary folder and are killed when the test ends. Call it from the
// test's goroutine; a [Server] may be killed, stopped and restarted from any goroutine, one
// call at a time. Every wait is bounded; a server that does not start in time fails the test
// with the end of its log. A missing redis-server program fails the test: a silent skip would
// protect nothing.
package redistest
