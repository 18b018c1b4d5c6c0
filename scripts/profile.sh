#!/usr/bin/env bash
# profile.sh   profiles a hub under load and writes the profile to
# cmd/hub/release.pgo, for the compiler. The hub that is measured is built without it, so
# that the previous profile does not influence the next.
set -euo pipefail
cd "$(dirname "$0")/.."
GO=${GO:-go}
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

port=${PORT:-9912}
CGO_ENABLED=0 "$GO" build -o "$home/hub" ./cmd/hub
"$GO" -C bench build -o "$home/load" ./load
cat >"$home/measured-hub" <<END
#!/bin/sh
exec "$home/hub" "\$@" --admin-addr 127.0.0.1:$port
END
chmod +x "$home/measured-hub"

# measure NAME ARGUMENTS…   runs bench/load and profiles the hub while it is busy.
measure() {
  local name=$1
  shift
  "$home/load" --hub "$home/measured-hub" --rounds 1 --duration 12s "$@" >"$home/$name.json" 2>&1 &
  local load=$!
  # Sessions and tabs are created first, and a fifth of the time is warm-up.
  until "$GO" tool pprof -proto -output "$home/$name.pgo" -seconds 1 "http://127.0.0.1:$port/debug/pprof/profile" >"$home/$name.log" 2>&1; do
    kill -0 "$load" || { cat "$home/$name.json" "$home/$name.log"; exit 1; }
    sleep 0.2
  done
  sleep 5
  "$GO" tool pprof -proto -output "$home/$name.pgo" -seconds 6 "http://127.0.0.1:$port/debug/pprof/profile" >"$home/$name.log" 2>&1
  wait "$load"
}

measure many-file --servers file many
measure many-redis --servers redis many
measure fanout --servers file fanout
"$GO" tool pprof -proto -output cmd/hub/release.pgo "$home"/many-file.pgo "$home"/many-redis.pgo "$home"/fanout.pgo
ls -l cmd/hub/release.pgo
