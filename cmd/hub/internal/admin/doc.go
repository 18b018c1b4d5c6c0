// Package admin has the commands for operators of all hubs that share a store: `hub admin`, `hub
// replicas` and `hub drain`. They use the admin API of one running hub.
package admin
