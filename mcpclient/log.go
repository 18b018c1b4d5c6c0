package mcpclient

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everdesk/everdesk/internal/truncation"
)

// Bounds of a log.
const (
	logLines = 200
	logLine  = 1000 // bytes
	// heldLine bounds what is held of a line on standard error. It is longer than a line of the log, which is cut after
	// secrets were removed: a cut before could split one.
	heldLine = 64 << 10
)

// Source says where a line of a log comes from.
type Source string

// The sources.
const (
	FromStderr Source = "stderr"
	FromHub    Source = "hub"      // states of the instance
	Sent       Source = "sent"     // requests to the server
	Received   Source = "received" // requests and notifications of the server
)

// Line is a line of the log of a server.
type Line struct {
	Time time.Time
	From Source
	Text string
}

// ring keeps the last lines about an instance, without secrets.
type ring struct {
	mu      sync.Mutex // guards the following
	lines   []Line
	secrets []string
	partial []byte // of a line on standard error
}

// maxHidden bounds the secrets of earlier instances that a log replaces, too.
const maxHidden = 64

// hide makes the log replace secrets, and those of earlier instances, which may still write.
func (r *ring) hide(secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		if !slices.Contains(r.secrets, s) {
			r.secrets = append(r.secrets, s)
		}
	}
	r.secrets = r.secrets[max(len(r.secrets)-max(maxHidden, len(secrets)), 0):]
}

// add adds a line.
func (r *ring) add(from Source, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.append(from, text)
}

func (r *ring) append(from Source, text string) {
	if len(r.lines) >= logLines {
		r.lines = append(r.lines[:0], r.lines[1:]...)
	}
	r.lines = append(r.lines, Line{time.Now(), from, truncation.BytesMarked(r.redact(strings.ToValidUTF8(text, "\uFFFD")), logLine, "…")})
}

// redact returns a text without the secrets of the instance, the longest first: one may contain another.
func (r *ring) redact(text string) string {
	for _, s := range slices.SortedFunc(slices.Values(r.secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}

// clean returns a text for people, without secrets.
func (r *ring) clean(text string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return truncation.BytesMarked(r.redact(text), 2*logLine, "…")
}

// Write implements [io.Writer] for standard error.
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := heldLine - len(r.partial); room > 0 {
			r.partial = append(r.partial, line[:min(len(line), room)]...)
		}
		if !whole {
			break
		}
		if text := strings.TrimRight(string(r.partial), "\r \t"); text != "" {
			r.append(FromStderr, text)
		}
		r.partial, rest = r.partial[:0], after
	}
	return len(p), nil
}

// all returns the lines, oldest first.
func (r *ring) all() []Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Line{}, r.lines...)
}
