package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/command"
	"github.com/everdesk/everdesk/files/s3files"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/wire"
)

// config holds the parsed settings.
type config struct {
	addr  string
	apps  string // address of the apps; see listenApps
	admin string // separate address for admins; empty for none
	// ipcSocket is the path of the socket for programs that drive Roo-Code; empty for none.
	ipcSocket string
	gateway   gateway.Config
	limits    ratelimit.Config
	auth      auth.Config
	session   session.Config
	agents    agentConfig
	store     storeConfig
	files     string
	// filesBucket, unless nil, has the files of sessions instead of a folder.
	filesBucket *s3files.Config
	logging     logging
	trace       traceConfig
	grace       time.Duration
	// pinned is the path of the file of pinned settings; empty for none.
	pinned string
	// secretKey and secretKeyFile hold the keys that encrypt secrets; both are empty for none.
	secretKey, secretKeyFile string
	replica                  wire.ReplicaID // empty: serve generates one
	// shortLease selects a short lease; see applyShortLease.
	shortLease bool
	// supervised is set if this process is started again after a crash.
	supervised bool
}

// shortLease is the lease with --short-lease.
const shortLease = 3 * time.Second

// setting is one setting. Its flag is --name, its variable HUB_NAME with underscores, its
// key in the file is name.
type setting struct {
	name  string
	arg   string // name of the value in the help; empty for a switch
	value string // the default
	help  string
	// parse stores a value, or returns an error that says what is valid.
	parse func(*config, string) error
	// show hides secrets in the output. Nil shows everything.
	show func(string) string
	// kind is the kind of store it applies to; empty for all.
	kind storeKind
	// outside is set if the file cannot contain it.
	outside bool
	// unflagged is set if there is no flag, because other users can see the flags of a process.
	unflagged bool
	// older is another variable, used if neither the flag nor the variable HUB_NAME is set;
	// adapt, if set, combines its text with the value from the file or the default.
	older string
	adapt func(below, text string) string
}

// flag returns how the setting is given on the command line, or its variable if it cannot be given there.
func (s setting) flag() string {
	if s.unflagged {
		return s.variable()
	}
	return "--" + s.name
}

