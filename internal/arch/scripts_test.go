package arch_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sandbox is a folder with copies of scripts, in which stub programs stand for all but basic tools.
type sandbox struct {
	t        *testing.T
	dir, bin string
}

func newSandbox(t *testing.T, scripts ...string) *sandbox {
	t.Helper()
	dir := t.TempDir()
	s := &sandbox{t: t, dir: dir, bin: filepath.Join(dir, "bin")}
	for _, folder := range []string{"bin", "scripts"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range []string{"bash", "cat", "dirname", "grep", "id", "mktemp", "rm", "xargs"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(s.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range scripts {
		text, err := os.ReadFile(filepath.Join("..", "..", "scripts", name))
		if err != nil {
			t.Fatal(err)
		}
		s.write("scripts/"+name, string(text))
	}
	return s
}

// write writes a program, by its path in the sandbox.
func (s *sandbox) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a script, which must fail, and returns its output.
func (s *sandbox) run(script string, args ...string) (stdout, stderr string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.bin, "bash"), append([]string{"scripts/" + script}, args...)...)
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=" + s.bin}
	var out, problems strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &problems
	if _, failed := errors.AsType[*exec.ExitError](cmd.Run()); !failed {
		s.t.Errorf("%s %v succeeded, want it to fail:\n%s%s", script, args, &out, &problems)
	}
	return out.String(), problems.String()
}

// Node is checked before anything is built, and the message names the version that is needed.
func TestScriptsRefuseOldNode(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "test.sh", "need.sh")
	s.write("bin/node", "#!/bin/sh\necho v18.20.4\n")
	for _, name := range []string{"bin/npm", "bin/go", "scripts/build.sh", "scripts/web.sh"} {
		s.write(name, "#!/bin/sh\necho \"$0 $*\" >>"+s.dir+"/ran\n")
	}
	for _, args := range [][]string{nil, {"--fast"}, {"e2e"}} {
		if _, stderr := s.run("test.sh", args...); !strings.Contains(stderr, "Node 20 or newer with npm must be installed (node found: v18.20.4,") {
			t.Errorf("test.sh %v: got %q, want that Node 20 is needed", args, stderr)
		}
	}
	if ran, err := os.ReadFile(filepath.Join(s.dir, "ran")); err == nil {
		t.Errorf("these ran before the check of Node: got %q, want none", ran)
	}
}

// A part that fails does not hide the later ones.
func TestScriptsContinueAfterAFailedPart(t *testing.T) {
	t.Parallel()
	s := newSandbox(t, "test.sh")
	s.write("scripts/need.sh", "#!/bin/sh\n")
	s.write("scripts/build.sh", "#!/bin/sh\n")
	s.write("scripts/web.sh", "#!/bin/sh\necho \"pages: $*\"\n")
	s.write("bin/go", `#!/bin/sh
case "$*" in
env*) ;;
list*) echo example.org/x ;;
*internal/chaos*) echo "chaos ran" ;;
*) echo "go ran"; exit 1 ;;
esac
`)
	stdout, stderr := s.run("test.sh", "web", "go", "chaos", "e2e")
	for _, want := range []string{`pages: test\n`, `go ran\n`, `chaos ran\n`, `pages: e2e\n`, `(?m)^FAILED +go `, `(?m)^ok +web `, `(?m)^ok +chaos `, `(?m)^ok +e2e `} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("output: got %q, want %q in it", stdout, want)
		}
	}
	if !strings.Contains(stderr, "failed: go;") {
		t.Errorf("last line: got %q, want that go failed", stderr)
	}
}
