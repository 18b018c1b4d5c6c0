#!/usr/bin/env bash
# first-steps.sh SECTION PACKAGES TEXT…   runs the JavaScript of a section of docs/PROTOCOLS.md as a new user does, in
# the folder of a hub with an empty store, until it has printed all texts or a minute has passed. PACKAGES is the folder
# with node_modules, EVERDESK_BINARY the hub. Only the port differs from the document.
set -euo pipefail
cd "$(dirname "$0")/.."
section=$1 packages=$2
shift 2
folder=$(mktemp -d)
hub='' program=''
finish() {
  for process in $program $hub; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap finish EXIT
port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); })')
awk -v section="## $section" '$0 ~ /^## / { here = $0 == section } /^```$/ { code = 0 } here && code { print } /^```js$/ { code = 1 }' docs/PROTOCOLS.md |
  sed "s/127\.0\.0\.1:8080/127.0.0.1:$port/" >"$folder/first.mjs"
[ -s "$folder/first.mjs" ] || { echo "docs/PROTOCOLS.md has no JavaScript in the section $section" >&2; exit 1; }
mkdir "$folder/bin"
ln -s "$EVERDESK_BINARY" "$folder/bin/hub"
ln -s "$packages/node_modules" "$folder/node_modules"
cd "$folder"
export HUB_ADDR=127.0.0.1:$port # of the hub, and where `hub acp` looks for it
bin/hub serve --apps-addr off --provider demo --ipc-socket run/roo.sock --log-level error >hub.out 2>&1 &
hub=$!
deadline=$((SECONDS + 60))
until curl -fs -o ready "http://127.0.0.1:$port/readyz"; do
  [ $SECONDS -lt $deadline ] || { cat hub.out >&2; exit 1; }
  sleep 0.2
done
: >out # before it is searched
node first.mjs >out 2>&1 &
program=$!
for text in "$@"; do
  until grep -qF -- "$text" out; do
    if [ $SECONDS -ge $deadline ]; then
      echo "the first steps of $section do not print: $text" >&2
      cat out >&2
      exit 1
    fi
    sleep 0.2
  done
done
echo "ok  the first steps of $section in docs/PROTOCOLS.md"
