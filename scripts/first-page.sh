#!/usr/bin/env bash
# first-page.sh COMMAND…   runs the shell lines of the section AG-UI of docs/PROTOCOLS.md as a new user does, in the
# folder of a hub with an empty store, and then a command with the address that they print in COPILOTKIT_START.
# EVERDESK_BINARY is the hub. Only the ports differ from the document.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
started=''
finish() {
  [ -z "$started" ] || kill -- "-$started" 2>/dev/null || true
  wait
  rm -rf "$folder"
}
trap finish EXIT
read -r hub page < <(node -e '
  const servers = [0, 1].map(() => require("net").createServer().listen(0, "127.0.0.1"));
  setTimeout(() => { console.log(...servers.map((s) => s.address().port)); for (const s of servers) s.close(); }, 100);')
awk '/^## / { here = $0 == "## AG-UI" } /^```$/ { code = 0 } here && code { print } /^```sh$/ { code = 1 }' "$here/docs/PROTOCOLS.md" |
  sed "s/127\.0\.0\.1:8080/127.0.0.1:$hub/g; s/\b5173\b/$page/g" >"$folder/first.sh"
[ -s "$folder/first.sh" ] || { echo "docs/PROTOCOLS.md has no shell lines in the section AG-UI" >&2; exit 1; }
mkdir "$folder/bin"
ln -s "$EVERDESK_BINARY" "$folder/bin/hub"
ln -s "$here/web" "$folder/web"
export HUB_ADDR=127.0.0.1:$hub HUB_APPS_ADDR=off HUB_PROVIDER=demo npm_config_prefer_offline=true
(cd "$folder" && exec setsid bash first.sh) >"$folder/out" 2>&1 &
started=$!
deadline=$((SECONDS + 300))
until grep -q "^http://127.0.0.1:$page/" "$folder/out" && curl -fs -o "$folder/ready" "http://127.0.0.1:$page/" && curl -fs -o "$folder/ready" "http://127.0.0.1:$hub/readyz"; do
  if [ $SECONDS -ge $deadline ]; then
    echo "the page of the first steps does not start" >&2
    cat "$folder/out" >&2
    exit 1
  fi
  sleep 0.5
done
COPILOTKIT_START=$(grep "^http://127.0.0.1:$page/" "$folder/out")
export COPILOTKIT_START
unset HUB_ADDR HUB_APPS_ADDR HUB_PROVIDER
"$@"
