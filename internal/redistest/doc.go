// Package redistest starts real Redis servers for tests and benchmarks: one
// server, a master with a replica under three Sentinels, the same with replication
// that is late ([SentinelOver]), or a Cluster.
//
// It owns every process it starts: servers listen on free loopback ports, keep
// their files in the test's temporary folder and are killed when the test ends.
// Test code of any package may call it from the test's goroutine; a [Server] may
// be killed, stopped and restarted from any goroutine, one call at a time. Every
// wait is bounded; a server that does not come up in time fails the test with
// the end of its log. It refuses to go on without the redis-server program: a
// test that is skipped quietly protects nobody.
package redistest
