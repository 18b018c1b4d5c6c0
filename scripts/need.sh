#!/usr/bin/env bash
# need.sh PROGRAM…   makes sure that programs are there. korean-fonts is not a
# program, but pictures of the desktop need some; nor is python3-websockets, which
# the example client in Python needs.
#
# As root on a Debian-like system it installs what is missing; otherwise it
# says in one line what to do.
set -euo pipefail

# packages PROGRAM prints the Debian packages that bring it.
packages() {
  case $1 in
    gcc) echo gcc libc6-dev ;; # the race detector links with it
    ip | tc) echo iproute2 ;;
    korean-fonts) echo fontconfig fonts-noto-cjk ;;
    promtool) echo prometheus ;;
    *) echo "$1" ;;
  esac
}

# is_there PROGRAM says whether it is.
is_there() {
  case $1 in
    korean-fonts) [ -n "$(fc-list :lang=ko 2>/dev/null)" ] ;;
    python3-websockets) /usr/bin/python3 -c 'import websockets' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=() wanted=()
for program in "$@"; do
  if ! is_there "$program"; then
    missing+=("$program")
    read -ra found <<<"$(packages "$program")"
    wanted+=("${found[@]}")
  fi
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "${missing[*]} not found; on Debian or Ubuntu: sudo apt-get install ${wanted[*]}" >&2
  exit 1
fi

# Programs are wanted, not services that run.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
  trap 'rm -f $policy' EXIT
fi

echo "installing ${wanted[*]}"
export DEBIAN_FRONTEND=noninteractive
# A fresh container has no package lists, and old lists name packages that are
# gone; only then is fetching them worth the time.
install() { apt-get install -qq -y --no-install-recommends "${wanted[@]}" >/dev/null; }
install 2>/dev/null || { apt-get update -qq && install; }
