package claude_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/claude/claudetest"
)

// standInHome is the variable that turns the test binary into a stand-in for Claude Code. Its value
// is the folder of conversations.
const standInHome = "CLAUDE_TEST_STAND_IN"

func TestMain(m *testing.M) {
	if home := os.Getenv(standInHome); home != "" {
		claudetest.Run(home)
		return
	}
	if agenttest.Leaks(leaking()) {
		return
	}
	goleak.VerifyTestMain(m)
}
