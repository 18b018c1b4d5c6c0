package jsonline

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalWithHub makes the system send SIGTERM to the process when the hub is killed. Agents end
// their own children on SIGTERM, but not on SIGKILL.
func signalWithHub(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGTERM }

// awaitExit waits until the process has exited, without freeing its id, and reports whether it did.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// descendants returns the ids of all processes below pid.
func descendants(pid int) (all []int) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, n := range names {
		if id, err := strconv.Atoi(n.Name()); err == nil {
			parent := parentOf(id)
			children[parent] = append(children[parent], id)
		}
	}
	all = children[pid]
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// killMarked kills all processes with a variable. It repeats that until there is none, at most maxKillRounds times, because a process may
// start another one meanwhile.
func killMarked(mark string) {
	for range maxKillRounds {
		found := false
		names, err := os.ReadDir("/proc")
		if err != nil {
			return
		}
		for _, n := range names {
			pid, err := strconv.Atoi(n.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			env, err := os.ReadFile("/proc/" + n.Name() + "/environ") // empty for one that has ended
			if err == nil && slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool { return string(v) == mark }) {
				found = true
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
		if !found {
			return
		}
	}
}

// maxKillRounds bounds the attempts to kill processes that start others.
const maxKillRounds = 10

// parentOf returns the parent of a process, 0 if it has ended.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// The name of the program is in parentheses and may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return parent
}
