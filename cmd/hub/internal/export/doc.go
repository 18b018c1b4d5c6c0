// Package export has `hub export` and `hub import`, which transfer a session between a running hub
// and a file.
package export
