package acp_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/providers/acp/acptest"
	"github.com/everdesk/everdesk/providers/agent/agenttest"
)

// standInHome is the variable that turns the test binary into a stand-in for an agent. Its value is
// the folder of conversations. standInAbilities lists what the stand-in has, with commas.
const (
	standInHome      = "ACP_TEST_STAND_IN"
	standInAbilities = "ACP_TEST_ABILITIES"
)

func TestMain(m *testing.M) {
	if home := os.Getenv(standInHome); home != "" {
		acptest.Run(home, os.Getenv(standInAbilities))
		return
	}
	if agenttest.Leaks(leaking()) {
		return
	}
	goleak.VerifyTestMain(m)
}
