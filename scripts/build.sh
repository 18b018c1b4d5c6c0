#!/usr/bin/env bash
# build.sh OUTPUT PACKAGE [MODULE]   builds a program, of the module in folder MODULE or of
# this one, with the flags that tests use, so that both share the build cache. It explains
# a slow first build.
set -euo pipefail
cd "$(dirname "$0")/.."
usage='usage: build.sh OUTPUT PACKAGE [MODULE]'
output=$(realpath -m "${1:?$usage}") package=${2:?$usage} module=${3:-.}

echo "building $package"
(
  sleep 2 >/dev/null 2>&1
  echo "  the first build downloads and compiles all dependencies: 3 to 6 minutes on two cores; later ones take seconds"
) &
note=$!
trap 'kill $note 2>/dev/null || true' EXIT
CGO_ENABLED=0 "${GO:-go}" -C "$module" build -ldflags "$(scripts/ldflags.sh)" -o "$output" "$package"
