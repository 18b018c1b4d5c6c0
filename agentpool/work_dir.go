package agentpool

import (
	"fmt"

	"github.com/everdesk/everdesk/providers"
)

// WorkDir is the working directory of a backend that is a process.
type WorkDir struct {
	Path string
	// Files says that it is the folder of the session's files.
	Files bool
}

// findWorkDir finds the working directory of a backend that is a process, before the process may change something in it.
func (ar *activeRun) findWorkDir(p providers.Provider) (err error) {
	find := ar.runner.parent.cfg.WorkDir
	if find == nil || !p.Caps().Process {
		return nil
	}
	if ar.dir, err = find(ar.workCtx, ar.runner.ref.Session, p.Name()); err != nil {
		return &providers.Failure{Class: providers.Invalid, Err: fmt.Errorf("find the folder to work in: %w", err)}
	}
	if ar.caller.WorksInFiles = ar.dir.Files; ar.dir.Files {
		ar.runner.files.begin(cleanupTimeout)
	}
	return nil
}

// publishFiles publishes what a process has changed in the files of the session, before the run ends. It waits at most
// cleanupTimeout.
func (ar *activeRun) publishFiles() {
	if !ar.dir.Files {
		return
	}
	ar.runner.files.publishNow(cleanupTimeout)
	if why := ar.runner.files.takeNotice(); why != "" {
		ar.report(FilesFull{RunRef{ar.ID}, why})
	}
}
