package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/everdesk/everdesk/store/filestore"
)

// engine is what the hub needs of a store so far.
type engine interface {
	Ready(ctx context.Context) error
	Close() error
}

// storeKind tells stores apart by what they need.
type storeKind string

const (
	fileStore  storeKind = "file"
	redisStore storeKind = "redis"
)

// storeConfig says which store to open and how.
type storeConfig struct {
	kind   storeKind
	folder string
	sync   filestore.Sync
}

// parseURL takes the store setting apart, as far as that is possible without
// touching anything.
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
	return errors.New("want file:FOLDER or a redis URL")
}

func parseSync(s string) (filestore.Sync, error) {
	sync, err := filestore.ParseSync(s)
	if err != nil {
		return 0, errors.New("want always, interval or off")
	}
	return sync, nil
}

// open opens the store.
func (c storeConfig) open(_ context.Context, log *slog.Logger) (engine, error) {
	return filestore.Open(c.folder, filestore.Config{Sync: c.sync, Logger: log})
}

// redact hides the password of a URL. It works on the text, so that it also
// hides one that made the URL unreadable.
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
