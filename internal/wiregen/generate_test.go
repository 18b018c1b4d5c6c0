package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/everdesk/everdesk/wire"
)

const root = "../.."

func source(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := generate(os.DirFS(filepath.Join(root, "wire")))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestGeneratedFilesAreFresh(t *testing.T) {
	t.Parallel()
	files := source(t)
	if len(files) != 4 {
		t.Errorf("generated %d files, want 4", len(files))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): run make gen", name, err)
		}
	}
}

func TestWriteMakesTheFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "wire"), os.DirFS(filepath.Join(root, "wire"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "wire", "schema.gen.json")); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range source(t) {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %.80q, error %v, want %.80q", name, got, err, want)
		}
	}
}

func TestBrokenSourceWritesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "wire"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "wire", "x.go"), []byte("not Go"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err == nil || !strings.Contains(err.Error(), "x.go") {
		t.Errorf("write of a broken source: got error %v, want one that names x.go", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("files after the failed write: got %v, error %v, want only the source", left, err)
	}
}

func TestComments(t *testing.T) {
	t.Parallel()
	docs, err := readComments(fstest.MapFS{
		"a.go": {Data: []byte("package a\n\n// T is a [thing] of\n// two lines.\ntype T struct {\n\t// F is a field.\n\tF, G int\n\tH int\n}\n\n" +
			"// K is a kind.\ntype K string\n\nconst (\n\tA K = \"a\" // the first\n\tB K = \"b\"\n\tC = 1 // no kind\n)\n")},
		"a_test.go": {Data: []byte("package a\n\n// T is something else.\ntype T int\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		docs.types["T"]: "T is a thing of two lines.", docs.types["K"]: "K is a kind.",
		docs.fields["T.F"]: "F is a field.", docs.fields["T.G"] + "!": "F is a field.!", docs.fields["T.H"]: "",
		docs.values["K=a"]: "the first",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every published type must have a comment.
func TestEverythingIsExplained(t *testing.T) {
	t.Parallel()
	docs, err := readComments(os.DirFS(filepath.Join(root, "wire")))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range namedShapes(wire.Events()) {
		if docs.types[s.Name] == "" {
			t.Errorf("%s is not explained", s.Name)
		}
	}
}

// The values method of a type must list all its constants, in their order.
func TestValuesAreTheConstants(t *testing.T) {
	t.Parallel()
	constants := map[string][]string{}
	declared := regexp.MustCompile(`(?m)^\t\w+\s+(\w+)\s+= "(.*?)"`)
	files, err := filepath.Glob(filepath.Join(root, "wire", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			constants[m[1]] = append(constants[m[1]], m[2])
		}
	}
	lists := 0
	for _, s := range namedShapes(wire.Events()) {
		if len(s.Values) == 0 {
			continue
		}
		lists++
		if !slices.Equal(s.Values, constants[s.Name]) {
			t.Errorf("values of %s: got %v, want its constants %v", s.Name, s.Values, constants[s.Name])
		}
	}
	if lists < 30 {
		t.Errorf("found %d lists of values, want many", lists)
	}
}

// Every link within the reference page must have a target.
func TestLinksOfTheReferencePage(t *testing.T) {
	t.Parallel()
	text := string(source(t)["docs/PROTOCOL.md"])
	headings := map[string]int{}
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		anchor := strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")
		if n := headings[anchor]; n > 0 {
			targets[anchor+"-"+string(rune('0'+n))] = true
		} else {
			targets[anchor] = true
		}
		headings[anchor]++
	}
	links := regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1)
	for _, m := range links {
		if !targets[m[1]] {
			t.Errorf("link #%s: got no target, want a heading of the page", m[1])
		}
	}
	if len(links) < 300 {
		t.Errorf("found %d links, want many", len(links))
	}
	if !strings.Contains(text, "(#error-1)") {
		t.Error("ERROR and error have the same anchor")
	}
}
