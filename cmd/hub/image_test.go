package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/everdesk/everdesk/cmd/hub/internal/command"
)

// The program is static: the image has no loader and no libraries.
func TestBinaryIsStatic(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hub")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: got error %v, want none\n%s", err, out)
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("program asks for a loader")
	}
	if libs, err := file.ImportedLibraries(); err != nil || len(libs) > 0 {
		t.Errorf("libraries of the program: got %v, error %v, want none", libs, err)
	}
}

// The variables in the Dockerfile and the compose file are valid settings.
func TestDeploymentSettings(t *testing.T) {
	t.Parallel()
	assignment := regexp.MustCompile(`(HUB_[A-Z_]+)(?:=|: )(\S+)`)
	for _, name := range []string{"Dockerfile", "deploy/compose.yaml"} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		var environ []string
		for _, m := range assignment.FindAllStringSubmatch(string(text), -1) {
			environ = append(environ, m[1]+"="+m[2])
		}
		if len(environ) < 2 {
			t.Errorf("settings of %s: got %q, want at least two", name, environ)
		}
		var wrong command.UsageErrors
		load(nil, environ, &wrong)
		for _, complaint := range wrong {
			t.Errorf("settings of %s: got the complaint %s, want none", name, complaint)
		}
	}
}
