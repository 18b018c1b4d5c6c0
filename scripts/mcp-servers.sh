#!/usr/bin/env bash
# mcp-servers.sh   installs MCP servers from npm below .bin/mcp-servers, unless they are there, and lets agents
# of a hub call their tools; see TestMCPServersFromNPM.
set -euo pipefail
cd "$(dirname "$0")/.."
version=2026.8.31
dir=$PWD/.bin/mcp-servers/$version
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "@modelcontextprotocol/server-everything@$version" "@modelcontextprotocol/server-filesystem@$version" "@modelcontextprotocol/server-memory@$version")
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
MCP_SERVER_PACKAGES=$dir "${GO:-go}" test -count=1 -tags npmservers -run 'TestMCPServersFromNPM$' -v ./cmd/hub
