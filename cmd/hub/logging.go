package main

import (
	"io"
	"log/slog"
)

// logging says what is logged and how.
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
