package main

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// gatewaySettings returns the settings of access and limits.
func gatewaySettings() []setting {
	return []setting{
		{
			name: "addr", arg: "HOST:PORT", value: "127.0.0.1:8080",
			help:  "the address to listen on; port 0 chooses a free one. The variable PORT replaces the port",
			parse: func(c *config, s string) (err error) { c.addr, err = parseAddr(s); return err },
			older: "PORT", adapt: withPort,
		},
		{
			name: "apps-addr", arg: "HOST:PORT", value: appsAuto,
			help: "the address that serves HTML windows and apps, which must be another origin than\n" +
				"the hub's own; auto is the port after that of --addr, or a free one when that is\ntaken; off disables it",
			parse: func(c *config, s string) error { return parseAppsAddr(&c.apps, s) },
		},
		{
			name: "apps-url", arg: "URL",
			help: "the URL of --apps-addr for browsers when there is a proxy before it, as in\n" +
				"https://apps.example.org; with --apps-addr off the hub's own address serves it\nunder that name",
			parse: func(c *config, s string) error { return parseAppsURL(&c.gateway.AppsURL, s) },
		},
		{
			name: "admin-addr", arg: "HOST:PORT",
			help: "a separate address for the admin page, the admin API, metrics and profiles, which are\n" +
				"then not at --addr. Only operators should reach it: metrics need no token there.\n" +
				"If empty they are at --addr, without profiles",
			parse: func(c *config, s string) (err error) {
				if c.admin = s; s != "" {
					c.admin, err = parseAddr(s)
				}
				return err
			},
		},
		{
			name: "ipc-socket", arg: "PATH",
			help: "a Unix socket for programs that drive Roo-Code, as in run/roo.sock: they use sessions of\n" +
				"the hub instead. Its folder must be closed for other users; it is created if needed",
			parse: func(c *config, s string) error { c.ipcSocket = s; return nil },
		},
		{
			name: "ipc-user", arg: "NAME", value: auth.LocalUser,
			help:  "the user whose sessions these programs use; with --auth jwt the subject of its tokens",
			parse: func(c *config, s string) error { c.gateway.IPCUser = s; return nil },
		},
		{
			name: "hosts", arg: "NAME,…",
			help: "host names that browsers may use for this hub, besides the loopback names and the\n" +
				"address it listens on; * allows any, which is only safe behind a proxy that\nchecks them",
			parse: func(c *config, s string) error { c.gateway.Hosts = command.SplitList(s); return nil },
		},
		{
			name: "origins", arg: "URL,…",
			help:  "other origins whose pages may use this hub, as in https://desk.example.org",
			parse: func(c *config, s string) error { return parseOrigins(&c.gateway.Origins, s) },
		},
		{
			name: "trusted-proxies", arg: "CIDR,…",
			help:  "proxies whose X-Forwarded-For header is trusted, as in 10.0.0.0/8",
			parse: func(c *config, s string) error { return parsePrefixes(&c.gateway.TrustedProxies, s) },
		},
		{
			name: "rate-limits", arg: "on|off", value: "on",
			help: "off removes the rate limits and the limits on sessions and connections of a user:\nfor trusted networks and benchmarks",
			parse: func(c *config, s string) error {
				var mode string
				err := oneOf(&mode, s, "on", "off")
				c.limits.Off = mode == "off"
				return err
			},
		},
		{
			name: "frame-limit", arg: "SIZE", value: "64KiB",
			help:  "the maximum size of a client's message",
			parse: func(c *config, s string) error { return parseSize(&c.gateway.FrameBytes, s, 4<<10, 1<<20) },
		},
		{
			name: "upload-limit", arg: "SIZE", value: "25MiB",
			help:  "the maximum size of an uploaded file",
			parse: func(c *config, s string) error { return parseSize(&c.gateway.UploadBytes, s, 1, 1<<40) },
		},
		{
			name: "heartbeat", arg: "DURATION", value: "30s",
			help: "the interval of pings on a connection",
			parse: func(c *config, s string) error {
				return parseSpan(&c.gateway.Heartbeat, s, time.Second, 10*time.Minute)
			},
		},
		{
			name: "desktop-dir", arg: "FOLDER",
			help:  "a folder with another built desktop to serve at /",
			parse: func(c *config, s string) error { return parseExistingFolder(&c.gateway.DesktopDir, s) },
		},
		{
			name: "web-dev", arg: "URL",
			help:  "a Vite server on this machine that serves the desktop instead, as in\nhttp://127.0.0.1:5173; for development of the page",
			parse: func(c *config, s string) error { return parseWebDev(&c.gateway.WebDev, s) },
		},
	}
}

// authSettings returns the settings of authentication.
func authSettings() []setting {
	return []setting{
		{
			name: "auth", arg: "MODE", value: "token",
			help: "authentication: none (no credentials; loopback addresses only), token (one token per\n" +
				"installation, printed at the start as a URL to open) or jwt (signed tokens)",
			parse: func(c *config, s string) error {
				var mode string
				err := oneOf(&mode, s, string(auth.ModeNone), string(auth.ModeToken), string(auth.ModeJWT))
				c.auth.Mode = auth.Mode(mode)
				return err
			},
		},
		{
			name: "auth-keys", arg: "FILE",
			help:  "the file with the keys of signed tokens: a public key or secret as PEM or text, or a JWKS",
			parse: func(c *config, s string) error { c.auth.KeyFile = s; return nil },
		},
		{
			name: "auth-issuer", arg: "URL",
			help:  "the required issuer of signed tokens; with --auth-oidc also the source of its keys",
			parse: func(c *config, s string) error { c.auth.Issuer = s; return nil },
		},
		{
			name: "auth-audience", arg: "NAME",
			help:  "the required audience of signed tokens",
			parse: func(c *config, s string) error { c.auth.Audience = s; return nil },
		},
		{
			name: "auth-oidc", value: "false",
			help:  "fetch the keys by the OpenID Connect discovery of the issuer",
			parse: func(c *config, s string) (err error) { c.auth.OIDC, err = parseSwitch(s); return err },
		},
		{
			name: "query-tokens", value: "false",
			help:  "accept a token in the URL of sockets, event streams and stored files too; URLs end up in logs",
			parse: func(c *config, s string) (err error) { c.gateway.QueryTokens, err = parseSwitch(s); return err },
		},
	}
}

