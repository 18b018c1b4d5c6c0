package build_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/apps/build"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == build.WorkerArg {
		os.Exit(build.Work(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}
