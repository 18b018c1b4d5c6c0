package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/providers/claude"
	"github.com/everdesk/everdesk/providers/codex"
	"github.com/everdesk/everdesk/wire"
)

// workDir returns the directory in which an agent that is a program works: the workspace that the session has chosen, else
// the folder of the session's files, so that people see what the agent makes. It is a private folder if the files are in a
// bucket, and for agents that speak ACP: some of them start programs that files in their directory name, and users upload files.
func (h *App) workDir(ctx context.Context, cfg config, id wire.SessionID, provider string) (agentpool.WorkDir, error) {
	path, err := h.workspaces.Of(ctx, id)
	switch {
	case err != nil || path != "":
		return agentpool.WorkDir{Path: path}, err //nolint:wrapcheck // it says what failed
	case cfg.filesBucket != nil || provider != claude.Name && provider != codex.Name:
		return agentpool.WorkDir{Path: sessionFolder(cfg.agents.folder, id)}, nil
	}
	if path, err = filepath.Abs(filepath.Join(cfg.filesFolder(), string(id))); err != nil {
		return agentpool.WorkDir{}, fmt.Errorf("folder of files: %w", err)
	}
	return agentpool.WorkDir{Path: path, Files: true}, nil
}

// plainName matches ids that are safe as the name of a folder.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,100}$`)

// sessionFolder returns the private folder of a session's agents.
func sessionFolder(folder string, id wire.SessionID) string {
	name := string(id)
	if !plainName.MatchString(name) {
		sum := sha256.Sum256([]byte(name))
		name = "hash-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(folder, "work", name)
}
