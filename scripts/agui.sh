#!/usr/bin/env bash
# agui.sh   installs the AG-UI clients of npm (HttpAgent 1.0 and 0.0, the core of CopilotKit) below .bin/agui,
# unless they are there, builds the hub, and lets them talk to it; see scripts/agui/clients.mjs.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh redis-server
new=1.0.0 old=0.0.59 copilotkit=1.74.0
dir=$PWD/.bin/agui/$new-$old-$copilotkit
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "@ag-ui/client@$new" "agui-old@npm:@ag-ui/client@$old" "@copilotkit/core@$copilotkit")
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
if [ -z "${EVERDESK_BINARY:-}" ]; then
  export EVERDESK_BINARY=$PWD/bin/hub
  scripts/build.sh "$EVERDESK_BINARY" ./cmd/hub
fi
AGUI_PACKAGES=$dir node scripts/agui/clients.mjs
