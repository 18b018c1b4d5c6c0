package worker

import "syscall"

// killWithHub makes the system kill the worker when the hub is killed.
func killWithHub(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
