//go:build !race

// With the race detector the check takes six times as long and finds nothing more;
// make check runs it without.

package arch_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherSystems type-checks the hub and the tests of the packages store/filestore,
// broadcast and wire for Windows and macOS, so that a change made on Linux cannot break the
// released binaries.
//
// It does not build them: compiling all dependencies for another system takes
// minutes of CPU time when the build cache is empty, as in CI. Checking types from
// source takes 10 seconds for both systems and needs no cache, because function
// bodies of dependencies are left out. It finds all but faults of the linker and of
// assembly files.
func TestOtherSystems(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			c := systemCheck{fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
			for _, patterns := range [][]string{
				{"./cmd/hub"},
				{"-test", "./store/filestore/...", "./broadcast", "./wire"},
			} {
				for _, p := range listDeps(t, system, patterns) {
					c.check(t, p)
				}
			}
		})
	}
}

// listedPackage is a package as `go list -json` describes it.
type listedPackage struct {
	ImportPath string
	Dir        string
	Standard   bool
	Module     *struct{ Main bool }
	GoFiles    []string
	ImportMap  map[string]string
}

// listDeps returns the packages that match the patterns and all they import, each
// after its own imports. The test binaries that -test adds are left out.
func listDeps(t *testing.T, system string, patterns []string) []listedPackage {
	t.Helper()
	args := append([]string{"list", "-deps", "-json=ImportPath,Dir,Standard,Module,GoFiles,ImportMap"}, patterns...)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(out); ; {
		var p listedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(p.ImportPath, ".test") {
			packages = append(packages, p)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return packages
}

// systemCheck holds the packages that were checked for one system, by import path.
type systemCheck struct {
	fset *token.FileSet
	done map[string]*types.Package
}

// check type-checks a package whose imports were checked before. It checks function bodies
// in packages of this module only.
func (c *systemCheck) check(t *testing.T, p listedPackage) {
	t.Helper()
	if c.done[p.ImportPath] != nil {
		return
	}
	ours := p.Module != nil && p.Module.Main
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{
		IgnoreFuncBodies: !ours,
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if pkg := c.done[cmp.Or(p.ImportMap[path], path)]; pkg != nil {
				return pkg, nil
			}
			return nil, errors.New("go list did not name it")
		}),
		Error: func(err error) { t.Error(err) },
		Sizes: types.SizesFor("gc", "amd64"),
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")                   // "path [path.test]" is a variant for tests
	c.done[p.ImportPath], _ = conf.Check(path, c.fset, files, nil) // Error has reported it
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
