#!/usr/bin/env bash
# agui.sh   installs the AG-UI clients of npm (HttpAgent 1.0 and 0.0, CopilotKit) below .bin/agui, unless they are
# there, builds the hub, and lets them talk to it; see scripts/agui/clients.mjs. It runs the first steps
# of docs/PROTOCOLS.md. Then it builds the example page with CopilotKit's chat and uses it in a browser; see
# web/e2e/copilotkit*.npm.ts.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh redis-server chromium
new=1.0.0 old=0.0.59 copilotkit=1.74.0 ws=8.18.3
dir=$PWD/.bin/agui/$new-$old-$copilotkit-$ws
if [ ! -d "$dir/node_modules" ]; then
  mkdir -p "$dir.new"
  echo '{"private":true}' >"$dir.new/package.json"
  (cd "$dir.new" && npm install --silent --no-audit --no-fund "@ag-ui/client@$new" "agui-old@npm:@ag-ui/client@$old" "@copilotkit/core@$copilotkit" "ws@$ws")
  rm -rf "$dir" && mv "$dir.new" "$dir"
fi
if [ -z "${EVERDESK_BINARY:-}" ]; then
  export EVERDESK_BINARY=$PWD/bin/hub
  scripts/build.sh "$EVERDESK_BINARY" ./cmd/hub
fi
AGUI_PACKAGES=$dir node scripts/agui/clients.mjs
scripts/first-steps.sh AG-UI "$dir" "role: 'assistant'" "monitor-0/note-1"
page=$dir-page
if [ ! -d "$page/node_modules" ]; then
  mkdir -p "$page.new"
  echo '{"private":true}' >"$page.new/package.json"
  (cd "$page.new" && npm install --silent --no-audit --no-fund "@copilotkit/react-core@$copilotkit" "@ag-ui/client@$old" react@19 react-dom@19)
  rm -rf "$page" && mv "$page.new" "$page"
fi
rm -rf "$page/source" && cp -r web/examples/copilotkit "$page/source"
cd web
[ -d node_modules ] || npm ci --silent
npx vite build "$page/source" --outDir "$page/built" --emptyOutDir --logLevel error
COPILOTKIT_PAGE=$page/built ../scripts/first-page.sh npx vitest run --config vitest.e2e.config.ts --mode npm copilotkit
