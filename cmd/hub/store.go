package main

import (
	"context"
	"errors"
	"strings"
)

// engine is what the hub needs of a store so far.
type engine interface {
	Ready(ctx context.Context) error
	Close() error
}

// storeConfig says which store to open and how.
type storeConfig struct {
	folder string // of a file store; empty for Redis
}

// parseURL takes the store setting apart, as far as that is possible without
// touching anything.
func (c *storeConfig) parseURL(s string) error {
	scheme, rest, ok := strings.Cut(s, ":")
	if ok && scheme == "file" {
		c.folder = strings.TrimPrefix(rest, "//")
		if c.folder == "" {
			return errors.New("want a folder, as in file:./everdesk-data")
		}
		return nil
	}
	return errors.New("want file:, redis:, rediss:, redis+sentinel: or redis+cluster:")
}

func (c storeConfig) open(context.Context) (engine, error) { return stub{}, nil }

type stub struct{}

func (stub) Ready(context.Context) error { return nil }
func (stub) Close() error                { return nil }

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
