package contextpool_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain has fewer random programs than usual, for each of them takes 200 ms with
// the race detector. scripts/soak.sh has many more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil { // the command line counts before it
		panic(err)
	}
	os.Exit(m.Run())
}
