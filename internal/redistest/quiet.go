package redistest

import "github.com/redis/go-redis/v9/logging"

// Dialing is the function in which a client whose server was away looks whether it is
// back. It sleeps in it for up to a second after it was closed, so that a check for
// goroutines that are left has to leave it out.
const Dialing = "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"

// Quiet stops the client library from writing to standard error that servers are
// not there, which is what most tests here are about. It is for TestMain: it holds
// for the whole program.
func Quiet() { logging.Disable() }
