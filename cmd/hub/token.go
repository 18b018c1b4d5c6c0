package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/store/filestore/kvlog"
	"github.com/everdesk/everdesk/wire"
)

// tokenTTL is the default lifetime of a signed token.
const tokenTTL = time.Hour

// credentials creates and revokes credentials: in the store, or through a running hub.
type credentials interface {
	NewTicket(ctx context.Context, who auth.Identity, session wire.SessionID) (string, error)
	NewKey(ctx context.Context, who auth.Identity, name string) (string, error)
	Keys(ctx context.Context, after string, limit int) (store.Page[auth.Key], error)
	RevokeKey(ctx context.Context, id string) error
}

// tokenCall holds the parsed arguments of `hub token`.
type tokenCall struct {
	verb string
	key  string // the id of the key to revoke

	who     auth.Identity
	ttl     time.Duration // 0 means the default
	name    string
	session wire.SessionID
	signKey string // the file
	signID  string

	server *url.URL // nil means the store
	token  string
	cfg    config
	stderr io.Writer
}

// tokenVerbs maps the subcommands of `hub token` to their flags. The empty one creates a
// signed token.
func tokenVerbs() map[string][]string {
	return map[string][]string{
		"":       {"user", "role", "ttl", "key-file", "key-id"},
		"url":    {},
		"ticket": {"user", "role", "session", "server", "token"},
		"key":    {"user", "role", "name", "ttl", "server", "token"},
		"keys":   {"server", "token"},
		"revoke": {"server", "token"},
	}
}

// token creates, lists and revokes credentials:
//
//	hub token [--user NAME] [--role ROLE,…] [--ttl 1h] --key-file FILE [--key-id ID]
//	hub token url
//	hub token ticket --user NAME [--role ROLE,…] [--session ID]
//	hub token key --user NAME [--role ROLE,…] [--name TEXT] [--ttl 720h]
//	hub token keys
//	hub token revoke ID
//
// The first signs a token for hubs with --auth jwt; the file has a secret or a private key, and
// is that of --auth-keys unless given. The second prints the entry URL of the local hub. The
// others use the store, or the local hub while that has a file store open or, with --server URL
// and --token TOKEN (or HUB_TOKEN), any running hub. Stdout gets the secret and nothing else, so
// that it can be piped; the explanation goes to stderr.
func token(ctx context.Context, p program) error {
	var wrong complaints
	call := parseToken(p, &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	switch {
	case call.verb == "":
		return call.mint(p.stdout)
	case call.verb == "url":
		return call.invite(ctx, p.stdout)
	case call.server != nil:
		return call.run(ctx, &remote{server: call.server, token: call.token}, p.stdout)
	}
	err := call.open(ctx, auth.ModeNone, func(a *auth.Authority) error { return call.run(ctx, a, p.stdout) })
	if errors.Is(err, kvlog.ErrLocked) {
		return call.askLocal(ctx, p.stdout)
	}
	return err
}

// mint signs a token.
func (c tokenCall) mint(stdout io.Writer) error {
	key, err := auth.ReadSigningKey(c.signKey)
	if err != nil {
		return err
	}
	ttl := cmp.Or(c.ttl, tokenTTL)
	text, err := auth.NewSignedToken(key, auth.TokenClaims{
		User: c.who.User, Roles: c.who.Roles, TTL: ttl, KeyID: c.signID,
		Issuer: c.cfg.auth.Issuer, Audience: c.cfg.auth.Audience,
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
func (c tokenCall) invite(ctx context.Context, stdout io.Writer) error {
	base := localURL(c.cfg.addr)
	switch c.cfg.auth.Mode {
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
		token := localToken(c.cfg.store.folder)
		if token == "" {
			return fmt.Errorf("%w; its URL was printed when it started", err)
		}
		show(token)
		return nil
	}
	return err
}

// run executes the subcommands that need the store or a hub.
func (c tokenCall) run(ctx context.Context, at credentials, stdout io.Writer) error {
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

func (c tokenCall) whom() string {
	return fmt.Sprintf("%s (%s)", oneLine(c.who.User), strings.Join(roleNames(c.who.Roles), ", "))
}

func roleNames(roles []auth.Role) []string {
	names := make([]string, 0, len(roles))
	for _, r := range roles {
		names = append(names, string(r))
	}
	return names
}

func (c tokenCall) explain(format string, args ...any) {
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
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, oneLine(k.User), strings.Join(roleNames(k.Roles), ","),
				k.Created.UTC().Format(time.DateOnly), expires, oneLine(k.Name))
		}
		if after = page.Next; after == "" {
			return table.Flush()
		}
	}
}

// open opens the store, calls use with an authority in the given mode, and closes the store.
func (c tokenCall) open(ctx context.Context, mode auth.Mode, use func(*auth.Authority) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	// Only warnings and errors matter to a user who waits for a token.
	c.cfg.logging.level = max(c.cfg.logging.level, slog.LevelWarn)
	log := c.cfg.logging.logger(c.stderr)
	docs, err := c.cfg.store.open(ctx, log)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := docs.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close store: %w", cerr))
		}
	}()
	a, err := auth.New(ctx, auth.Config{Mode: mode, Logger: log}, docs)
	if err != nil {
		return err
	}
	return use(a)
}

