#!/usr/bin/env bash
# chaos.sh [FAULT…]   breaks hubs and stores in every way of the fault table, with
# all rounds, one after the other, and prints the table of results for
# bench/README.md. FAULT is the beginning of a test's name after "Test", as F01 or
# Linearizable; none means all. Continues after a failure, and fails at the end. The
# output of a fault that failed names the seed and the history.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t tests < <(grep -hoE '^func Test(F[0-9]{2}|Linearizable)[A-Za-z0-9_]*' internal/chaos/*_test.go | sed 's/^func //' | sort)
wanted=()
for test in "${tests[@]}"; do
  [ $# -gt 0 ] || wanted+=("$test")
  for fault in "$@"; do
    [[ $test != "Test$fault"* ]] || wanted+=("$test")
  done
done
for fault in "$@"; do
  printf '%s\n' "${tests[@]}" | grep -q "^Test$fault" || {
    echo "no fault begins with $fault; there are: ${tests[*]#Test}" >&2
    exit 2
  }
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
results=$folder/results.jsonl
touch "$results"
failed=()
for test in "${wanted[@]}"; do
  echo "== ${test#Test}"
  before=$(wc -l <"$results")
  if ! "${GO:-go}" test -count=1 -timeout 40m ./internal/chaos -run "^$test\$" -chaos.full -chaos.report "$results"; then
    failed+=("${test#Test}")
  elif [ "$(wc -l <"$results")" -eq "$before" ]; then
    echo "${test#Test} passed without a result" >&2
    failed+=("${test#Test}")
  fi
done

echo
"${GO:-go}" run ./internal/hubtest/replay -table "$results"
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
