package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/membership"
	"github.com/everdesk/everdesk/ratelimit"
	"github.com/everdesk/everdesk/session"
	"github.com/everdesk/everdesk/store/filestore"
	"github.com/everdesk/everdesk/store/redisstore"
)

// openStore holds the parts of an open store that the hub uses.
type openStore struct {
	sessions   session.Store
	documents  auth.Documents
	replicas   membership.Announcements
	semaphores agentpool.Semaphores
	rates      ratelimit.Counts
	readiness  gateway.StoreReadiness
	// cold and objects are nil unless the store can move sessions to the storage of files.
	cold    session.ColdStore
	objects *coldObjects
	signals session.Signals // nil if no other replica uses the store
	close   func() error
}

// storeKind selects an implementation of the store.
type storeKind string

const (
	fileStore  storeKind = "file"
	redisStore storeKind = "redis"
)

// storeConfig holds the settings of the store. folder and sync are for a file store, the fields
// from redis on for Redis.
type storeConfig struct {
	kind storeKind

	folder string
	sync   filestore.Sync

	redis         *redis.UniversalOptions
	prefix        string
	observer      redisstore.Observer
	allowEviction bool
}

// parseURL parses the store setting without opening anything.
func (c *storeConfig) parseURL(s string) error {
	scheme, rest, ok := strings.Cut(s, ":")
	if ok && scheme == "file" {
		c.kind, c.folder = fileStore, rest
		if path, isURL := strings.CutPrefix(rest, "//"); isURL && strings.HasPrefix(path, "/") {
			c.folder = path
		} else if isURL || rest == "" {
			return errors.New("want a folder, as in file:./everdesk-data or file:///srv/everdesk")
		}
		return nil
	}
	if !strings.HasPrefix(scheme, "redis") {
		return errors.New("want file:FOLDER or a redis URL")
	}
	var err error
	c.kind = redisStore
	c.redis, err = redisstore.ParseURL(s)
	return err
}

func parseSync(s string) (filestore.Sync, error) {
	sync, err := filestore.ParseSync(s)
	if err != nil {
		return 0, errors.New("want always, interval or off")
	}
	return sync, nil
}

// open opens the store. ctx limits the time for Redis to answer. The caller closes it.
func (c storeConfig) open(ctx context.Context, log *slog.Logger) (openStore, error) {
	if c.kind == fileStore {
		s, err := filestore.Open(c.folder, filestore.Config{Sync: c.sync, Logger: log})
		if err != nil {
			return openStore{}, err
		}
		return fileEngine(s), nil
	}
	client := redis.NewUniversalClient(c.redis)
	objects := &coldObjects{}
	s, err := redisstore.Open(ctx, client, redisstore.Config{
		Prefix: c.prefix, Objects: objects, AllowEviction: c.allowEviction, Observer: c.observer, Logger: log,
	})
	if err != nil {
		return openStore{}, errors.Join(err, client.Close())
	}
	return redisEngine(s, client, objects), nil
}

func fileEngine(s *filestore.Store) openStore {
	return openStore{
		sessions: session.StoreOf(s.Sessions), documents: s.Documents, replicas: s.Replicas, semaphores: s.Semaphores, rates: s.Rates,
		readiness: s, close: s.Close,
	}
}

// redisEngine closes the client with the store, which does not close it itself.
func redisEngine(s *redisstore.Store, client redis.UniversalClient, objects *coldObjects) openStore {
	return openStore{
		sessions: session.StoreOf(s.Sessions), documents: s.Documents, replicas: s.Replicas, semaphores: s.Semaphores, rates: s.Rates,
		cold: s.Cold, objects: objects, signals: s.Signals,
		readiness: s, close: func() error { return errors.Join(s.Close(), client.Close()) },
	}
}

// redact replaces the password of a URL with ***. It works on the text, so that it also hides a
// password that makes the URL invalid.
func redact(s string) string {
	scheme, rest, ok := strings.Cut(s, "://")
	at := strings.LastIndexByte(rest, '@')
	if !ok || at < 0 {
		return s
	}
	user, _, has := strings.Cut(rest[:at], ":")
	if has {
		user += ":***"
	}
	return scheme + "://" + user + rest[at:]
}