// askLocal sends the request to the local hub, for the case that a hub has the file store open.
func (c tokenCall) askLocal(ctx context.Context, stdout io.Writer) error {
	server, err := url.Parse(localURL(c.cfg.addr))
	if err != nil {
		return err
	}
	token := cmp.Or(c.token, localToken(c.cfg.store.folder))
	if err := c.run(ctx, &remote{server: server, token: token}, stdout); err != nil {
		return fmt.Errorf("a running hub has %s open, so %s was asked: %w; "+
			"name another hub with --server URL --token TOKEN", c.cfg.store.folder, server, err)
	}
	return nil
}

// parseToken parses the arguments.
func parseToken(p program, wrong *complaints) tokenCall {
	own, args := tokenFlags(p.args, wrong)
	flags, rest := parseFlags(args, wrong)
	cfg, _ := load(flags, p.environ, wrong)
	call := tokenCall{cfg: cfg, stderr: p.stderr, name: own["name"], signID: own["key-id"]}
	if len(rest) > 0 {
		call.verb, rest = rest[0], rest[1:]
	}
	allowed, known := tokenVerbs()[call.verb]
	if !known {
		wrong.add("hub token %q: want url, ticket, key, keys, revoke, or nothing to sign a token", call.verb)
		return call
	}
	for name := range own {
		if !slices.Contains(allowed, name) {
			wrong.add("flag --%s: means nothing to hub token %s", name, call.verb)
		}
	}
	if call.verb == "revoke" {
		if len(rest) == 0 {
			wrong.add("hub token revoke: want the id of an API key; see hub token keys")
		} else {
			call.key, rest = keyIDOf(rest[0], wrong), rest[1:]
		}
	}
	refuse(rest, wrong)
	call.identify(own, wrong)
	call.reach(own, p.environ, wrong)
	call.signKey = cmp.Or(own["key-file"], cfg.auth.KeyFile)
	if call.verb == "" && call.signKey == "" {
		wrong.add("hub token: needs --key-file with the secret or private key to sign with; see also hub token url and hub token key")
	}
	return call
}

// keyIDOf returns the id in text, which is the id of an API key or a whole key.
func keyIDOf(text string, wrong *complaints) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "edk_"), "_")
	if !keyIDForm.MatchString(id) {
		wrong.add("hub token revoke: want the id of an API key, as hub token keys shows it")
	}
	return id
}

var keyIDForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// identify parses the user, the roles, the lifetime and the session of a credential.
func (c *tokenCall) identify(own map[string]string, wrong *complaints) {
	c.who.User = cmp.Or(own["user"], "local")
	if _, given := own["user"]; !given && (c.verb == "key" || c.verb == "ticket") {
		// A credential of the installation's owner must not result from an omitted
		// argument.
		wrong.add("hub token %s: needs --user NAME, whom it stands for; --user local is the owner of this installation", c.verb)
	}
	if err := store.CheckName("user", c.who.User); err != nil {
		wrong.add("flag --user: %v", err)
	}
	for _, name := range list(cmp.Or(own["role"], string(auth.RoleUser))) {
		role := auth.Role(name)
		if !slices.Contains(auth.Roles(), role) {
			wrong.add("flag --role: want user, viewer, admin, admin:read, admin:act or admin:content; got %q", name)
		}
		c.who.Roles = append(c.who.Roles, role)
	}
	if text, given := own["ttl"]; given {
		var err error
		if c.ttl, err = parseDuration(text); err != nil || c.ttl == 0 {
			wrong.add("flag --ttl: want a duration, as in 90m or 720h; got %q", text)
		}
	}
	if text, given := own["session"]; given {
		c.session = wire.SessionID(text)
		if err := c.session.Validate(); err != nil {
			wrong.add("flag --session: %v", err)
		}
	}
}

// reach parses --server and --token. The URL may be the entry URL, which contains a token.
func (c *tokenCall) reach(own map[string]string, environ []string, wrong *complaints) {
	text, given := own["server"]
	if !given {
		if _, token := own["token"]; token {
			wrong.add("flag --token: needs --server, the hub it is for")
		}
		c.token = lookup(environ, tokenVariable) // for askLocal
		return
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		wrong.add("flag --server: want a URL, as in http://127.0.0.1:8080")
		return
	}
	c.token = cmp.Or(own["token"], u.Query().Get("token"), lookup(environ, tokenVariable))
	u.RawQuery, u.Fragment, u.User = "", "", nil
	c.server = u
}

// tokenFlags extracts the flags of hub token from the arguments. All of them have values.
func tokenFlags(args []string, wrong *complaints) (own map[string]string, rest []string) {
	own = map[string]string{}
	known := slices.Concat(slices.Collect(maps.Values(tokenVerbs()))...)
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, text, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		switch {
		case arg == "--":
			return own, append(append(rest, arg), args...)
		case !strings.HasPrefix(arg, "-") || !slices.Contains(known, name):
			rest = append(rest, arg)
			continue
		case !given && len(args) == 0:
			wrong.add("flag --%s: needs a value", name)
			continue
		case !given:
			text, args = args[0], args[1:]
		}
		if _, twice := own[name]; twice {
			wrong.add("flag --%s: given twice", name)
		}
		own[name] = text
	}
	return own, rest
}
