package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/everdesk/everdesk/agentpool"
	"github.com/everdesk/everdesk/auth"
	"github.com/everdesk/everdesk/cmd/hub/internal/remote"
	"github.com/everdesk/everdesk/gateway"
	"github.com/everdesk/everdesk/metrics"
	"github.com/everdesk/everdesk/ratelimit"
)

// The functions of this file derive the configuration of a component from the settings, which
// they do not change.

// slotLease is the minimum TTL of an agent slot: the limiter renews slots one after the other,
// which takes time.
const slotLease = 3 * time.Second

// observed returns the settings of a store whose requests m counts.
func (c storeConfig) observed(m *metrics.Metrics) storeConfig {
	c.observer = m
	return c
}

func (c config) authority(p process) auth.Config {
	a := c.auth
	a.Logger = p.log
	return a
}

// agentLimits returns the limits of agents. The slots of a crashed hub expire when its sessions can
// be taken over; otherwise the resumed turns would wait for the slots of their interrupted runs.
func (c config) agentLimits() agentpool.Limits {
	l := c.agents.limits
	l.TTL = max(c.session.Lease, slotLease)
	return l
}

func (c config) rateLimits(p process) ratelimit.Config {
	l := c.limits
	l.Observer = p.metrics
	return l
}

func (c config) gatewayConfig(p process) gateway.Config {
	g := c.gateway
	g.Version = version()
	g.Hosts = append(slices.Clone(g.Hosts), hostOf(p.addr))
	if p.admin != nil {
		g.SeparateAdmin = true
		g.Hosts = append(g.Hosts, hostOf(p.admin))
	}
	if c.limits.Off {
		g.UserSessions, g.UserConnections = -1, -1
	}
	return g
}

// filesFolder returns the folder of uploaded files: by default beside the data of a file store,
// else in the working directory.
func (c config) filesFolder() string {
	switch {
	case c.files != "":
		return c.files
	case c.store.kind == fileStore:
		return filepath.Join(c.store.folder, "files")
	}
	return "everdesk-files"
}

// writeTokenFile writes the token to a file in the folder of a file store that only the same user
// can read, so that `hub attach` works without arguments. It first removes the file of an
// earlier start. A user who can read the folder can read every session in it anyway.
func writeTokenFile(store storeConfig, token string) error {
	if store.kind != fileStore {
		return nil
	}
	path := filepath.Join(store.folder, remote.TokenFile)
	// An existing file may be readable by other users, or a link to another file.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the token of an earlier start: %w", err)
	}
	if token == "" {
		return nil
	}
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return fmt.Errorf("leave the token in %s: %w", path, err)
	}
	return nil
}
