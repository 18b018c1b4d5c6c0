#!/usr/bin/env bash
# web.sh SCRIPT…   runs scripts of web/package.json, one after the other.
#
# Packages are installed only when they are missing or the lockfile is another
# than the one they were installed from.
set -euo pipefail
cd "$(dirname "$0")/../web"
../scripts/need.sh node

installed=node_modules/.installed-lock.json
if ! cmp -s package-lock.json "$installed"; then
  echo "installing the packages of web/"
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  cp package-lock.json "$installed"
fi
for script in "$@"; do
  npm run --silent --loglevel=error "$script"
done
