package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/everdesk/everdesk/sessionfile"
	"github.com/everdesk/everdesk/wire"
)

// logTimeout is the timeout of transferring a session file.
const logTimeout = 10 * time.Minute

// exportSession writes a session to a file.
func exportSession(ctx context.Context, p program) error {
	var wrong complaints
	own, rest := ownFlags(p.args, map[string]bool{"server": true, "token": true, "out": true, "force": false}, &wrong)
	r, rest := askHub(own, rest, p, &wrong)
	if len(rest) == 0 {
		wrong.add("say which session")
		return wrong.orNil()
	}
	id := wire.SessionID(rest[0])
	if err := id.Validate(); err != nil {
		wrong.add("session %q: %v", rest[0], err)
	}
	refuse(rest[1:], &wrong)
	if err := wrong.orNil(); err != nil {
		return err
	}
	name := cmp.Or(own.last("out"), string(id)+".zip")
	if _, err := os.Lstat(name); err == nil && name != "-" && own["force"] == nil {
		return fmt.Errorf("export %s: %s is there already; --force replaces it", id, name)
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	res, err := r.transfer(ctx, http.MethodGet, r.server.JoinPath("api", "sessions", string(id), "export"), nil, 0)
	if err != nil {
		return fmt.Errorf("export %s: %w", id, err)
	}
	defer res.Body.Close()
	if name == "-" {
		_, err := io.Copy(p.stdout, res.Body)
		return err
	}
	size, err := saveWhole(name, res.Body)
	if err != nil {
		return fmt.Errorf("export %s: %w", id, err)
	}
	fmt.Fprintf(p.stdout, "%s: %d bytes\n", name, size)
	return nil
}

// saveWhole writes a file atomically: to a temporary file in the same folder, which it renames.
func saveWhole(name string, from io.Reader) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".export-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	size, err = io.Copy(f, from)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return size, os.Rename(f.Name(), name)
}

// importSession creates a session from a file.
func importSession(ctx context.Context, p program) error {
	var wrong complaints
	own, rest := ownFlags(p.args, map[string]bool{"server": true, "token": true, "policy": true, "window": true, "title": true}, &wrong)
	r, rest := askHub(own, rest, p, &wrong)
	if len(rest) == 0 {
		wrong.add("say which file")
		return wrong.orNil()
	}
	refuse(rest[1:], &wrong)
	policy := sessionfile.Policy{Kind: sessionfile.PolicyKind(own.last("policy"))}
	for _, id := range own["window"] {
		policy.Windows = append(policy.Windows, wire.WindowID(id))
	}
	if err := policy.Check(); err != nil {
		wrong.add("%v", err)
	}
	if err := wrong.orNil(); err != nil {
		return err
	}
	f, err := os.Open(rest[0])
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	about, err := f.Stat()
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	target := r.server.JoinPath("api", "sessions", "import")
	q := url.Values{}
	for _, name := range []string{"policy", "title"} {
		if v := own.last(name); v != "" {
			q.Set(name, v)
		}
	}
	q["window"] = own["window"]
	target.RawQuery = q.Encode()
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	res, err := r.transfer(ctx, http.MethodPost, target, f, about.Size())
	if err != nil {
		return fmt.Errorf("import %s: %w", rest[0], err)
	}
	defer res.Body.Close()
	var made struct {
		SessionID wire.SessionID `json:"sessionId"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&made); err != nil || made.SessionID.Validate() != nil {
		return fmt.Errorf("import %s: %s did not answer like a hub", rest[0], r.server.Host)
	}
	fmt.Fprintln(p.stdout, made.SessionID)
	return nil
}
