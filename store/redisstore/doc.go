// Package redisstore keeps sessions in Redis 7.0 or newer: one server, one
// behind Sentinel, or a Cluster.
package redisstore
