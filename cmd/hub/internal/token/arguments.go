package token

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/store"
	"github.com/everdesk/everdesk/wire"
)

// parse parses the arguments.
func parse(p command.Call, read ReadSettings, wrong *command.UsageErrors) call {
	flags, args := parseFlags(p.Args, wrong)
	settings, rest := read(p, args, wrong)
	c := call{settings: settings, stderr: p.Stderr, name: flags.Last("name"), signID: flags.Last("key-id")}
	if len(rest) > 0 {
		c.verb, rest = rest[0], rest[1:]
	}
	allowed, known := verbs()[c.verb]
	if !known {
		wrong.Add("hub token %q: want url, ticket, key, keys, revoke, or nothing to sign a token", c.verb)
		return c
	}
	for name := range flags {
		if !slices.Contains(allowed, name) {
			wrong.Add("flag --%s: means nothing to hub token %s", name, c.verb)
		}
	}
	if c.verb == "revoke" {
		if len(rest) == 0 {
			wrong.Add("hub token revoke: want the id of an API key; see hub token keys")
		} else {
			c.key, rest = keyIDOf(rest[0], wrong), rest[1:]
		}
	}
	wrong.Refuse(rest)
	c.identify(flags, wrong)
	c.parseServer(flags, p, wrong)
	c.signKey = cmp.Or(flags.Last("key-file"), settings.Auth.KeyFile)
	if c.verb == "" && c.signKey == "" {
		wrong.Add("hub token: needs --key-file with the secret or private key to sign with; see also hub token url and hub token key")
	}
	return c
}

// keyIDOf returns the id in text, which is the id of an API key or a whole key.
func keyIDOf(text string, wrong *command.UsageErrors) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "edk_"), "_")
	if !keyIDForm.MatchString(id) {
		wrong.Add("hub token revoke: want the id of an API key, as hub token keys shows it")
	}
	return id
}

var keyIDForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// identify parses the user, the roles, the lifetime and the session of a credential.
func (c *call) identify(flags command.Flags, wrong *command.UsageErrors) {
	c.who.User = cmp.Or(flags.Last("user"), "local")
	if !flags.Has("user") && (c.verb == "key" || c.verb == "ticket") {
		// A credential of the installation's owner must not result from an omitted
		// argument.
		wrong.Add("hub token %s: needs --user NAME, whom it stands for; --user local is the owner of this installation", c.verb)
	}
	if err := store.CheckName("user", c.who.User); err != nil {
		wrong.Add("flag --user: %v", err)
	}
	for _, name := range command.SplitList(cmp.Or(flags.Last("role"), string(auth.RoleUser))) {
		role := auth.Role(name)
		if !slices.Contains(auth.Roles(), role) {
			wrong.Add("flag --role: want user, viewer, admin, admin:read, admin:act or admin:content; got %q", name)
		}
		c.who.Roles = append(c.who.Roles, role)
	}
	if text := flags.Last("ttl"); flags.Has("ttl") {
		var err error
		if c.ttl, err = command.ParseDuration(text); err != nil || c.ttl == 0 {
			wrong.Add("flag --ttl: want a duration, as in 90m or 720h; got %q", text)
		}
	}
	if text := flags.Last("session"); flags.Has("session") {
		c.session = wire.SessionID(text)
		if err := c.session.Validate(); err != nil {
			wrong.Add("flag --session: %v", err)
		}
	}
}

// parseServer parses --server and --token. The URL may be the entry URL, which contains a token.
func (c *call) parseServer(flags command.Flags, p command.Call, wrong *command.UsageErrors) {
	if !flags.Has("server") {
		if flags.Has("token") {
			wrong.Add("flag --token: needs --server, the hub it is for")
		}
		c.token = p.Env(command.TokenVariable) // for askLocal
		return
	}
	u, inURL, ok := remote.ParseURL(flags.Last("server"))
	if !ok {
		wrong.Add("flag --server: want a URL, as in http://127.0.0.1:8080")
		return
	}
	c.server, c.token = u, cmp.Or(flags.Last("token"), inURL, p.Env(command.TokenVariable))
}

// parseFlags extracts the flags of hub token from the arguments. All of them have values.
func parseFlags(args []string, wrong *command.UsageErrors) (flags command.Flags, rest []string) {
	known := map[string]command.Arity{}
	for _, names := range verbs() {
		for _, name := range names {
			known[name] = command.Value
		}
	}
	flags, rest = command.ParseFlags(args, known, wrong)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if len(flags[name]) > 1 {
			wrong.Add("flag --%s: given twice", name)
		}
	}
	return flags, rest
}
