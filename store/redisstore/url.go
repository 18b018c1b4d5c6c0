package redisstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Timeouts and pool size of the client options. A session's owner stops itself after some
// seconds without the store, so the timeouts are shorter.
const (
	dialTimeout     = 2 * time.Second
	ioTimeout       = 3 * time.Second
	poolTimeout     = 2 * time.Second
	poolSize        = 32
	connMaxIdleTime = 5 * time.Minute
)

// urlForms ends every error about a URL.
const urlForms = "want redis://[user:password@]host:port[/db], rediss://…, " +
	"redis+sentinel://[user:password@]host:port,host:port/MASTER[/db] or redis+cluster://[user:password@]host:port,host:port"

// ParseURL returns the options of a client that is right for [Open], for
// redis.NewUniversalClient:
//
//	redis://[user:password@]host[:port][/db]
//	rediss://...                                    the same over TLS
//	redis+sentinel://[user:password@]host[:port],host[:port].../MASTER[/db]
//	redis+cluster://[user:password@]host[:port],host[:port]...
//
// Also rediss+sentinel and rediss+cluster. Ports default to 6379, Sentinels' to
// 26379. User and password are those of the Redis servers; Sentinels are queried
// without. Errors never show a password.
func ParseURL(text string) (*redis.UniversalOptions, error) {
	o, err := parseURL(text)
	if err != nil {
		return nil, fmt.Errorf("redis url: %w; %s", err, urlForms)
	}
	o.MaxRetries = -1 // the store itself retries
	o.ContextTimeoutEnabled = true
	o.Protocol = 2
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	o.DialerRetries = 1
	o.PoolSize, o.PoolTimeout, o.ConnMaxIdleTime = poolSize, poolTimeout, connMaxIdleTime
	// Neither exists in Redis 7.0, and each costs a round trip per connection.
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

func parseURL(text string) (*redis.UniversalOptions, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return nil, errors.New("no scheme")
	}
	base, kind, _ := strings.Cut(scheme, "+")
	if base != "redis" && base != "rediss" || (kind != "" && kind != "sentinel" && kind != "cluster") {
		return nil, fmt.Errorf("scheme %q", scheme)
	}
	if strings.ContainsAny(rest, "?#") {
		return nil, errors.New("it has a query or fragment")
	}
	o := &redis.UniversalOptions{}
	// The last @ ends the password, which may contain others.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := parseUser(o, rest[:at]); err != nil {
			return nil, err
		}
		rest = rest[at+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	defaultPort := "6379"
	if kind == "sentinel" {
		defaultPort = "26379"
	}
	if err := parseHosts(o, hosts, defaultPort); err != nil {
		return nil, err
	}
	if base == "rediss" {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12} // server names are taken from the addresses
	}
	return o, parsePath(o, kind, path)
}

// parseUser reads `user:password`. Both are percent-encoded.
func parseUser(o *redis.UniversalOptions, text string) error {
	user, password, _ := strings.Cut(text, ":")
	var errs [2]error
	o.Username, errs[0] = url.PathUnescape(user)
	o.Password, errs[1] = url.PathUnescape(password)
	if errors.Join(errs[:]...) != nil {
		return errors.New("user or password is not percent-encoded") // the error does not contain it
	}
	return nil
}

func parseHosts(o *redis.UniversalOptions, text, defaultPort string) error {
	for i, host := range strings.Split(text, ",") {
		// The error omits the host: without its '@' a password would be parsed as one.
		bad := fmt.Errorf("host number %d is not HOST:PORT", i+1)
		if host == "" {
			return errors.New("a host is missing")
		}
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), defaultPort
			if strings.Contains(name, ":") && !strings.HasPrefix(host, "[") {
				return bad
			}
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || name == "" {
			return bad
		}
		o.Addrs = append(o.Addrs, net.JoinHostPort(name, port))
	}
	return nil
}

// parsePath parses the part after the hosts: a database, or a master's name.
func parsePath(o *redis.UniversalOptions, kind, path string) error {
	db := path
	switch kind {
	case "cluster":
		o.IsClusterMode = true // also with a single seed
		if path != "" {
			return fmt.Errorf("a cluster has no databases, not even %q", path)
		}
		return nil
	case "sentinel":
		name, number, more := strings.Cut(path, "/")
		if name == "" {
			return errors.New("the master's name is missing")
		}
		if more && number == "" {
			return errors.New("the database is missing")
		}
		o.MasterName, db = name, number
	default:
		if len(o.Addrs) > 1 {
			return errors.New("several hosts, which only sentinel and cluster have")
		}
	}
	if db == "" {
		return nil
	}
	n, err := strconv.ParseUint(db, 10, 16)
	if err != nil {
		return fmt.Errorf("database %q", db)
	}
	o.DB = int(n)
	return nil
}
