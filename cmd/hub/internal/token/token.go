package token

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/cmd/hub/internal/terminal"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// Settings are the settings of the hub that credentials depend on.
type Settings struct {
	command.Local
	Auth auth.Config
	// Open opens the store of the settings and returns its documents and what closes it.
	Open func(context.Context, *slog.Logger) (docs auth.Documents, closeStore func() error, err error)
	// Logger logs warnings and errors to stderr; a user who waits for a token needs no others.
	Logger *slog.Logger
}

// ReadSettings parses the flags in args, and the environment, as settings of the hub. It returns
// them and the arguments that are not flags.
type ReadSettings func(p command.Call, args []string, wrong *command.UsageErrors) (Settings, []string)

// Command returns `hub token`, which creates, lists and revokes credentials.
func Command(read ReadSettings) command.Command {
	return command.Command{
		Name: "token", Args: "[url|ticket|key|keys|revoke ID] [flags]",
		Help: "create, list and revoke signed tokens, tickets and API keys",
		Flags: `--user NAME       the user; required for keys and tickets
			--role ROLE       user, viewer, admin, admin:read, admin:act or admin:content
			--ttl DURATION    lifetime of a signed token
			--name NAME       name of a key
			--session ID      the only session that a ticket is valid for
			--key-file FILE   the key to sign with
			--key-id ID       its name in the key file
			--server URL      the hub; by default the store is opened, or the local hub is used while it holds the store
			--token TOKEN     your token, also as HUB_TOKEN`,
		Run: func(ctx context.Context, p command.Call) error { return run(ctx, p, read) },
	}
}

// openTimeout is the timeout for opening the store: long enough for a Redis that is just
// starting, short enough for a user who waits.
const openTimeout = 15 * time.Second

// tokenTTL is the default lifetime of a signed token.
const tokenTTL = time.Hour

// credentials creates and revokes credentials: in the store, or through a running hub.
type credentials interface {
	// NewTicket returns a one-time ticket for who; unless session is empty, it is valid in that session only.
	NewTicket(ctx context.Context, who auth.Identity, session wire.SessionID) (string, error)
	// NewKey creates an API key with a name for who and returns it. It cannot be read again.
	NewKey(ctx context.Context, who auth.Identity, name string) (string, error)
	// Keys returns a page of API keys in the order of their ids, beginning after one.
	Keys(ctx context.Context, after string, limit int) (store.Page[auth.Key], error)
	// RevokeKey deletes an API key; an unknown one is an error.
	RevokeKey(ctx context.Context, id string) error
}

// call holds the parsed arguments of `hub token`.
type call struct {
	verb string
	key  string // the id of the key to revoke

	who     auth.Identity
	ttl     time.Duration // 0 means the default
	name    string
	session wire.SessionID
	signKey string // the file
	signID  string

	server   *url.URL // nil means the store
	token    string
	settings Settings
	stderr   io.Writer
}

// verbs maps the subcommands of `hub token` to their flags. The empty one creates a
// signed token.
func verbs() map[string][]string {
	return map[string][]string{
		"":       {"user", "role", "ttl", "key-file", "key-id"},
		"url":    {},
		"ticket": {"user", "role", "session", "server", "token"},
		"key":    {"user", "role", "name", "ttl", "server", "token"},
		"keys":   {"server", "token"},
		"revoke": {"server", "token"},
	}
}

func run(ctx context.Context, p command.Call, read ReadSettings) error {
	var wrong command.UsageErrors
	c := parse(p, read, &wrong)
	if err := wrong.OrNil(); err != nil {
		return err
	}
	switch {
	case c.verb == "":
		return c.mint(p.Stdout)
	case c.verb == "url":
		return c.invite(ctx, p.Stdout)
	case c.server != nil:
		return c.run(ctx, runningHub{&remote.Hub{URL: c.server, Token: c.token}}, p.Stdout)
	}
	err := c.open(ctx, auth.ModeNone, func(a *auth.Authority) error { return c.run(ctx, a, p.Stdout) })
	if errors.Is(err, kvlog.ErrLocked) {
		return c.askLocal(ctx, p.Stdout)
	}
	return err
}

// mint signs a token.
func (c call) mint(stdout io.Writer) error {
	key, err := auth.ReadSigningKey(c.signKey)
	if err != nil {
		return err
	}
	ttl := cmp.Or(c.ttl, tokenTTL)
	text, err := auth.NewSignedToken(key, auth.TokenClaims{
		User: c.who.User, Roles: c.who.Roles, TTL: ttl, KeyID: c.signID,
		Issuer: c.settings.Auth.Issuer, Audience: c.settings.Auth.Audience,
	})
	if err != nil {
		return err
	}
	c.explain("a token for %s, good for %v; send it as Authorization: Bearer", c.whom(), ttl)
	fmt.Fprintln(stdout, text)
	return nil
}

