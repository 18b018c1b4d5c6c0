// Package aguitest is an AG-UI client for tests: it takes the events of runs as the clients of npm
// do, and refuses what they refuse.
package aguitest
