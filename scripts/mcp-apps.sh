#!/usr/bin/env bash
# mcp-apps.sh   installs servers with views (MCP Apps) from npm below .bin/mcp-apps, unless they are there, and opens
# their views in a browser; see web/e2e/mcp-apps.npm.ts. No internet is
# needed after the installation.
set -euo pipefail
cd "$(dirname "$0")/.."
version=2.0.3
dir=$PWD/.bin/mcp-apps/$version
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "@modelcontextprotocol/server-map@$version" "@modelcontextprotocol/server-budget-allocator@$version" \
    "@modelcontextprotocol/server-basic-vanillajs@$version" "@modelcontextprotocol/server-threejs@$version" "@modelcontextprotocol/server-pdf@2.0.4" "@modelcontextprotocol/server-system-monitor@$version")
  # The map loads this library from cesium.com; the test serves it from here.
  (cd "$dir.new" && npm pack --silent cesium@1.123.1 && mkdir cesium && tar -xzf cesium-1.123.1.tgz -C cesium package/Build/Cesium && rm cesium-1.123.1.tgz)
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
cd web
MCP_APP_PACKAGES=$dir npx vitest run --config vitest.e2e.config.ts --mode npm mcp-apps
