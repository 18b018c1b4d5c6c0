package main

import (
	"io"
	"log/slog"
)

// logging holds the level and format of the log.
type logging struct {
	level  slog.Level
	format string
}

func (l logging) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: l.level}
	if l.format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
