#!/usr/bin/env bash
# together.sh   installs clients of npm below .bin/together, unless they are there, builds the hub, and lets them use one
# session at the same time, each with its own protocol; see scripts/together.mjs.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh redis-server
new=1.0.0 old=0.0.59 acp=2.4.0 ipc=12.0.0 types=1.115.0 ws=8.18.3
dir=$PWD/.bin/together/$new-$old-$acp-$ipc-$types-$ws
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "@ag-ui/client@$new" "agui-old@npm:@ag-ui/client@$old" \
    "@agentclientprotocol/sdk@$acp" "node-ipc@$ipc" "@roo-code/types@$types" "ws@$ws")
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
if [ -z "${EVERDESK_BINARY:-}" ]; then
  export EVERDESK_BINARY=$PWD/bin/hub
  scripts/build.sh "$EVERDESK_BINARY" ./cmd/hub
fi
TOGETHER_PACKAGES=$dir node scripts/together.mjs
