package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/everdesk/everdesk/internal/hubtest"
	"github.com/everdesk/everdesk/internal/redistest"
)

var (
	full   = flag.Bool("chaos.full", false, "all rounds, and judge the numbers")
	seed   = flag.Uint64("chaos.seed", 0, "what decides; 0 means any with all rounds, and 1 with few")
	report = flag.String("chaos.report", "", "file to add results to")
)

// Made by TestMain for all tests.
var (
	plan    *hubtest.Plan
	program string // the hub
)

func TestMain(m *testing.M) {
	flag.Parse()
	if g := os.Getenv(crowdEnv); g != "" {
		if err := runCrowdProcess(g); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// These tests wait more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	redistest.Quiet()
	plan = &hubtest.Plan{Full: *full, Seed: *seed, Folder: filepath.Join(os.TempDir(), "everdesk-chaos"), Report: *report}
	switch {
	case plan.Seed != 0:
	case plan.Full:
		plan.Seed = rand.Uint64N(1 << 32)
	default:
		plan.Seed = 1 // a short run always makes the same decisions
	}
	folder, err := os.MkdirTemp("", "everdesk-hub-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if program, err = hubtest.Build(context.Background(), folder, "hub"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
