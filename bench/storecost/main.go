//go:build linux

// Command storecost measures what each operation of the Redis store costs a Redis
// server: CPU time and bytes. docs/SCALE.md computes from its table how many
// sessions a Redis master can hold.
//
//	go -C bench run ./storecost
//
// It starts a Redis server of its own, opens 16 stores as 16 replicas would, and
// runs every operation on 512 sessions, one kind at a time. Redis itself counts
// (INFO cpu, INFO commandstats), so the stores' own CPU time is not included. Each
// figure is the lowest of five rounds, because other processes can only add to it.
// It takes one to two minutes; an interrupt stops the server as well.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/everdesk/everdesk/bench/rig"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "storecost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "everdesk-storecost-")
	if err != nil {
		return fmt.Errorf("create a folder for Redis: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, url, err := rig.StartRedis(ctx, dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	costs, err := measure(ctx, url, fullEffort())
	if err != nil {
		return err
	}
	printCosts(os.Stdout, costs)
	return nil
}
