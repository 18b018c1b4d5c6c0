package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/metrics"
	"github.com/everdesk/everdesk/wire"
)

// openTimeout is the timeout for opening the store: long enough for a Redis that is just
// starting, short enough for a user who waits for the hub.
const openTimeout = 15 * time.Second

// serve runs the hub until ctx ends.
func serve(ctx context.Context, p command.Call) error {
	var wrong command.UsageErrors
	flags, rest := parseFlags(p.Args, &wrong)
	wrong.Refuse(rest)
	cfg, all := load(flags, p.Environ, &wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	replica := cmp.Or(cfg.replica, wire.ReplicaID(rand.Text()))
	log := cfg.logging.logger(p.Stderr).With("replica", replica)
	for _, e := range all {
		if e.kind != "" && e.kind != cfg.store.kind && e.where != "default" {
			log.WarnContext(ctx, "setting has no effect with this store", "setting", e.name, "from", e.where)
		}
	}
	setMemoryLimits(p.Environ, os.DirFS("/"))
	return host(ctx, cfg, replica, log, p.Stdout)
}

// host opens the store and the listeners, serves until ctx ends, and closes everything in reverse
// order.
func host(ctx context.Context, cfg config, replica wire.ReplicaID, log *slog.Logger, stdout io.Writer) (err error) {
	// The store counts from its opening.
	counters := metrics.New(metrics.Config{Version: version(), Replica: replica, Logger: log})
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	store, err := cfg.store.observed(counters).open(opening, log)
	if err != nil {
		return unlessStopping(ctx, err)
	}
	defer func() { err = errors.Join(err, wrapClose("store", store.close)) }()
	ports, err := listen(ctx, cfg)
	if err != nil {
		return unlessStopping(ctx, err)
	}
	p := process{replica: replica, addr: ports.hub.Addr(), metrics: counters, log: log}
	if ports.admin != nil {
		p.admin = ports.admin.Addr()
	}
	h, err := build(opening, cfg, p, store)
	if err != nil {
		return errors.Join(unlessStopping(ctx, err), ports.close())
	}
	defer func() { err = errors.Join(err, wrapClose("hub", h.Close)) }()
	h.announce(ctx, cfg, p, ports, stdout)
	return h.run(ctx, ports.hub, cfg.grace, log)
}

// announce hands the separate listeners to the gateway, and prints and logs the addresses. All
// listeners are open already: a client that reads the line and connects immediately is not refused.
func (h *App) announce(ctx context.Context, cfg config, p process, ports listeners, stdout io.Writer) {
	if ports.apps != nil {
		h.server.SetAppsListener(ports.apps)
		p.log.InfoContext(ctx, "serving apps", "addr", ports.apps.Addr())
	}
	if ports.admin != nil {
		h.server.SetAdminListener(ports.admin)
		p.log.InfoContext(ctx, "serving the admin API on its own address", "addr", p.admin)
	}
	if ports.ipc != nil {
		h.server.SetIPCListener(ports.ipc)
		p.log.InfoContext(ctx, "serving the IPC protocol of Roo-Code", "socket", cfg.ipcSocket, "user", cfg.gateway.IPCUser)
	}
	url, provider := openURL(p.addr), h.backends.Default().Name()
	fmt.Fprintf(stdout, "Everdesk is running: %s\n", h.entryURL(url))
	if ports.admin != nil {
		fmt.Fprintf(stdout, "The monitor is at %s/admin\n", openURL(p.admin))
	}
	fmt.Fprintf(stdout, "Answers come from %s: %s.\n", provider, h.defaultReason)
	p.log.InfoContext(ctx, "hub is running", "url", url, "addr", p.addr, "version", version(), "auth", cfg.auth.Mode,
		"provider", provider, "because", h.defaultReason)
}

func wrapClose(what string, shut func() error) error {
	if err := shut(); err != nil {
		return fmt.Errorf("close %s: %w", what, err)
	}
	return nil
}

// unlessStopping returns err, or nil if ctx has ended: a signal interrupted the start.
func unlessStopping(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}
