package apps_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/everdesk/everdesk/apps"
	"github.com/everdesk/everdesk/files"
)

// envKill makes the test program deploy an app in the folder that it names and stop at a step, so
// that a test can kill it there.
const envKill = "EVERDESK_TEST_DEPLOY"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envKill); dir != "" {
		deployAndStop(dir, os.Getenv(envKill+"_STEP"))
		return
	}
	goleak.VerifyTestMain(m)
}

func deployAndStop(dir, at string) {
	b, err := files.OpenFolder(dir)
	if err != nil {
		panic(err)
	}
	s := apps.New(b, nil)
	stop, err := strconv.Atoi(at)
	if err != nil {
		panic(err)
	}
	n := 0
	s.SetPause(func(string) {
		if n++; n == stop {
			_, _ = os.Stdout.WriteString("stopped\n")
			select {} // until it is killed
		}
	})
	if err := s.Deploy(context.Background(), ada, "a", page("new")); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.WriteString("done\n")
}

func TestAKilledDeploymentLeavesTheOldOrTheNewApp(t *testing.T) {
	t.Parallel()
	// The steps: after each of three files, before and after the new version is in use.
	for step := 1; step <= 5; step++ {
		t.Run(strconv.Itoa(step), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			if err := s.Deploy(t.Context(), ada, "a", page("old")); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), envKill+"="+dir, envKill+"_STEP="+strconv.Itoa(step))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || line != "stopped\n" {
				t.Errorf("the process: got %q, %v, want stopped", line, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // it was killed
			want := "old"
			if step == 5 {
				want = "new"
			}
			b, err := s.Get(t.Context(), ada, "a")
			if err != nil || string(b.Page()) != want || string(b.Files["src/main.ts"]) != want {
				t.Errorf("after the kill: got %q, %v, want %s", b.Files, err, want)
			}
			if err := s.Deploy(t.Context(), ada, "a", page("next")); err != nil {
				t.Errorf("the next deployment: got %v, want nil", err)
			}
			leftovers, err := filepath.Glob(filepath.Join(dir, ".apps", "*", "apps", "a", "v-*"))
			if err != nil {
				t.Fatal(err)
			}
			for _, left := range leftovers { // those of the killed process are removed when they are old
				apps.Age(t, dir, "apps/a/"+filepath.Base(left))
			}
			if err := s.Deploy(t.Context(), ada, "a", page("last")); err != nil {
				t.Fatal(err)
			}
			if left, err := filepath.Glob(filepath.Join(dir, ".apps", "*", "apps", "a", "v-*")); err != nil || len(left) != 1 {
				t.Errorf("versions after a later deployment: got %v, %v, want one", left, err)
			}
		})
	}
}
