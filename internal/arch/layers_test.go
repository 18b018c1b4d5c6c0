package arch_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/everdesk/everdesk"

// pkg is a package as `go list` describes it.
type pkg struct {
	ImportPath     string
	Dir            string
	Name           string
	Standard       bool
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	TestGoFiles    []string
	XTestGoFiles   []string
	Imports        []string
	TestImports    []string
	XTestImports   []string
}

// path returns the package's name in the tables.
func (p pkg) path() string { return strings.TrimPrefix(p.ImportPath, module+"/") }

// files returns the paths of all Go files of the package.
func (p pkg) files() []string {
	names := slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles)
	for i, name := range names {
		names[i] = filepath.Join(p.Dir, name)
	}
	return names
}

// list runs the go command once for all packages of the module.
var list = sync.OnceValues(func() ([]pkg, error) {
	out, err := golist(context.Background(), "-json", module+"/...")
	if err != nil {
		return nil, err
	}
	var all []pkg
	in := json.NewDecoder(strings.NewReader(out))
	for {
		var p pkg
		switch err := in.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, p)
	}
})

func golist(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", errors.New(string(exit.Stderr))
	}
	return string(out), err
}

func packages(t *testing.T) []pkg {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := list()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(all) == 0 {
		t.Fatal("go list found no packages")
	}
	// The test cache does not know what the go command read. Reading the folders makes it
	// notice new files and packages.
	for _, p := range all {
		for dir := p.Dir; strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
			if _, err := os.ReadDir(dir); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// has reports whether a list of the tables contains name.
func has(names, name string) bool {
	return names == "*" || slices.Contains(strings.Fields(names), name)
}

func TestEveryPackageIsListed(t *testing.T) {
	t.Parallel()
	there := map[string]bool{}
	for _, p := range packages(t) {
		there[p.path()] = true
		if _, ok := rules[p.path()]; !ok {
			t.Errorf("%s is new: a new package is a decision, list it in packages_test.go", p.path())
		}
	}
	for name := range maps.Keys(rules) {
		if !there[name] {
			t.Errorf("%s is listed in packages_test.go but is not there", name)
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		r := rules[p.path()]
		for _, path := range p.Imports {
			if name, ours := strings.CutPrefix(path, module+"/"); ours && !has(r.uses, name) {
				t.Errorf("%s imports %s, which packages_test.go does not allow", p.path(), name)
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			name, ours := strings.CutPrefix(path, module+"/")
			if ours && name != p.path() && !has(r.uses, name) && !has(r.tests, name) {
				t.Errorf("tests of %s import %s, which packages_test.go does not allow", p.path(), name)
			}
		}
	}
}

func TestThirdPartyModulesStayInTheirPackages(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			if !isThirdParty(path) {
				continue
			}
			if g, ok := moduleOf(path); !ok || !has(g.uses, p.path()) {
				t.Errorf("%s imports %s, which packages_test.go does not allow", p.path(), path)
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if !isThirdParty(path) {
				continue
			}
			if g, ok := moduleOf(path); !ok || !has(g.uses, p.path()) && !has(g.tests, p.path()) {
				t.Errorf("tests of %s import %s, which packages_test.go does not allow", p.path(), path)
			}
		}
	}
}

// isThirdParty reports whether path is neither in this module nor in the standard library.
func isThirdParty(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.Contains(first, ".") && !strings.HasPrefix(path, module+"/") && path != module
}

// moduleOf returns the module that contains path.
func moduleOf(path string) (rule, bool) {
	for name, r := range modules {
		if path == name || strings.HasPrefix(path, name+"/") {
			return r, true
		}
	}
	return rule{}, false
}

// Templates call methods by name, so the linker keeps every exported method in a program
// that uses them: with go-redis that was 20 MB instead of 11.
func TestProgramStaysSmall(t *testing.T) {
	t.Parallel()
	deps, err := golist(t.Context(), "-deps", module+"/cmd/hub")
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if slices.Contains(strings.Fields(deps), "text/template") {
		t.Error("cmd/hub depends on text/template; go mod why says by what way")
	}
}
