package codex_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/mcpclient/mcptest"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
	"github.com/everdesk/everdesk/providers/codex/codextest"
)

// standInHome is the variable that turns the test binary into a stand-in for Codex. Its value
// is the folder of conversations.
const standInHome = "CODEX_TEST_STAND_IN"

func TestMain(m *testing.M) {
	mcptest.Main()
	if home := os.Getenv(standInHome); home != "" {
		codextest.Run(home)
		return
	}
	if agenttest.Leaks(leaking()) {
		return
	}
	goleak.VerifyTestMain(m)
}
