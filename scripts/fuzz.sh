#!/usr/bin/env bash
# fuzz.sh DURATION   runs every fuzz target of the module for that long. Minimizing an
# interesting input may take one second at most.
set -euo pipefail

duration=${1:?usage: fuzz.sh DURATION}
grep -rnoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' . | sort |
  while IFS=: read -r file _ declaration; do
    target=${declaration#func }
    echo "== $target in $(dirname "$file") for $duration"
    "${GO:-go}" test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -fuzzminimizetime 1s "$(dirname "$file")"
  done
