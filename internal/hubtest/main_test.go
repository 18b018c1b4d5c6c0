package hubtest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
)

// program is the path of the hub.
var program string

func TestMain(m *testing.M) {
	redistest.Quiet()
	folder, err := os.MkdirTemp("", "everdesk-hub-")
	if err == nil {
		program, err = hubtest.Build(context.Background(), folder, "hub")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(redistest.Dialing), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(folder)
		os.Exit(code)
	}))
}
