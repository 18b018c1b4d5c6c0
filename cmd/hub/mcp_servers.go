package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/everdesk/everdesk/mcpclient"
	"github.com/everdesk/everdesk/secrets"
)

// newMCPServers returns the manager of MCP servers. It reads the operator's file, which must be valid.
func newMCPServers(cfg config, p process, docs mcpclient.Documents, from *secrets.Store, changed func(ctx context.Context, user string)) (*mcpclient.Manager, error) {
	var operator mcpclient.Document
	if cfg.agents.mcpFile != "" {
		data, err := os.ReadFile(cfg.agents.mcpFile)
		if err != nil {
			return nil, fmt.Errorf("--mcp-servers: %w", err)
		}
		if operator, err = mcpclient.Parse(data); err != nil {
			return nil, fmt.Errorf("--mcp-servers: %s: %w", cfg.agents.mcpFile, err)
		}
	}
	for _, w := range operator.Warnings {
		p.log.Warn("part of the MCP servers is ignored", "file", cfg.agents.mcpFile, "server", w)
	}
	return mcpclient.NewManager(mcpclient.Config{
		Operator: operator.Servers, Store: mcpclient.NewStore(docs, cfg.agents.userCommands, operator.Servers, changed), Secrets: from,
		Hosts: cfg.agents.webHosts, Env: os.LookupEnv, Dir: filepath.Join(cfg.agents.folder, "mcp"), Version: version(), Logger: p.log,
	}), nil
}
