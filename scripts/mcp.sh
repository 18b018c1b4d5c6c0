#!/usr/bin/env bash
# mcp.sh   installs the MCP SDK and the Inspector from npm below .bin/mcp, unless they are there, builds
# the hub, and lets both list and call every tool of it; see scripts/mcp/clients.mjs.
set -euo pipefail
cd "$(dirname "$0")/.."
sdk=1.32.2 inspector=2.12.0
dir=$PWD/.bin/mcp/$sdk-$inspector
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "@modelcontextprotocol/sdk@$sdk" "@modelcontextprotocol/inspector@$inspector")
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
if [ -z "${EVERDESK_BINARY:-}" ]; then
  export EVERDESK_BINARY=$PWD/bin/hub
  scripts/build.sh "$EVERDESK_BINARY" ./cmd/hub
fi
MCP_PACKAGES=$dir node scripts/mcp/clients.mjs
