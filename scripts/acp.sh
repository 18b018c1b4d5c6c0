#!/usr/bin/env bash
# acp.sh   installs the ACP client of npm below .bin/acp, unless it is there, builds the hub, and lets the
# client use sessions through `hub acp`; see scripts/acp/client.mjs. Then it runs the first steps of docs/PROTOCOLS.md.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh redis-server
sdk=2.4.0 ws=8.18.3
dir=$PWD/.bin/acp/$sdk-$ws
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "@agentclientprotocol/sdk@$sdk" "ws@$ws")
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
if [ -z "${EVERDESK_BINARY:-}" ]; then
  export EVERDESK_BINARY=$PWD/bin/hub
  scripts/build.sh "$EVERDESK_BINARY" ./cmd/hub
fi
ACP_PACKAGES=$dir node scripts/acp/client.mjs
scripts/first-steps.sh ACP "$dir" "Hello from ACP" agent_message_chunk
