package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	redislog "github.com/redis/go-redis/v9/logging"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

func main() {
	if code, ok := runWorker(os.Args); ok {
		os.Exit(code)
	}
	redislog.Disable() // go-redis would write to stderr directly; the store reports its errors
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stop := context.WithCancelCause(context.Background())
	go func() { // ends with the process
		stop(fmt.Errorf("signal: %v", <-signals))
		<-signals
		os.Exit(command.ExitFailure)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
}
