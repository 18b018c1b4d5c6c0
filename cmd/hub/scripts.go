package main

import (
	"fmt"
	"os"

	"github.com/everdesk/everdesk/runjs"
)

// isWorker reports whether this process is a worker that runs JavaScript of an agent.
func isWorker() bool { return len(os.Args) == 2 && os.Args[1] == runjs.WorkerArg }

// newScripts returns the runner of JavaScript, whose workers are this program.
func newScripts() (*runjs.Runner, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	return runjs.New(runjs.Config{Path: path}), nil
}
