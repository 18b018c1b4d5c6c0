package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/store"
)

// The versions of keys and scripts. A store of a newer format is refused. A store is of the
// first format until a session is packed.
const (
	formatFirst = 1
	formatPacks = 2
)

// serverCheck checks the servers and the client when a store is opened.
type serverCheck struct{ *caller }

// run refuses a Redis or a client that would lose or repeat writes.
func (c serverCheck) run(ctx context.Context) error {
	err := c.servers.eachMaster(ctx, func(ctx context.Context, server *redis.Client) error {
		if err := c.checkClient(server); err != nil {
			return err
		}
		return c.checkServer(ctx, server)
	})
	if err != nil {
		return c.contractErrorUnlessUnfit(ctx, err)
	}
	return c.checkFormat(ctx)
}

// errUnfit marks the refusals of this file, which need no conversion by contractError.
var errUnfit = errors.New("redis is not suitable")

func (c serverCheck) contractErrorUnlessUnfit(ctx context.Context, err error) error {
	if errors.Is(err, errUnfit) {
		return err
	}
	return c.contractError(ctx, "ask redis", err)
}

func (c serverCheck) checkClient(server *redis.Client) error {
	o := server.Options()
	switch {
	case o.MaxRetries > 0:
		return fmt.Errorf("%w: the client retries by itself and so repeats writes: set MaxRetries to -1", errUnfit)
	case !o.ContextTimeoutEnabled:
		return fmt.Errorf("%w: the client does not obey contexts: set ContextTimeoutEnabled", errUnfit)
	case o.ReadTimeout <= 0:
		return fmt.Errorf("%w: the client has no read timeout: set ReadTimeout", errUnfit)
	case c.cfg.ReplicaWait >= o.ReadTimeout:
		return fmt.Errorf("%w: ReplicaWait of %v is not shorter than the client's read timeout of %v",
			errUnfit, c.cfg.ReplicaWait, o.ReadTimeout)
	}
	return nil
}

// checkServer reads INFO, which needs fewer permissions than CONFIG and contains the same
// values.
func (c serverCheck) checkServer(ctx context.Context, server *redis.Client) error {
	text, err := server.Info(ctx).Result()
	if err != nil {
		return err
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return fmt.Errorf("%w: redis at %s is version %q, want 7.0 or newer", errUnfit, server.Options().Addr, version)
	}
	if policy := info["maxmemory_policy"]; policy != "noeviction" && !c.cfg.AllowEviction {
		return fmt.Errorf("%w: redis at %s has maxmemory-policy %s and may evict sessions:"+
			" run CONFIG SET maxmemory-policy noeviction there, or accept that with the setting store-allow-eviction",
			errUnfit, server.Options().Addr, policy)
	}
	return nil
}

func (c serverCheck) checkFormat(ctx context.Context) error {
	key := c.keys.format()
	var found string
	err := c.runOnServer(ctx, "read store format", retryable, key, func(ctx context.Context, server *redis.Client) error {
		if err := server.SetNX(ctx, key, formatFirst, 0).Err(); err != nil && !isRedisError(err, "OOM") {
			return err
		}
		var err error
		found, err = server.Get(ctx, key).Result()
		return err
	})
	if err != nil {
		return err
	}
	if n, err := strconv.Atoi(found); found != "" && (err != nil || n > formatPacks) {
		return fmt.Errorf("%w: %w: key %s says format %q, this program knows %d",
			errUnfit, store.ErrNewerSchema, key, found, formatPacks)
	}
	return nil
}
