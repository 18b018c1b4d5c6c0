package gateway_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Quiet()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(redistest.Dialing))
}
