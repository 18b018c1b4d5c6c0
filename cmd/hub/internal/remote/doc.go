// Package remote finds a running hub and sends REST requests to it.
package remote
