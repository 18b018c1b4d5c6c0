package main

import (
	"flag"
	"fmt"
	"os"
	"testing"

	redislog "github.com/redis/go-redis/v9/logging"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/internal/redistest"
)

// leakChecked adds to a test run the check that no goroutine outlives it, and is no
// run of the hub, which has flags of its own.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	// Most tests wait for hubs that wait, so a few processors can have more of them
	// under way.
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	code := l.m.Run()
	if err := goleak.Find(goleak.IgnoreAnyFunction(redistest.Dialing)); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	redislog.Disable() // as main does; Redis servers die on purpose here
	testscript.Main(leakChecked{m}, map[string]func(){"hub": main})
}
