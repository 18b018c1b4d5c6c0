#!/usr/bin/env bash
# ldflags.sh   prints the linker flags that name the version and the commit of a build.
# The go command records both by itself, but not in a git worktree, without .git or with
# -buildvcs=false. VERSION and REVISION come from the environment, or else from git;
# values that neither provides are left out.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${VERSION:-} revision=${REVISION:-}
if [ -z "$version$revision" ] && revision=$(git rev-parse HEAD 2>/dev/null); then
  # As the go command names it: a tag, or the time and the commit.
  version=$(git describe --tags --match 'v[0-9]*' 2>/dev/null) ||
    version=$(TZ=UTC git log -1 --format=v0.0.0-%cd- --date=format-local:%Y%m%d%H%M%S)${revision:0:12}
  if [ -n "$(git status --porcelain 2>/dev/null)" ]; then
    version+=+dirty revision+=+dirty
  fi
fi
echo "${version:+-X main.stampedVersion=$version}${revision:+ -X main.stampedRevision=$revision}"
