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
	"github.com/everdesk/everdesk/mcpclient/mcptest"
	"github.com/everdesk/everdesk/providers/acp/acptest"
	"github.com/everdesk/everdesk/providers/claude/claudetest"
	"github.com/everdesk/everdesk/providers/codex/codextest"
)

// leakChecked runs the tests and then checks that no goroutine is left. testscript does not use it
// when this program runs as the hub.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	// Most tests wait most of the time, so that more can run in parallel than there are
	// processors.
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
	mcptest.Main()
	if code, ok := runWorker(os.Args); ok {
		os.Exit(code)
	}
	redislog.Disable() // as main does; tests kill Redis servers
	testscript.Main(leakChecked{m}, map[string]func(){
		"hub":       main,
		"acp-agent": func() { acptest.Run(os.Getenv("STAND_IN_HOME"), "load") },
		"claude":    func() { claudetest.Run(os.Getenv("HOME")) },
		"codex":     func() { codextest.Run(os.Getenv("HOME")) },
	})
}
