package main

import (
	"fmt"
	"os"
	"testing"

	redislog "github.com/redis/go-redis/v9/logging"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/internal/redistest"
)

// leakChecked adds to a test run the check that no goroutine outlives it.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
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
