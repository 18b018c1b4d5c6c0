//go:build unix

package pdf_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/pdf"
)

// The program that a worker becomes has the limits: memory in KiB, processor time in seconds, core
// dumps, and files in blocks of 512 bytes.
func TestWorkerLimitsTheProgram(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, pdf.WorkerArg, "/bin/sh", "-c", "ulimit -d; ulimit -t; ulimit -c; ulimit -f").CombinedOutput()
	if got, want := strings.Fields(string(out)), "524288 20 0 32768"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("the limits are %q, %v, want %s", got, err, want)
	}
}

func TestWorkerWithoutProgramFails(t *testing.T) {
	t.Parallel()
	if code := pdf.Work(nil); code != 1 {
		t.Errorf("a worker without a program ends with %d, want 1", code)
	}
}
