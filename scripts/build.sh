#!/usr/bin/env bash
# build.sh OUTPUT PACKAGE   builds a program as tests build the hub, so that the work is
# done once for all of them, and says what takes so long when it does.
set -euo pipefail
cd "$(dirname "$0")/.."
output=${1:?usage: build.sh OUTPUT PACKAGE} package=${2:?usage: build.sh OUTPUT PACKAGE}

echo "building $package"
(
  sleep 2 >/dev/null 2>&1
  echo "  the first build downloads and compiles all dependencies: 2 to 3 minutes on two cores; later ones take seconds"
) &
note=$!
trap 'kill $note 2>/dev/null || true' EXIT
# Without -trimpath, which would compile everything again.
CGO_ENABLED=0 "${GO:-go}" build -o "$output" "$package"
