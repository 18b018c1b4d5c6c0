package main

import (
	"log/slog"
	"os"
	"runtime"
)

// canKillItself reports whether the end of this process by SIGKILL looks like a crash to its supervisor.
// Process 1 of a container does not receive the signal from inside, and Windows has exit codes only.
func canKillItself() bool { return os.Getpid() != 1 && runtime.GOOS != "windows" }

// killItself ends this process as a power cut does: nothing is closed or written.
func killItself(log *slog.Logger) {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		log.Error("could not kill this process", "error", err)
	}
}
