package jsonline_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// childMode is the variable that turns the test binary into a child process.
const childMode = "JSONLINE_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

// child behaves as the words of mode say. It ends at the end of its input unless told otherwise.
func child(mode string) {
	for word := range strings.FieldsSeq(mode) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "connect": // the connection lives as long as the process
			if _, err := net.Dial("unix", value); err != nil { //nolint:noctx // a test program
				panic(err)
			}
		case "ignore-term":
			signal.Ignore(syscall.SIGTERM)
		case "spawn": // a child of the child, in the same group
			spawn(value, &syscall.SysProcAttr{})
		case "spawn-session": // one in a session of its own
			spawn(value, &syscall.SysProcAttr{Setsid: true})
		case "describe":
			dir, _ := os.Getwd()
			line, _ := json.Marshal(map[string]any{"env": os.Environ(), "dir": dir, "args": os.Args[1:]})
			_, _ = fmt.Fprintln(os.Stdout, string(line))
		case "print":
			n, _ := strconv.Atoi(value)
			_, _ = fmt.Fprintln(os.Stdout, `"`+strings.Repeat("x", n-2)+`"`)
		case "flood":
			for {
				_, _ = fmt.Fprintln(os.Stdout, `"`+strings.Repeat("x", 100_000)+`"`)
			}
		case "stderr":
			fmt.Fprint(os.Stderr, strings.ReplaceAll(value, "_", " "))
		case "exit":
			n, _ := strconv.Atoi(value)
			os.Exit(n)
		case "ready":
			_, _ = fmt.Fprintln(os.Stdout, `"ready"`)
		case "leaks":
			leaks()
		case "hub":
			hub(value)
		case "deaf":
			select {}
		case "after-input": // stays after the end of the input
			_, _ = io.Copy(io.Discard, os.Stdin)
			select {}
		}
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		_, _ = fmt.Fprintln(os.Stdout, lines.Text())
	}
}

// spawn starts a copy of the test binary that ignores the end of its input and SIGTERM, and waits
// until it is connected to the socket.
func spawn(socket string, attr *syscall.SysProcAttr) {
	cmd := exec.Command(os.Args[0]) //nolint:noctx // the test kills it
	cmd.Env = append(os.Environ(), childMode+"=ignore-term connect="+socket+" ready deaf")
	cmd.SysProcAttr = attr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		panic(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		panic(err)
	}
}
