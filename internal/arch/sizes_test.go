package arch_test

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// maxMethods is the maximum number of methods of a type, without promoted ones. Tests and
	// packages for tests may have larger types: a rig with a method per action is easy to read.
	maxMethods = 45
	// maxInterface is the maximum number of methods of an interface, with embedded ones. Tests
	// may combine those of several packages.
	maxInterface = 6
)

// methodsOf counts the methods of the types of a package outside its tests.
func methodsOf(files []source) map[string]int {
	counts := map[string]int{}
	for _, s := range files {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && !s.isTest() {
				counts[typeName(f.Recv.List[0].Type)]++
			}
		}
	}
	return counts
}

// isTest reports whether the file is compiled for tests only.
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// typeName returns the name of a receiver's type, without pointer and type parameters.
func typeName(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return fmt.Sprintf("%T", e)
}

func TestTypesAreSmall(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if strings.HasSuffix(p.path(), "test") {
			continue
		}
		counts := methodsOf(sources(t, p))
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			if got := counts[name]; got > maxMethods {
				t.Errorf("%s.%s has %d methods, want at most %d: it has several responsibilities, give each its own type", p.path(), name, got, maxMethods)
			}
		}
	}
}

// namedInterface is an interface that a package declares outside its tests.
type namedInterface struct {
	source
	name string
	of   *ast.InterfaceType
}

// interfacesOf returns the interfaces of a package by name.
func interfacesOf(files []source) map[string]namedInterface {
	all := map[string]namedInterface{}
	for _, s := range files {
		if s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if of, ok := spec.Type.(*ast.InterfaceType); ok {
					all[spec.Name.Name] = namedInterface{s, spec.Name.Name, of}
				}
			}
			return true
		})
	}
	return all
}

// interfaceCounter counts the methods of interfaces, of other packages as well.
type interfaceCounter struct {
	t       *testing.T
	byPath  map[string]map[string]namedInterface
	library map[string]int
}

func newInterfaceCounter(t *testing.T) interfaceCounter {
	t.Helper()
	c := interfaceCounter{t: t, byPath: map[string]map[string]namedInterface{}, library: map[string]int{
		"error": 1, "fmt.Stringer": 1, "net/http.Handler": 1,
		"io.Reader": 1, "io.Writer": 1, "io.Closer": 1, "io.Seeker": 1, "io.ReaderAt": 1, "io.WriterAt": 1,
		"io.ReadCloser": 2, "io.WriteCloser": 2, "io.ReadWriter": 2, "io.ReadSeeker": 2,
		"io.ReadWriteCloser": 3, "io.ReadSeekCloser": 3,
	}}
	for _, p := range packages(t) {
		c.byPath[p.ImportPath] = interfacesOf(sources(t, p))
	}
	return c
}

// count returns the number of methods of an interface, with those of embedded interfaces.
func (c interfaceCounter) count(pkg string, i namedInterface) (n int) {
	for _, f := range i.of.Methods.List {
		if len(f.Names) > 0 {
			n += len(f.Names)
			continue
		}
		n += c.countEmbedded(pkg, i, f.Type)
	}
	return n
}

func (c interfaceCounter) countEmbedded(pkg string, in namedInterface, e ast.Expr) int {
	var name string
	switch x := e.(type) {
	case *ast.Ident:
		name = x.Name
		if _, ok := c.byPath[pkg][name]; !ok {
			return c.ofLibrary(in, name)
		}
	case *ast.SelectorExpr:
		pkg, name = in.importPath(typeName(x.X)), x.Sel.Name
	default: // a union of types in a constraint
		return 0
	}
	if i, ok := c.byPath[pkg][name]; ok {
		return c.count(pkg, i)
	}
	return c.ofLibrary(in, pkg+"."+name)
}

func (c interfaceCounter) ofLibrary(in namedInterface, name string) int {
	n, ok := c.library[name]
	if !ok && name != "comparable" && name != "any" {
		c.t.Errorf("%s: %s embeds %s: add its number of methods to the table of this test", in.line(in.of), in.name, name)
	}
	return n
}

// importPath returns the path that a file imports under a name.
func (s source) importPath(name string) string {
	for _, i := range s.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil && (i.Name != nil && i.Name.Name == name || i.Name == nil && path.Base(p) == name) {
			return p
		}
	}
	return name
}

func TestInterfacesAreSmall(t *testing.T) {
	t.Parallel()
	c := newInterfaceCounter(t)
	for pkg, all := range c.byPath {
		for name, i := range all {
			if got := c.count(pkg, i); got > maxInterface {
				t.Errorf("%s: %s has %d methods, want at most %d: declare the part that a consumer uses, or several interfaces", i.line(i.of), name, got, maxInterface)
			}
		}
	}
}

// Exported interfaces are implemented by other packages, so each method says what it guarantees.
// Methods that only mark the types of a union are not exported and need no comment.
func TestMethodsOfInterfacesHaveComments(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for name, i := range interfacesOf(sources(t, p)) {
			if !ast.IsExported(name) {
				continue
			}
			for _, m := range i.of.Methods.List {
				if len(m.Names) > 0 && m.Names[0].IsExported() && m.Doc == nil {
					t.Errorf("%s: %s.%s has no comment, want what it guarantees and its errors", i.line(m), name, m.Names[0].Name)
				}
			}
		}
	}
}
