package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/everdesk/everdesk/apps"
	appbuild "github.com/everdesk/everdesk/apps/build"
	"github.com/everdesk/everdesk/files"
	"github.com/everdesk/everdesk/pdf"
	"github.com/everdesk/everdesk/runjs"
	"github.com/everdesk/everdesk/skills"
	"github.com/everdesk/everdesk/tools"
)

// runWorker runs this process as a worker, which executes JavaScript of an agent, compiles an app or reads a PDF file, and
// returns its exit code. ok is false if the process is none.
func runWorker(args []string) (code int, ok bool) {
	switch {
	case len(args) == 2 && args[1] == runjs.WorkerArg:
		return runjs.Work(os.Stdin, os.Stdout), true
	case len(args) == 2 && args[1] == appbuild.WorkerArg:
		return appbuild.Work(os.Stdin, os.Stdout), true
	case len(args) > 2 && args[1] == pdf.WorkerArg:
		return pdf.Work(args[2:]), true
	}
	return 0, false
}

// executable returns the path of this program, which is also that of its workers.
func executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of this program: %w", err)
	}
	return path, nil
}

// openApps opens the apps of users, which are beside the files of sessions, and the market. Apps that earlier versions
// kept in a folder although the files are in a bucket are moved there.
func openApps(ctx context.Context, cfg config, in files.Backend, program string, changed func(ctx context.Context, user, id string), log *slog.Logger) (*tools.Apps, error) {
	market, err := apps.NewMarket(cfg.agents.apps)
	if err != nil {
		return nil, err
	}
	stored := apps.New(in, changed)
	if cfg.filesBucket != nil {
		users, err := stored.MoveFrom(ctx, cfg.filesFolder())
		if err != nil {
			return nil, err
		}
		if users > 0 {
			log.InfoContext(ctx, "apps moved to the bucket", "folder", cfg.filesFolder(), "users", users)
		}
	}
	return &tools.Apps{Store: stored, Market: market, Compiler: appbuild.New(program)}, nil
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
