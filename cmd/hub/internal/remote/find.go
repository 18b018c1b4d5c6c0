package remote

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// TokenFile is the name of the file in the folder of a file store in which a hub leaves the
// token of the installation for programs of the same user.
const TokenFile = "token"

// Parse parses the arguments of a command that talks to a hub: its own flags, --server and
// --token. It returns the hub of --server, or else the local one, with the credentials for it, and
// the arguments that are no flags. All other flags are settings, which say where the local hub
// is.
func Parse(c command.Call, own map[string]command.Arity, wrong *command.UsageErrors) (*Hub, command.Flags, []string) {
	return parse(c, own, func(l command.Local) string { return l.Addr }, wrong)
}

// ParseAdmin is [Parse] for admin requests, which the local hub may serve at an address of their
// own.
func ParseAdmin(c command.Call, own map[string]command.Arity, wrong *command.UsageErrors) (*Hub, command.Flags, []string) {
	return parse(c, own, func(l command.Local) string { return cmp.Or(l.AdminAddr, l.Addr) }, wrong)
}

func parse(c command.Call, own map[string]command.Arity, addr func(command.Local) string, wrong *command.UsageErrors) (*Hub, command.Flags, []string) {
	known := map[string]command.Arity{"server": command.Value, "token": command.Value}
	maps.Copy(known, own)
	flags, rest := command.ParseFlags(c.Args, known, wrong)
	local, rest := c.Local(rest, c.Environ, wrong)
	token, text := cmp.Or(flags.Last("token"), c.Env(command.TokenVariable)), flags.Last("server")
	if text == "" {
		text = LocalURL(addr(local))
		// The local hub's token must not be sent to other hubs.
		if token == "" && local.Folder != "" {
			token = LocalToken(local.Folder)
		}
	}
	u, inURL, ok := ParseURL(text)
	if !ok {
		wrong.Add("flag --server: want a URL, as in http://127.0.0.1:8080; got %q", text)
		u = &url.URL{}
	}
	return &Hub{URL: u, Token: cmp.Or(token, inURL)}, flags, rest
}

// ParseURL parses the URL of a hub, including the entry URL with a token that the hub prints.
func ParseURL(text string) (u *url.URL, token string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, "", false
	}
	token = u.Query().Get("token")
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return u, token, true
}

// LocalURL returns the URL of a hub on this machine that listens on addr.
func LocalURL(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// LocalToken reads the token that a hub leaves in the folder of its store, or returns "". The
// token is sent to the process that listens on the hub's address: on a shared machine that could
// be another user's while the hub is down.
func LocalToken(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, TokenFile)) //nolint:gosec // the operator's own folder
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
