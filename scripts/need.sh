#!/usr/bin/env bash
# need.sh PROGRAM…   makes sure that programs are installed. korean-fonts is not a
# program, but pictures of the desktop need some; nor are python3-websockets, which
# the example client in Python needs, and python3-matplotlib, with which notebooks
# plot. node is Node 20 or newer, with npm. chromium is its headless shell where apt has
# that, since tests take less time in it.
#
# As root on a Debian-like system it installs what is missing; otherwise it
# prints one line with the command to run. It never installs Node: where it is missing, the
# system's own is often too old.
set -euo pipefail

cannot_install=
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then cannot_install=yes; fi

# has_headless_shell succeeds if apt knows the package: not every distribution has it.
has_headless_shell() { [ -n "$(apt-cache search --names-only '^chromium-headless-shell$' 2>/dev/null)" ]; }

# packages PROGRAM prints the Debian packages that contain it.
packages() {
  case $1 in
    bwrap) echo bubblewrap ;;
    chromium) if has_headless_shell; then echo chromium-headless-shell; else echo chromium; fi ;;
    gcc) echo gcc libc6-dev ;; # the race detector links with it
    ip | tc) echo iproute2 ;;
    jupyter-server) echo jupyter-server python3-ipykernel ;;
    korean-fonts) echo fontconfig fonts-noto-cjk ;;
    pdftotext) echo poppler-utils ;;
    promtool) echo prometheus ;;
    *) echo "$1" ;;
  esac
}

node_version() { node --version 2>/dev/null || echo none; }

# is_there PROGRAM succeeds if the program is installed.
is_there() {
  local major
  case $1 in
    chromium) # where web/e2e looks for it
      if [ -n "${CHROMIUM-}" ]; then
        [ -x "$CHROMIUM" ]
      elif [ ! -x /usr/bin/chromium-headless-shell ]; then
        [ -x /usr/bin/chromium ] && { [ -n "$cannot_install" ] || ! has_headless_shell; }
      fi
      ;;
    jupyter-server) [ -x /usr/bin/jupyter-server ] && /usr/bin/python3 -c 'import ipykernel' 2>/dev/null ;;
    korean-fonts) [ -n "$(fc-list :lang=ko 2>/dev/null)" ] ;;
    node)
      major=$(node_version)
      major=${major#v}
      [ "${major%%.*}" -ge 20 ] 2>/dev/null && command -v npm >/dev/null
      ;;
    python3-matplotlib) /usr/bin/python3 -c 'import matplotlib' 2>/dev/null ;;
    python3-websockets) /usr/bin/python3 -c 'import websockets' 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=() no_node=
for program in "$@"; do
  if is_there "$program"; then
    continue
  elif [ "$program" = node ]; then
    no_node=yes
  else
    missing+=("$program")
  fi
done
wanted() { for program in "${missing[@]}"; do packages "$program"; done | xargs; }

if [ -n "$no_node" ]; then
  echo "Node 20 or newer with npm must be installed (node found: $(node_version), npm found: $(command -v npm || echo none))." >&2
  echo "Debian 13 has it: apt-get install nodejs npm. The nodejs of Debian 12 and Ubuntu 24.04 is 18, which does not do: see https://nodejs.org" >&2
fi
if [ ${#missing[@]} -gt 0 ] && [ -n "$cannot_install" ]; then
  echo "${missing[*]} not found; on Debian or Ubuntu: sudo apt-get install $(wanted)" >&2
  exit 1
fi
[ -z "$no_node" ] || exit 1
[ ${#missing[@]} -gt 0 ] || exit 0

# Only programs are needed, so services are not started.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod +x $policy
  trap 'rm -f $policy' EXIT
fi

export DEBIAN_FRONTEND=noninteractive
install() {
  # Named anew each time: which packages there are depends on the package lists.
  local packages
  packages=$(wanted)
  echo "installing $packages"
  # shellcheck disable=SC2086 # it is a list
  apt-get install -qq -y --no-install-recommends $packages >/dev/null
}
# A fresh container has no package lists, and old lists name packages that are
# gone; only then is fetching them worth the time.
install 2>/dev/null || { apt-get update -qq && install; } || {
  # Chromium does without its headless shell.
  cannot_install=yes
  for program in "${missing[@]}"; do is_there "$program" || exit 1; done
}