func (s setting) variable() string {
	return "HUB_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

func (s setting) shown(text string) string {
	if s.show == nil {
		return text
	}
	return s.show(text)
}

// allSettings declares all settings of the process.
func allSettings() []setting {
	return slices.Concat(gatewaySettings(), authSettings(), sessionSettings(), agentSettings(), storeSettings(), processSettings(), traceSettings())
}

func storeSettings() []setting {
	return []setting{
		{
			name: "store", arg: "URL", value: "file:./everdesk-data",
			help: "file:FOLDER, redis://[USER:PASSWORD@]HOST:PORT[/DB], rediss://…,\n" +
				"redis+sentinel://HOST:PORT,…/MASTER or redis+cluster://HOST:PORT,…",
			parse: func(c *config, s string) error { return c.store.parseURL(s) },
			show:  redact,
		},
		{
			name: "store-sync", arg: "MODE", value: "interval", kind: fileStore,
			help: "what a power cut may lose of a file store: always (nothing),\n" +
				"interval (the last moment), off (what the system had not written)",
			parse: func(c *config, s string) (err error) { c.store.sync, err = parseSync(s); return err },
		},
		{
			name: "store-prefix", arg: "NAME", value: "everdesk", kind: redisStore,
			help:  "prefix of every key in Redis, so that several installations can share one",
			parse: func(c *config, s string) error { return parsePrefix(&c.store.prefix, s) },
		},
		{
			name: "store-allow-eviction", value: "false", kind: redisStore,
			help:  "start although Redis may evict keys when its memory is full, which loses desktops",
			parse: func(c *config, s string) (err error) { c.store.allowEviction, err = parseSwitch(s); return err },
		},
		{
			name: "secret-key-file", arg: "FILE",
			help: "a file with the keys that encrypt secrets, 32 bytes each in base64: the first one encrypts,\n" +
				"the others decrypt older secrets. By default the file secret.key beside the data of a file\n" +
				"store, which is made at the first start; with Redis all replicas need the same keys",
			parse: func(c *config, s string) error { c.secretKeyFile = s; return nil },
		},
		{
			name: "secret-key", arg: "KEYS", show: hidden, unflagged: true,
			help: "the same keys, separated by commas, instead of a file; not as a flag, because other users\n" +
				"can see the flags of a process",
			parse: func(c *config, s string) error { c.secretKey = s; return nil },
		},
		{
			name: "files-dir", arg: "FOLDER",
			help: "the folder of uploaded files; by default beside the data of a file store, and\n" +
				"./everdesk-files with Redis, where all replicas need the same folder",
			parse: func(c *config, s string) error { c.files = s; return nil },
		},
		{
			name: "files", arg: "ADDRESS",
			help: "where the files of sessions are: file:FOLDER, or s3://BUCKET/PREFIX?endpoint=URL&region=REGION\n" +
				"without a shared folder; by default the folder of --files-dir. Apps of users are beside them.\n" +
				"Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws or the instance",
			parse: parseFiles,
		},
	}
}

func processSettings() []setting {
	return []setting{
		{
			name: "config", arg: "FILE", outside: true,
			help:  "a YAML file with any of these settings by name",
			parse: func(*config, string) error { return nil },
		},
		{
			name: "pinned-settings", arg: "FILE",
			help: "a YAML file with values of settings that users cannot change, such as language: ko;\n" +
				"hub settings list prints their names",
			parse: func(c *config, s string) error { c.pinned = s; return nil },
		},
		{
			name: "log-level", arg: "LEVEL", value: "info",
			help:  "debug, info, warn or error",
			parse: func(c *config, s string) (err error) { c.logging.level, err = parseLevel(s); return err },
		},
		{
			name: "log-format", arg: "FORMAT", value: "text",
			help:  "text or json",
			parse: func(c *config, s string) error { return oneOf(&c.logging.format, s, "text", "json") },
		},
		{
			name: "shutdown-grace", arg: "DURATION", value: "20s",
			help:  "how long turns and requests may take to end after SIGTERM or SIGINT",
			parse: func(c *config, s string) (err error) { c.grace, err = command.ParseDuration(s); return err },
		},
		{
			name: "replica-id", arg: "ID", older: "HUB_REPLICA",
			help: "the name of this process among the hubs that share a store; a new random name per\n" +
				"start by default. Two running hubs must not have the same name",
			parse: func(c *config, s string) error { return parseReplica(&c.replica, s) },
		},
		{
			name: "supervised", value: "false",
			help: "something starts this hub again when a signal ends it, as hub supervise, systemd and Kubernetes\n" +
				"do. With the demo provider admins may then kill it in the tour. hub supervise sets it.\n" +
				"Without effect on Windows and in process 1 of a container, which cannot be killed from inside",
			parse: func(c *config, s string) (err error) { c.supervised, err = parseSwitch(s); return err },
		},
	}
}

func parseAddr(s string) (string, error) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", errors.New("want HOST:PORT, as in 127.0.0.1:8080 or [::1]:8080")
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", errors.New("want a port from 0 to 65535")
	}
	return net.JoinHostPort(host, port), nil
}

// withPort returns the address below with the port of the variable PORT.
func withPort(below, port string) string {
	host, _, _ := net.SplitHostPort(below) // load has reported an invalid one
	return net.JoinHostPort(host, port)
}

func parseLevel(s string) (slog.Level, error) {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	for _, l := range levels {
		if strings.EqualFold(l.String(), s) {
			return l, nil
		}
	}
	return 0, errors.New("want debug, info, warn or error")
}

func parseSwitch(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("want true or false")
}

// parsePrefix refuses characters that make keys hard to type, and braces, which are hash tags in
// Redis Cluster.
func parsePrefix(prefix *string, s string) error {
	if !prefixForm.MatchString(s) {
		return errors.New("want letters, digits and any of ._-:/")
	}
	*prefix = s
	return nil
}

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9._:/-]{1,64}$`)

// parseReplica accepts an empty name, for which serve generates one.
func parseReplica(id *wire.ReplicaID, s string) error {
	*id = wire.ReplicaID(s)
	if s == "" {
		return nil
	}
	return id.Validate()
}

func oneOf(field *string, s string, choices ...string) error {
	if slices.Contains(choices, s) {
		*field = s
		return nil
	}
	last := len(choices) - 1
	return fmt.Errorf("want %s or %s", strings.Join(choices[:last], ", "), choices[last])
}
