package build_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everdesk/everdesk/apps/build"
)

// source returns a source with files given as pairs of name and content.
func source(pairs ...string) build.Source {
	s := build.Source{Files: map[string][]byte{}}
	for i := 0; i < len(pairs); i += 2 {
		s.Files[pairs[i]] = []byte(pairs[i+1])
	}
	return s
}

func TestASourceBecomesOneDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source      build.Source
		has, hasNot []string
	}{
		"TypeScript": {
			source("src/main.ts", `import {n} from "./part"; import "./style.css"; const x: number = n; document.title = "x" + x;`, "src/part.ts", "export const n: number = 41 + 1;", "src/style.css", "body { color: red }"),
			[]string{"<!doctype html>", `<div id="app">`, "42", "body{color:red}"},
			[]string{"import", ": number"},
		},
		"imports with extensions and folders": {
			source("main.ts", `import a from "./a.js"; import b from "./b"; import c from "/c.json"; import d from "./d.txt"; console.log(a, b, c, d)`, "a.ts", "export default 'from-a'", "b/index.ts", "export default 'from-b'", "c.json", `{"k":"from-c"}`, "d.txt", "from-d"),
			[]string{"from-a", "from-b", "from-c", "from-d"},
			nil,
		},
		"pictures": {
			source("main.ts", `import p from "./p.png"; document.body.append(p)`, "p.png", "\x89PNG\r\n\x1a\n"), []string{"data:image/png;base64,"}, nil,
		},
		"a script that looks like an end tag": {
			source("main.ts", "document.title = '</script><b>'; const t = `</script>`; console.log(t, /<\\/script>/)"), []string{`<\/script><b>`}, []string{"</script><b>"},
		},
		"HTML with its files": {
			source("index.html", `<!doctype html><title>A &amp; B</title><link rel="stylesheet" href="a.css"><img src="p.svg" alt="p"><p>kept <b>as it is</b></p><script src="a.ts" defer></script><script>inline()</script>`,
				"a.css", "p { color: blue }", "a.ts", "const x: string = 'typed'; console.log(x)", "p.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
			[]string{"<title>A &amp; B</title>", "<style>p{color:#00f}", "data:image/svg+xml;base64,", "kept <b>as it is</b>", "typed", "DOMContentLoaded", "<script>inline()</script>"},
			[]string{"a.css", "a.ts", ": string"},
		},
		"a title with markup": {
			build.Source{Files: map[string][]byte{"main.ts": []byte("1")}, Title: "<script>x</script>"}, []string{"&lt;script&gt;"}, []string{"<title><script>"},
		},
	} {
		page, err := build.Compile(c.source)
		if err != nil {
			t.Errorf("%s: got %v, want a page", name, err)
			continue
		}
		for _, want := range c.has {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s: got %s, want %q in it", name, page, want)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(string(page), not) {
				t.Errorf("%s: got %s, want no %q in it", name, page, not)
			}
		}
	}
}

func TestASourceThatCannotBeCompiledSaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source build.Source
		want   string
	}{
		"nothing":         {source(), "src/main.ts"},
		"no entry":        {source("a.ts", "1"), "no file to begin with"},
		"another entry":   {build.Source{Files: map[string][]byte{"a.ts": nil}, Entry: "b.ts"}, `no file "b.ts"`},
		"syntax":          {source("src/main.ts", "const x: = 1;\nlet"), "src/main.ts:1:10: "},
		"a package":       {source("main.ts", `import React from "react"; React()`), "no packages"},
		"a missing file":  {source("main.ts", `import "./x"`), "no file"},
		"the network":     {source("main.ts", `import "https://example.org/x.js"`), "no network"},
		"a style there":   {source("main.ts", `import "./a.css"`, "a.css", `@import "https://example.org/x.css";`), "no network"},
		"a script there":  {source("index.html", `<script src="https://example.org/x.js"></script>`), "no network"},
		"no such script":  {source("index.html", `<script src="x.js"></script>`), "no script"},
		"a binary script": {source("main.ts", "\x00\xff\xfe"), "main.ts:1"},
	} {
		_, err := build.Compile(c.source)
		if e, ok := errors.AsType[*build.Error](err); !ok || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: got %v, want an Error with %q", name, err, c.want)
		}
	}
}

func TestACompilationReadsNoFileOfTheMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const secret = "not-for-apps-4711"
	for _, name := range []string{"secret.ts", "secret.json", "secret.css", "secret.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	up := strings.Repeat("../", 20)
	for _, code := range []string{
		`import x from "` + dir + `/secret.txt"; console.log(x)`,
		`import x from "` + up + dir[1:] + `/secret.txt"; console.log(x)`,
		`import x from "file://` + dir + `/secret.txt"; console.log(x)`,
		`console.log(require("` + dir + `/secret.txt"))`,
		`const n = "secret"; import("` + up + dir[1:] + `/" + n + ".txt").then(console.log)`,
		`const n = "secret"; console.log(require("` + up + dir[1:] + `/" + n))`,
		`const n = "x"; import("./" + n + ".ts")`,
		`new Worker(new URL("` + dir + `/secret.ts", import.meta.url))`,
		`import x from "data:text/javascript,import y from '` + dir + `/secret.txt';export default y"; console.log(x)`,
		`import "./a.css"`,
		"//# sourceMappingURL=" + dir + "/secret.json\nconsole.log(1)",
		`/// <reference path="` + dir + `/secret.ts" />`,
		"import x from './tsconfig.json'; console.log(x)",
	} {
		page, err := build.Compile(source("src/main.ts", code, "src/a.css", `@import "`+dir+`/secret.css"; a { background: url(`+dir+`/secret.txt) }`, "tsconfig.json", `{"extends":"`+dir+`/secret.json"}`))
		if strings.Contains(string(page), secret) || err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %s, %v, want nothing of the file", code, page, err)
		}
	}
	page, err := build.Compile(source("index.html", `<img src="`+dir+`/secret.txt"><link rel=stylesheet href="`+up+dir[1:]+`/secret.css"><img src="file://`+dir+`/secret.txt">`))
	if err != nil || strings.Contains(string(page), secret) {
		t.Errorf("HTML: got %s, %v, want nothing of the file", page, err)
	}
}

func newRunner() *build.Runner { return build.New(program) }

func TestACompilerInAProcessReturnsTheSame(t *testing.T) {
	t.Parallel()
	r := newRunner()
	s := source("src/main.ts", "const x: string = '한글 </script>'; document.title = x")
	want, err := build.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Compile(t.Context(), s); err != nil || string(got) != string(want) {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	if _, err := r.Compile(t.Context(), source("main.ts", "let =")); err == nil || !strings.Contains(err.Error(), "main.ts:1") {
		t.Errorf("a wrong source: got %v, want its place", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Compile(ctx, s); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: got %v, want Canceled", err)
	}
	if _, err := build.New("/no/such/program").Compile(t.Context(), s); !errors.Is(err, build.ErrCompiler) {
		t.Errorf("a missing program: got %v, want ErrCompiler", err)
	}
}

// A compiler in the hub's own process would end the hub here.
func TestNestedSourceEndsOnlyTheCompiler(t *testing.T) {
	t.Parallel()
	r := newRunner()
	for name, code := range map[string]string{
		"brackets":  strings.Repeat("(", 1<<20),
		"operators": "x=" + strings.Repeat("!", 2<<20) + "1",
		"functions": strings.Repeat("a=>", 700_000) + "1",
	} {
		_, err := r.Compile(t.Context(), source("main.ts", code))
		if _, ok := errors.AsType[*build.Error](err); !ok {
			t.Errorf("%s: got %v, want an Error", name, err)
		}
	}
	if _, err := r.Compile(t.Context(), source("main.ts", "1")); err != nil {
		t.Errorf("afterwards: got %v, want nil", err)
	}
}

func TestACheckSaysWhetherTypesWereChecked(t *testing.T) {
	r := newRunner()
	good := source("src/main.ts", "const n: number = 1; yaar.storage.save('a', String(n));")
	t.Setenv("PATH", t.TempDir())
	if got, err := r.Check(t.Context(), good); err != nil || got.Types || len(got.Errors) > 0 {
		t.Errorf("without tsc: got %+v, %v, want no errors and no types", got, err)
	}
	if got, err := r.Check(t.Context(), source("main.ts", "let =")); err != nil || len(got.Errors) != 1 {
		t.Errorf("a wrong source: got %+v, %v, want one error", got, err)
	}
}

// A stand-in for tsc shows what it is given and how its answers are read.
func TestTypesAreCheckedWithTSC(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nfor f in tsconfig.json yaar.d.ts src/main.ts; do [ -f $f ] || echo \"missing $f\"; done\ngrep -q wrong src/main.ts && { echo \"src/main.ts(1,7): error TS2322: no.\"; exit 2; }\nexit 0\n"
	if err := os.WriteFile(filepath.Join(dir, "tsc"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRunner()
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	if got, err := exec.LookPath("tsc"); err != nil || got != filepath.Join(dir, "tsc") {
		t.Fatalf("tsc: got %q, %v, want the stand-in", got, err)
	}
	if got, err := r.Check(t.Context(), source("src/main.ts", "const n: number = 1")); err != nil || !got.Types || len(got.Errors) > 0 {
		t.Errorf("a good source: got %+v, %v, want types without errors", got, err)
	}
	got, err := r.Check(t.Context(), source("src/main.ts", "const wrong: number = 1"))
	if err != nil || !got.Types || len(got.Errors) != 1 || !strings.Contains(got.Errors[0], "TS2322") {
		t.Errorf("a wrong source: got %+v, %v, want TS2322", got, err)
	}
	for _, code := range []string{`/// <reference path="/etc/passwd" />`, `import type x from "../../../etc/passwd"; let y: x`, `let x: typeof import("/etc/passwd")`} {
		got, err := r.Check(t.Context(), source("src/main.ts", "1", "src/other.ts", code))
		if err != nil || len(got.Errors) != 1 || !strings.Contains(got.Errors[0], "src/other.ts") {
			t.Errorf("%s: got %+v, %v, want an error before tsc runs", code, got, err)
		}
	}
}
