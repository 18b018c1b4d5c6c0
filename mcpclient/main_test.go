package mcpclient_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/mcpclient/mcptest"
)

func TestMain(m *testing.M) {
	mcptest.Main()
	goleak.VerifyTestMain(m)
}
