#!/usr/bin/env bash
# soak.sh SECONDS   runs the tests of the stores, histories, contexts, approval rules and plans
# repeatedly for that long, each round in another order, with ten times the random
# programs or more, and more kills. It finishes a round that has begun, and ends at the first failure; the output names the seeds
# that reproduce it.
set -euo pipefail
export FILESTORE_KILL_ROUNDS=${FILESTORE_KILL_ROUNDS:-200}

end=$((SECONDS + ${1:?usage: soak.sh SECONDS}))
round=0
while ((SECONDS < end)); do
  round=$((round + 1))
  for package in $("${GO:-go}" list ./store/... ./contextpool ./history ./approval ./workflow); do
    echo "== round $round: $package"
    more=()
    # Only programs that contain the library know its flags.
    if "${GO:-go}" list -deps -test "$package" | grep -q '^pgregory.net/rapid$'; then
      more=(-rapid.checks=1000)
    fi
    CGO_ENABLED=1 "${GO:-go}" test -race -count=1 -shuffle=on -timeout 60m "$package" "${more[@]}"
  done
done