// invite prints the entry URL of the local hub: with --auth token it contains the installation
// token, which it reads from the store, or from the token file while a hub has a file store open.
func (c call) invite(ctx context.Context, stdout io.Writer) error {
	base := remote.LocalURL(c.settings.Addr)
	switch c.settings.Auth.Mode {
	case auth.ModeNone:
		fmt.Fprintln(stdout, base)
		return nil
	case auth.ModeJWT:
		return errors.New("with --auth jwt there is no token for the whole installation; hub token --key-file FILE signs one for a user")
	}
	show := func(token string) {
		c.explain("whoever has this URL is the administrator")
		fmt.Fprintln(stdout, base+"/?token="+url.QueryEscape(token))
	}
	err := c.open(ctx, auth.ModeToken, func(a *auth.Authority) error {
		show(a.InstallationToken())
		return nil
	})
	if errors.Is(err, kvlog.ErrLocked) {
		token := remote.LocalToken(c.settings.Folder)
		if token == "" {
			return fmt.Errorf("%w; its URL was printed when it started", err)
		}
		show(token)
		return nil
	}
	return err
}

// run executes the subcommands that need the store or a hub.
func (c call) run(ctx context.Context, at credentials, stdout io.Writer) error {
	switch c.verb {
	case "ticket":
		ticket, err := at.NewTicket(ctx, c.who, c.session)
		if err != nil {
			return err
		}
		c.explain(`a ticket for %s, good once within 30s; send it as the first message {"type":"auth","data":{"ticket":…}}`, c.whom())
		fmt.Fprintln(stdout, ticket)
	case "key":
		if c.ttl > 0 {
			c.who.Expires = time.Now().Add(c.ttl)
		}
		key, err := at.NewKey(ctx, c.who, c.name)
		if err != nil {
			return err
		}
		c.explain("an API key for %s, shown this once; send it as Authorization: Bearer, end it with hub token revoke", c.whom())
		fmt.Fprintln(stdout, key)
	case "keys":
		return listKeys(ctx, at, stdout)
	case "revoke":
		err := at.RevokeKey(ctx, c.key)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("there is no API key %q", c.key)
		}
		if err != nil {
			return err
		}
		c.explain("API key %s is revoked", c.key)
	}
	return nil
}

func (c call) whom() string {
	return fmt.Sprintf("%s (%s)", terminal.OneLine(c.who.User), strings.Join(roleNames(c.who.Roles), ", "))
}

func roleNames(roles []auth.Role) []string {
	names := make([]string, 0, len(roles))
	for _, r := range roles {
		names = append(names, string(r))
	}
	return names
}

func (c call) explain(format string, args ...any) {
	fmt.Fprintf(c.stderr, "hub: "+format+"\n", args...)
}

func listKeys(ctx context.Context, at credentials, stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tUSER\tROLES\tCREATED\tEXPIRES\tNAME")
	for after := ""; ; {
		page, err := at.Keys(ctx, after, 1000)
		if err != nil {
			return err
		}
		for _, k := range page.Items {
			expires := "never"
			if !k.Expires.IsZero() {
				expires = k.Expires.UTC().Format(time.DateOnly)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, terminal.OneLine(k.User), strings.Join(roleNames(k.Roles), ","),
				k.Created.UTC().Format(time.DateOnly), expires, terminal.OneLine(k.Name))
		}
		if after = page.Next; after == "" {
			return table.Flush()
		}
	}
}

// open opens the store, calls use with an authority in the given mode, and closes the store.
func (c call) open(ctx context.Context, mode auth.Mode, use func(*auth.Authority) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	docs, closeStore, err := c.settings.Open(ctx, c.settings.Logger)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := closeStore(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close store: %w", cerr))
		}
	}()
	a, err := auth.New(ctx, auth.Config{Mode: mode, Logger: c.settings.Logger}, docs)
	if err != nil {
		return err
	}
	return use(a)
}

// askLocal sends the request to the local hub, for the case that a hub has the file store open.
func (c call) askLocal(ctx context.Context, stdout io.Writer) error {
	server, err := url.Parse(remote.LocalURL(c.settings.Addr))
	if err != nil {
		return err
	}
	token := cmp.Or(c.token, remote.LocalToken(c.settings.Folder))
	if err := c.run(ctx, runningHub{&remote.Hub{URL: server, Token: token}}, stdout); err != nil {
		return fmt.Errorf("a running hub has %s open, so %s was asked: %w; "+
			"name another hub with --server URL --token TOKEN", c.settings.Folder, server, err)
	}
	return nil
}
