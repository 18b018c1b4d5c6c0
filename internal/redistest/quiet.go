package redistest

import "github.com/redis/go-redis/v9/logging"

// Quiet stops the client library from writing to standard error that servers are
// not there, which is what most tests here are about. It is for TestMain: it holds
// for the whole program.
func Quiet() { logging.Disable() }
