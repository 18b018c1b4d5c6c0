#!/usr/bin/env bash
# agents.sh   installs Claude Code, Codex and OpenCode from npm below .bin/agents, unless they are there, and
# runs the contract of providers with them. Their model is a fake on loopback, which understands
# directives in the newest message only: turns that continue are left to the stand-ins.
set -euo pipefail
cd "$(dirname "$0")/.."
claude=2.1.325 codex=0.166.0 opencode=1.18.33
dir=$PWD/.bin/agents

# install PACKAGE FOLDER unpacks a package of npm.
install() {
  [ -d "$2" ] && return
  mkdir -p "$dir"
  tarball=$(cd "$dir" && npm pack --silent "$1")
  mkdir "$2.new" && tar xzf "$dir/$tarball" -C "$2.new" && rm "$dir/$tarball" && mv "$2.new" "$2"
}
install "@anthropic-ai/claude-code-linux-x64@$claude" "$dir/claude-$claude"
install "@openai/codex@$codex-linux-x64" "$dir/codex-$codex"
install "opencode-linux-x64@$opencode" "$dir/opencode-$opencode"
export OPENCODE_BIN=$dir/opencode-$opencode/package/bin/opencode
export CLAUDE_BIN=$dir/claude-$claude/package/claude
# Claude Code has a shell only with bubblewrap; Codex brings one along.
PATH=$PATH:$dir/codex-$codex/package/vendor/x86_64-unknown-linux-musl/codex-resources
export CODEX_BIN=$dir/codex-$codex/package/vendor/x86_64-unknown-linux-musl/bin/codex
checks='^TestReal(Program|Approval|KeyStaysSecret|ShellHasNoKey)$/^(turns|refusals|interrupt|close|tools|steer|inject|resume|fork|images|failures)$'
# Two checks cannot pass: the system prompt of Codex, which the model recalls, contains a text that
# one of them wants absent, and Claude Code gives its model a file in place of a large result.
go test -tags agents -count=1 -timeout 30m -parallel "${PARALLEL:-2}" ./providers/claude ./providers/codex ./providers/acp -run "$checks" -skip 'TestRealProgram/(fork|tools)/(two_forks_differ|big_inputs_and_results)' "$@"
