package workflow_test

import (
	"cmp"
	"flag"
	"os"
	"testing"
)

// TestMain sets the number of random programs, unless WORKFLOW_ROUNDS or the command line does.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", cmp.Or(os.Getenv("WORKFLOW_ROUNDS"), "40")); err != nil { // the command line counts before it
		panic(err)
	}
	m.Run()
}