// sessionSettings returns the settings of the lifetime of sessions.
func sessionSettings() []setting {
	return []setting{
		{
			name: "lease", arg: "DURATION", value: "6s",
			help:  "how long the ownership of a session is valid without renewal; then another replica may\nclaim the session",
			parse: func(c *config, s string) error { return parseSpan(&c.session.Lease, s, time.Second, time.Minute) },
		},
		{
			name: "short-lease", value: "false",
			help: "a lease of 3s: sessions of a lost replica continue sooner, and a replica that only\n" +
				"pauses loses them sooner",
			parse: func(c *config, s string) (err error) { c.shortLease, err = parseSwitch(s); return err },
		},
		{
			name: "dormant-after", arg: "DURATION", value: "10m",
			help: "how long a session without tabs and work stays in memory",
			parse: func(c *config, s string) error {
				return parseSpan(&c.session.DormantAfter, s, time.Second, 24*time.Hour)
			},
		},
		{
			name: "stalled-after", arg: "DURATION", value: "1m",
			help: "how long working agents may show nothing before their session counts as stalled",
			parse: func(c *config, s string) error {
				return parseSpan(&c.session.StalledAfter, s, time.Second, 24*time.Hour)
			},
		},
		{
			name: "cold-after", arg: "DURATION", value: "0",
			help: "move sessions that were not used for this time from Redis to the storage of --files, as in 720h;\n" +
				"they stay in all lists and come back when they are opened. 0 means never. Only with Redis",
			parse: func(c *config, s string) (err error) { c.session.ColdAfter, err = command.ParseDuration(s); return err },
		},
		{
			name: "retention", arg: "DURATION", value: "0",
			help:  "delete sessions that were not used for this time; 0 means never",
			parse: func(c *config, s string) (err error) { c.session.Retention, err = command.ParseDuration(s); return err },
		},
	}
}

func parseOrigins(origins *[]string, s string) error {
	*origins = command.SplitList(s)
	for _, o := range *origins {
		if !isOrigin(o) {
			return errors.New("want scheme and host, as in https://desk.example.org:8443")
		}
	}
	return nil
}

func isOrigin(s string) bool {
	scheme, host, ok := strings.Cut(s, "://")
	return ok && (scheme == "http" || scheme == "https") && host != "" && !strings.ContainsAny(host, "/@?#*; ,'")
}

// The values of apps-addr that are not addresses.
const (
	appsAuto = "auto"
	appsOff  = "off"
)

func parseAppsAddr(addr *string, s string) (err error) {
	*addr = s
	if s != appsAuto && s != appsOff {
		if *addr, err = parseAddr(s); err != nil {
			return errors.New(err.Error() + "; or auto or off")
		}
	}
	return nil
}

func parseAppsURL(address *string, s string) error {
	*address = strings.TrimSuffix(s, "/")
	if s != "" && !isOrigin(*address) {
		return errors.New("want scheme and host, as in https://apps.example.org")
	}
	return nil
}

// parseWebDev accepts only addresses of this machine, because the hub serves the content on its
// own origin.
func parseWebDev(address **url.URL, s string) error {
	*address = nil
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	if err != nil || !isOrigin(strings.TrimSuffix(s, "/")) || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback() {
		return errors.New("want a URL of this machine, as in http://127.0.0.1:5173")
	}
	*address = u
	return nil
}

func parsePrefixes(prefixes *[]netip.Prefix, s string) error {
	*prefixes = nil
	for _, item := range command.SplitList(s) {
		p, err := netip.ParsePrefix(item)
		if err != nil {
			return errors.New("want networks, as in 10.0.0.0/8,192.168.1.7/32")
		}
		*prefixes = append(*prefixes, p)
	}
	return nil
}

// parseSize parses a number of bytes, or of KiB, MiB or GiB with that suffix.
func parseSize[T ~int | ~int64](size *T, s string, least, most int64) error {
	number, unit := s, int64(1)
	for suffix, bytes := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			number, unit = rest, bytes
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || n < 0 || n > most/unit || n*unit < least {
		return errors.New("want a size, as in 64KiB or 25MiB, from " + sizeText(least) + " to " + sizeText(most))
	}
	*size = T(n * unit)
	return nil
}

func sizeText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

func parseSpan(d *time.Duration, s string, least, most time.Duration) error {
	span, err := command.ParseDuration(s)
	if err != nil || span < least || span > most {
		return errors.New("want a duration from " + least.String() + " to " + most.String())
	}
	*d = span
	return nil
}

func parseExistingFolder(folder *string, s string) error {
	*folder = s
	if s == "" {
		return nil
	}
	info, err := os.Stat(s)
	if err != nil || !info.IsDir() {
		return errors.New("want a folder that exists")
	}
	return nil
}
