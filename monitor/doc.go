// Package monitor watches: it puts together what all replicas know of their sessions,
// for whoever looks.
package monitor
