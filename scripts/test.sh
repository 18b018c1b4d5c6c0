#!/usr/bin/env bash
# test.sh [--busy | --fast] [PART…]   runs the parts of the tests, all if none is named,
# and continues after a failed part; then it prints the result of each, and fails if one failed.
#
# The tests of go wait for part of their time, so web and python run beside go, with their
# output after its own. With --busy the parts run one after the other, beside two loops that
# keep two cores busy: a test must not depend on an idle machine.
#
# With --fast there are only the parts web and go, and go runs without the race detector,
# with a fifth of the random programs (-short), without the packages in slow and the tests
# in slow_tests, and without the packages whose result is in the build cache. It is for
# every change; before a change is proposed all parts run.
#
#   web     unit tests of the pages, in Node
#   go      all Go packages but the next one, with the race detector; make check tests internal/arch
#   chaos   internal/chaos, alone: clusters of hubs need the whole machine
#   python  the example client in Python, against a hub
#   e2e     the pages in a browser, against hubs
set -euo pipefail
cd "$(dirname "$0")/.."
export GO=${GO:-go}

fast=
all=(web go chaos python e2e)
needed=(node gcc git redis-server chromium pdftotext promtool python3-websockets jupyter-server python3-matplotlib)
# Packages and tests that --fast leaves out: they start many processes, wait in real time
# or compile programs.
slow='/(browser|internal/(chaos|hubtest|redistest))$'
slow_tests='WebPages|BrowserIsFound|Kill|Crash|Cluster|Failover|Sentinel|RealTime|ManyTurns|Thousand|BinaryIsStatic|OtherSystems'
# Of a package, so that a hanging one prints its stacks. The longest took 338 s on two busy
# cores, and Go's own limit is 600 s.
limit=40m
# Linking about a hundred programs takes a third less without tables for debuggers. Stack traces do not need them.
link=-ldflags=-w
hub=$PWD/bin/plain-hub built=

# run_PART runs a part, which ends at the first failure; -e does not work in conditions.
run_web() { HUB=$built scripts/web.sh test; }
run_go() {
  local packages
  if [ -n "$fast" ]; then
    packages=$("$GO" list ./... | grep -vE "$slow") || return
    # shellcheck disable=SC2086 # it is a list
    CGO_ENABLED=0 "$GO" test -short -vet=off $link -p 4 -skip "$slow_tests" -timeout 10m ./session $packages
    return
  fi
  packages=$("$GO" list ./... | grep -vE '/internal/(arch|chaos)$') || return
  # check vets, and tests internal/arch. Four packages at once on two cores, because many tests wait; the one that
  # waits longest comes first.
  # shellcheck disable=SC2086 # it is a list
  CGO_ENABLED=1 "$GO" test -race -vet=off $link -shuffle=on -p 4 -timeout $limit ./session $packages
}
run_chaos() { CGO_ENABLED=1 "$GO" test -race -vet=off $link -timeout $limit ./internal/chaos; }
run_python() { HUB=$hub /usr/bin/python3 examples/plan_test.py; }
run_e2e() { HUB=$built scripts/web.sh e2e; }

busy=
case ${1-} in
  --busy)
    busy=yes
    shift
    ;;
  --fast)
    fast=yes
    all=(web go)
    needed=(node git redis-server pdftotext promtool jupyter-server)
    shift
    ;;
esac
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=("${all[@]}")
for part in "${parts[@]}"; do
  [[ " ${all[*]} " = *" $part "* ]] || {
    echo "no part is called $part; there are: ${all[*]}" >&2
    exit 2
  }
done

# Missing programs are reported before anything that takes long.
scripts/need.sh "${needed[@]}"

# As in the Makefile, so that both share the build cache.
GOFLAGS="$("$GO" env GOFLAGS) -trimpath"
export GOFLAGS

loops=() beside=''
work=$(mktemp -d)
cleanup() {
  [ ${#loops[@]} -eq 0 ] || kill "${loops[@]}" 2>/dev/null || true
  # With its children: it is the leader of a process group.
  [ -z "$beside" ] || kill -- "-$beside" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ -n "$busy" ]; then
  for _ in 1 2; do
    # The loop also ends when this script is killed.
    (while kill -0 $$ 2>/dev/null; do for ((n = 0; n < 100000; n++)); do :; done; done) &
    loops+=($!)
  done
  echo "two busy loops run beside the tests: ${loops[*]}"
fi

# Tests of several parts use this hub.
if [ -z "$fast" ]; then
  scripts/build.sh "$hub" ./cmd/hub
  built=$hub
fi

# wait_beside   waits for the parts that run beside others, and prints their output.
wait_beside() {
  [ -n "$beside" ] || return 0
  wait "$beside" || true
  beside=
  cat "$work/output"
}

# has PART   reports whether a part is to run.
has() { [[ " ${parts[*]} " = *" $1 "* ]]; }

# run PART…   runs parts one after the other, and leaves how each ended in $work.
run() {
  local part begin result
  for part in "$@"; do
    echo "== $part"
    begin=$SECONDS
    result=ok
    "run_$part" || result=FAILED
    printf '%-6s  %-6s  %3dm%02ds\n' $result "$part" $(((SECONDS - begin) / 60)) $(((SECONDS - begin) % 60)) >"$work/$part"
  done
}

together=()
if [ -z "$busy" ] && has go; then
  for part in web python; do
    if has "$part"; then together+=("$part"); fi
  done
fi
if [ ${#together[@]} -gt 0 ]; then
  set -m # the background job gets a process group of its own
  run "${together[@]}" >"$work/output" 2>&1 </dev/null &
  beside=$!
  set +m
fi
for part in "${parts[@]}"; do
  # The machine is for chaos alone.
  if [ "$part" = chaos ] && [ -n "$beside" ]; then wait_beside; fi
  [[ " ${together[*]-} " = *" $part "* ]] || run "$part"
done
wait_beside

echo "== results"
failed=()
for part in "${parts[@]}"; do
  cat "$work/$part"
  if grep -q ^FAILED "$work/$part"; then failed+=("$part"); fi
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}; these alone: scripts/test.sh ${fast:+--fast }${failed[*]}" >&2
  exit 1
fi
