package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/wire"
)

// openTimeout is how long a store may take to open: long enough for a Redis
// that is just starting, short enough for whoever waits for the hub.
const openTimeout = 15 * time.Second

// serve runs the hub until ctx ends.
func serve(ctx context.Context, p program) error {
	var wrong complaints
	flags, rest := parseFlags(p.args, &wrong)
	refuse(rest, &wrong)
	cfg, all := load(flags, p.environ, &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	if cfg.replica == "" {
		cfg.replica = wire.ReplicaID(rand.Text())
	}
	log := cfg.logging.logger(p.stderr).With("replica", cfg.replica)
	for _, e := range all {
		if e.kind != "" && e.kind != cfg.store.kind && e.where != "default" {
			log.WarnContext(ctx, "setting means nothing to this store", "setting", e.name, "from", e.where)
		}
	}
	return host(ctx, cfg, log, p.stdout)
}

// host opens the store and the door, and closes them in the other order.
func host(ctx context.Context, cfg config, log *slog.Logger, stdout io.Writer) (err error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	store, err := cfg.store.open(opening, log)
	if err != nil {
		return unlessTold(ctx, err)
	}
	defer func() {
		if cerr := store.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close store: %w", cerr))
		}
	}()
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", cfg.addr)
	if err != nil {
		return unlessTold(ctx, fmt.Errorf("listen on %s: %w", cfg.addr, innermost(err)))
	}
	server := gateway.New(gateway.Config{Version: version()}, log, gateway.Deps{Store: store})
	// The address is open already: a client that reads this line and connects
	// at once is answered.
	url := openURL(ln.Addr())
	fmt.Fprintf(stdout, "Everdesk is running: %s\n", url)
	log.InfoContext(ctx, "hub is running", "url", url, "addr", ln.Addr(), "version", version())
	if !isLoopback(ln.Addr()) {
		log.WarnContext(ctx, "listening beyond this machine, and there is no authentication yet: keep strangers away by other means", "addr", ln.Addr())
	}
	return answer(ctx, server, ln, cfg.grace, log)
}

// unlessTold drops the error of a start that was cut short by a signal.
func unlessTold(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// answer serves until ctx ends and then lets running requests end.
//
// Ownership: it starts one goroutine and returns only after that has ended.
func answer(ctx context.Context, server *gateway.Server, ln net.Listener, grace time.Duration, log *slog.Logger) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	served := make(chan error, 1)
	wg.Go(func() { served <- server.Serve(ln) })
	select {
	case err := <-served:
		return err // the listener broke; nobody asked for it
	case <-ctx.Done():
	}
	log.InfoContext(ctx, "stopping", "cause", context.Cause(ctx))
	server.Drain()
	soft, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := server.Shutdown(soft); err != nil {
		// Cutting the last requests is what the grace period is for.
		log.WarnContext(soft, "grace period is over", "err", err)
	}
	log.InfoContext(soft, "stopped")
	return nil
}

// innermost is the reason at the end of a chain, for messages that have said
// the rest already.
func innermost(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// openURL is what a browser on this machine can open.
func openURL(addr net.Addr) string {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		local := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}
		host = local.String()
	}
	return "http://" + host
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
