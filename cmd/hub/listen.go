package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/gateway/rooipc"
)

// listeners holds the open listeners of a hub.
type listeners struct {
	hub   net.Listener
	apps  net.Listener      // nil if apps are off
	admin net.Listener      // separate, for admins; nil for none
	ipc   *net.UnixListener // for programs that drive Roo-Code; nil for none
}

// listen opens all listeners, or none.
func listen(ctx context.Context, cfg config) (_ listeners, err error) {
	var l listeners
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	var lc net.ListenConfig
	if l.hub, err = lc.Listen(ctx, "tcp", cfg.addr); err != nil {
		return l, listenError(err, cfg.addr, "--addr HOST:PORT or the variable PORT")
	}
	if l.apps, err = listenApps(ctx, cfg, l.hub.Addr()); err != nil {
		return l, err
	}
	if l.admin, err = listenAdmin(ctx, cfg); err != nil {
		return l, err
	}
	if cfg.ipcSocket != "" {
		if l.ipc, err = rooipc.Listen(ctx, cfg.ipcSocket); err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l listeners) close() error {
	var err error
	for _, ln := range []net.Listener{l.hub, l.apps, l.admin} {
		if ln != nil {
			err = errors.Join(err, ln.Close())
		}
	}
	if l.ipc != nil {
		err = errors.Join(err, l.ipc.Close())
	}
	return err
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

// listenAdmin opens the separate listener for admins; nil if there is none.
func listenAdmin(ctx context.Context, cfg config) (net.Listener, error) {
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
	return ln, nil
}

// errWSAAddrInUse is the error of Windows for an address in use, WSAEADDRINUSE. EADDRINUSE of package
// syscall is another number there. No other system has an error with this number.
const errWSAAddrInUse = syscall.Errno(10048)

// listenError says why an address cannot be listened on and, if another process uses it,
// which setting selects another one.
func listenError(err error, address, setting string) error {
	err = fmt.Errorf("listen on %s: %w", address, command.Innermost(err))
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, errWSAAddrInUse) {
		err = fmt.Errorf("%w; another process, perhaps another hub, has it: choose another address with %s", err, setting)
	}
	return err
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

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

func hostOf(addr net.Addr) string {
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	return host
}
