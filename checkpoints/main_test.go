package checkpoints_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// programs are what the test binary does when it is started again, by their names.
var programs = map[string]func(args []string) error{"work": killedWorker, "full": fillDisk}

func TestMain(m *testing.M) {
	if name := os.Getenv("CHECKPOINTS_PROGRAM"); name != "" {
		if err := programs[name](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
