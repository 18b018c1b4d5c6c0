package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/everdesk/everdesk/pdf"
	"github.com/everdesk/everdesk/runjs"
	"github.com/everdesk/everdesk/skills"
)

// work runs this process as a worker, which executes JavaScript of an agent or reads a PDF file, and
// returns its exit code. ok is false if the process is none.
func work(args []string) (code int, ok bool) {
	switch {
	case len(args) == 2 && args[1] == runjs.WorkerArg:
		return runjs.Work(os.Stdin, os.Stdout), true
	case len(args) > 2 && args[1] == pdf.WorkerArg:
		return pdf.Work(args[2:]), true
	}
	return 0, false
}

// newWorkers returns the runner of JavaScript and the reader of PDF files, whose workers are this
// program.
func newWorkers() (*runjs.Runner, *pdf.Reader, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find the path of this program: %w", err)
	}
	return runjs.New(runjs.Config{Path: path}), pdf.New(pdf.Config{Path: path}), nil
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
