package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/everdesk/everdesk/runjs"
	"github.com/everdesk/everdesk/skills"
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

// loadSkills reads the texts for agents in a folder; "" means none. What cannot be used is logged, and
// the hub runs without it.
func loadSkills(folder string, log *slog.Logger) []skills.Skill {
	if folder == "" {
		return nil
	}
	all, err := skills.Load(folder)
	if err != nil {
		log.Warn("skills are not available", "folder", folder, "error", err)
	}
	return all
}
