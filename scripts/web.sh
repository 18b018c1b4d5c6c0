#!/usr/bin/env bash
# web.sh SCRIPT…   runs scripts of web/package.json, one after the other.
#
# Packages are installed only when they are missing or the lockfile is another
# than the one they were installed from.
set -euo pipefail
cd "$(dirname "$0")/../web"

version=$(node --version 2>/dev/null || echo none)
major=${version#v}
major=${major%%.*}
if ! [ "$major" -ge 20 ] 2>/dev/null || ! command -v npm >/dev/null; then
  echo "web/ needs Node 20 or newer with npm (found: $version); see https://nodejs.org or apt-get install nodejs npm" >&2
  exit 1
fi

installed=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$installed"; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json "$installed"
fi
for script in "$@"; do
  npm run --silent --loglevel=error "$script"
done
