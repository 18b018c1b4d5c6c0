package contextpool_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain reduces the number of rapid checks, because each takes 200 ms with the race
// detector. scripts/soak.sh runs many more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "40"); err != nil { // a flag on the command line overrides it
		panic(err)
	}
	os.Exit(m.Run())
}
