// Package health has `hub health`, which checks whether a running hub is up.
package health
