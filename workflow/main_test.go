package workflow_test

import (
	"cmp"
	"flag"
	"os"
	"testing"
)

// TestMain sets how many random programs there are where nobody says otherwise, by
// WORKFLOW_ROUNDS or on the command line.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", cmp.Or(os.Getenv("WORKFLOW_ROUNDS"), "40")); err != nil { // the command line counts before it
		panic(err)
	}
	m.Run()
}
