//go:build !unix

package kernels

import (
	"errors"
	"os"
	"os/exec"
)

// supported reports why a server cannot be started on this system: hubs could not find out whether it is theirs.
func supported() error {
	return errors.New("a hub cannot start a Jupyter server on this system; start one and use --jupyter-url")
}

func detach(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func processStart(int) (string, bool) { return "", false }

func tryLock(*os.File, bool) error { return supported() }
