package redistest

import "github.com/redis/go-redis/v9/logging"

// Dialing is the go-redis function in which the pool of an unreachable server checks
// whether it is back. It may sleep for up to a second after the client was closed, so
// goroutine leak checks must ignore it.
const Dialing = "github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"

// Quiet stops go-redis from logging unreachable servers to standard error, which is the
// normal case in these tests. It affects the whole program and is meant for TestMain.
func Quiet() { logging.Disable() }
