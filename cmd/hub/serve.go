package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/wire"
)

// openTimeout is the timeout for opening the store: long enough for a Redis that is just
// starting, short enough for a user who waits for the hub.
const openTimeout = 15 * time.Second

// serve runs the hub until ctx ends.
func serve(ctx context.Context, p command.Call) error {
	var wrong command.Mistakes
	flags, rest := parseFlags(p.Args, &wrong)
	wrong.Refuse(rest)
	cfg, all := load(flags, p.Environ, &wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	if cfg.replica == "" {
		cfg.replica = wire.ReplicaID(rand.Text())
	}
	log := cfg.logging.logger(p.Stderr).With("replica", cfg.replica)
	for _, e := range all {
		if e.kind != "" && e.kind != cfg.store.kind && e.where != "default" {
			log.WarnContext(ctx, "setting has no effect with this store", "setting", e.name, "from", e.where)
		}
	}
	setMemoryLimits(p.Environ, os.DirFS("/"))
	return host(ctx, cfg, log, p.Stdout)
}

// host opens the store and the listeners, serves until ctx ends, and closes everything in reverse
// order.
func host(ctx context.Context, cfg config, log *slog.Logger, stdout io.Writer) (err error) {
	cfg.measure(log)
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	store, err := cfg.store.open(opening, log)
	if err != nil {
		return unlessTold(ctx, err)
	}
	defer func() { err = errors.Join(err, closing("store", store)) }()
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", cfg.addr)
	if err != nil {
		return unlessTold(ctx, listenError(err, cfg.addr, "--addr HOST:PORT or the variable PORT"))
	}
	apps, err := listenApps(ctx, cfg, ln.Addr())
	if err != nil {
		return errors.Join(unlessTold(ctx, err), ln.Close())
	}
	admin, err := listenAdmin(ctx, &cfg)
	var h *app
	if err == nil {
		h, err = build(opening, cfg, store, ln.Addr(), log)
	}
	if err != nil {
		err = errors.Join(unlessTold(ctx, err), ln.Close())
		for _, other := range []net.Listener{apps, admin} {
			if other != nil {
				err = errors.Join(err, other.Close())
			}
		}
		return err
	}
	if apps != nil {
		h.server.SetAppsListener(apps)
		log.InfoContext(ctx, "serving apps", "addr", apps.Addr())
	}
	if admin != nil {
		h.server.SetAdminListener(admin)
		log.InfoContext(ctx, "serving the admin API on its own address", "addr", admin.Addr())
	}
	defer func() { err = errors.Join(err, closing("hub", h)) }()
	// The listener is open already: a client that reads this line and connects immediately
	// is not refused.
	url := openURL(ln.Addr())
	fmt.Fprintf(stdout, "Everdesk is running: %s\n", h.entryURL(url))
	if admin != nil {
		fmt.Fprintf(stdout, "The monitor is at %s/admin\n", openURL(admin.Addr()))
	}
	fmt.Fprintf(stdout, "Answers come from %s: %s.\n", h.backends.Default().Name(), h.why)
	log.InfoContext(ctx, "hub is running", "url", url, "addr", ln.Addr(), "version", version(), "auth", cfg.auth.Mode,
		"provider", h.backends.Default().Name(), "because", h.why)
	return h.answer(ctx, ln, cfg.grace, log)
}

// listenApps opens the listener for apps; nil if it is off. By default its port is the one after
// the hub's own, so that admins know which one to open in a firewall. If that is in use, or the
// hub's own port was chosen by the system, the system chooses this one too.
func listenApps(ctx context.Context, cfg config, hub net.Addr) (net.Listener, error) {
	var lc net.ListenConfig
	address := cfg.apps
	switch address {
	case appsOff, "":
		return nil, nil
	case appsAuto:
		host, port, _ := net.SplitHostPort(cfg.addr) // validated before
		if tcp, ok := hub.(*net.TCPAddr); ok && port != "0" && tcp.Port < 65535 {
			if ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(tcp.Port+1))); err == nil {
				return ln, nil
			}
		}
		address = net.JoinHostPort(host, "0")
	}
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, listenError(err, address+" for apps", "--apps-addr HOST:PORT")
	}
	return ln, nil
}

// listenAdmin opens the separate listener for admins, and adapts the settings of the gateway; nil
// if there is none.
func listenAdmin(ctx context.Context, cfg *config) (net.Listener, error) {
	if cfg.admin == "" {
		return nil, nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", cfg.admin)
	if err != nil {
		return nil, listenError(err, cfg.admin+" for the monitor", "--admin-addr HOST:PORT")
	}
	if cfg.auth.Mode == auth.ModeNone && !isLoopback(ln.Addr()) {
		return nil, errors.Join(errors.New("auth none lets everybody in, so the monitor only listens on loopback addresses; "+
			"choose --auth token or jwt, or --admin-addr 127.0.0.1:8090"), ln.Close())
	}
	cfg.door.SeparateAdmin = true
	cfg.door.Hosts = append(cfg.door.Hosts, hostOf(ln.Addr()))
	return ln, nil
}

// listenError says why an address cannot be listened on and, if another process uses it,
// which setting selects another one.
func listenError(err error, address, setting string) error {
	err = fmt.Errorf("listen on %s: %w", address, command.Innermost(err))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; another process, perhaps another hub, has it: choose another address with %s", err, setting)
	}
	return err
}

func closing(what string, c io.Closer) error {
	if err := c.Close(); err != nil {
		return fmt.Errorf("close %s: %w", what, err)
	}
	return nil
}

// unlessTold returns err, or nil if ctx has ended: a signal interrupted the start.
func unlessTold(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// openURL returns the URL of addr that a browser on this machine can open.
func openURL(addr net.Addr) string {
	host := addr.String()
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		local := net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: tcp.Port}
		host = local.String()
	}
	return "http://" + host
}
