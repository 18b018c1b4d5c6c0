#!/usr/bin/env bash
# roo.sh   installs node-ipc and the schemas of Roo-Code below .bin/roo, unless they are there, builds the hub,
# and lets a client use sessions through the IPC socket; see scripts/roo/client.mjs. Then it runs the
# first steps of docs/PROTOCOLS.md.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh redis-server
ipc=12.0.0 types=1.115.0 ws=8.18.3
dir=$PWD/.bin/roo/$ipc-$types
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "node-ipc@$ipc" "@roo-code/types@$types" "ws@$ws")
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
if [ -z "${EVERDESK_BINARY:-}" ]; then
  export EVERDESK_BINARY=$PWD/bin/hub
  scripts/build.sh "$EVERDESK_BINARY" ./cmd/hub
fi
ROO_PACKAGES=$dir node scripts/roo/client.mjs
scripts/first-steps.sh "Roo-Code IPC" "$dir" taskCompleted
