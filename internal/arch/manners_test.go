package arch_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maxLines is the maximum length of a file.
const maxLines = 500

// source is a parsed Go file.
type source struct {
	path string
	text []byte
	set  *token.FileSet
	file *ast.File
}

// parsed has the files of all packages by import path. The tests share it, because
// parsing the module takes longer than all of them.
var parsed = sync.OnceValues(func() (map[string][]source, error) {
	all, err := list()
	if err != nil {
		return nil, err
	}
	files := map[string][]source{}
	for _, p := range all {
		for _, path := range p.files() {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			files[p.ImportPath] = append(files[p.ImportPath], source{path, text, set, file})
		}
	}
	return files, nil
})

// sources returns all Go files of a package.
func sources(t *testing.T, p pkg) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all[p.ImportPath]
}

// line returns the position of a node.
func (s source) line(n ast.Node) string {
	return s.set.Position(n.Pos()).String()
}

// imports reports whether the file imports path.
func (s source) imports(path string) bool {
	return slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"`+path+`"` })
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue // packages with tests only need no doc.go
		}
		if !slices.Contains(p.GoFiles, "doc.go") {
			t.Errorf("%s has no doc.go", p.path())
		}
		for _, s := range sources(t, p) {
			isDoc := filepath.Base(s.path) == "doc.go"
			comment := s.file.Doc.Text()
			want := "Package " + p.Name + " "
			if p.Name == "main" {
				want = "Command " + filepath.Base(p.Dir) + " "
			}
			if isDoc && !strings.HasPrefix(comment, want) {
				t.Errorf("%s: package comment does not begin with %q", s.path, want)
			}
			if !isDoc && comment != "" && s.file.Name.Name == p.Name {
				t.Errorf("%s: a package comment outside doc.go", s.path)
			}
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, s := range sources(t, p) {
			if n := bytes.Count(s.text, []byte("\n")); n > maxLines && !ast.IsGenerated(s.file) {
				t.Errorf("%s has %d lines, more than %d: it does two things", s.path, n, maxLines)
			}
		}
	}
}

func TestNamesSaySomething(t *testing.T) {
	t.Parallel()
	empty := []string{"util", "utils", "common", "helper", "helpers", "misc", "shared", "base", "lib"}
	for _, p := range packages(t) {
		if slices.Contains(empty, p.Name) || slices.Contains(empty, filepath.Base(p.Dir)) {
			t.Errorf("%s: name the idea, or keep the code beside its one user", p.path())
		}
	}
}

func TestNothingHappensAtImport(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, s := range sources(t, p) {
			for _, d := range s.file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
					t.Errorf("%s: init function", s.line(f))
				}
			}
		}
	}
}

// Sleeping is free in a synctest bubble, so files that import synctest are not checked.
// Elsewhere it is either too long or too short; a comment on the same line that begins with
// "real time:" can justify it.
func TestNoTestSleepsForReal(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, s := range sources(t, p) {
			if s.imports("testing/synctest") {
				continue
			}
			defended := map[int]bool{}
			for _, group := range s.file.Comments {
				for _, c := range group.List {
					if strings.HasPrefix(c.Text, "// real time:") {
						defended[s.set.Position(c.Pos()).Line] = true
					}
				}
			}
			ast.Inspect(s.file, func(n ast.Node) bool {
				if isSleep(n) && !defended[s.set.Position(n.Pos()).Line] {
					t.Errorf("%s: time.Sleep outside virtual time", s.line(n))
				}
				return true
			})
		}
	}
}

// isSleep reports whether a node is time.Sleep, called or passed on.
func isSleep(n ast.Node) bool {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Sleep" {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "time"
}
