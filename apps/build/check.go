package build

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Bounds of a check of types.
const (
	checkTimeout  = 60 * time.Second
	maxCheckLines = 100
)

// typesFile declares what apps can use, for the check of types.
const typesFile = "yaar.d.ts"

// declarations are the content of typesFile.
const declarations = `interface YaarEntry { description?: string; schema?: unknown; params?: unknown; returns?: unknown; handler: (params?: any) => unknown }
declare const yaar: {
  app: {
    register(app: { appId: string; name: string; state?: Record<string, YaarEntry>; commands?: Record<string, YaarEntry> }): void;
    sendInteraction(value: unknown): void;
  };
  storage: {
    read(name: string): Promise<string | null>;
    save(name: string, text: string): Promise<void>;
    list(): Promise<string[]>;
    remove(name: string): Promise<void>;
    onChange(handler: (name: string) => void): void;
  };
};
declare module "*.css";
`

// config is the tsconfig.json of a check.
const config = `{"compilerOptions":{"noEmit":true,"strict":true,"target":"es2022","module":"esnext","moduleResolution":"bundler","lib":["es2022","dom","dom.iterable"],
"types":[],"skipLibCheck":true,"resolveJsonModule":true,"allowImportingTsExtensions":true,"jsx":"react","jsxFactory":"h","jsxFragmentFactory":"Fragment"},"include":["**/*.ts","**/*.tsx"]}`

// reference is a directive that makes tsc read another file.
var reference = regexp.MustCompile(`(?m)^\s*///\s*<\s*reference\b`)

// imported is an import with its address.
var imported = regexp.MustCompile(`(?:from|import|require)\s*\(?\s*["'` + "`" + `]([^"'` + "`" + `\n]+)["'` + "`" + `]`)

// leavesApp reports whether a file imports something outside the app, which tsc would read.
func leavesApp(name string, data []byte) bool {
	return slices.ContainsFunc(imported.FindAllSubmatch(data, -1), func(m [][]byte) bool {
		target := string(m[1])
		return strings.HasPrefix(target, "/") || strings.HasPrefix(path.Join(path.Dir(name), target), "..")
	})
}

// Report is the result of a check.
type Report struct {
	// Errors are what is wrong, each with its place.
	Errors []string
	// Types says that types were checked; otherwise only the syntax and the imports were.
	Types bool
}

// Check looks for errors in a source: with tsc if that is installed, after the compiler has found
// none.
func (r *Runner) Check(ctx context.Context, s Source) (Report, error) {
	_, err := r.Compile(ctx, s)
	if e, ok := errors.AsType[*Error](err); ok {
		return Report{Errors: e.Messages}, nil
	}
	if err != nil {
		return Report{}, err
	}
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		return Report{}, nil //nolint:nilerr // there is none, which the report says
	}
	return checkTypes(ctx, tsc, s)
}

// checkTypes runs tsc on a copy of the source.
func checkTypes(ctx context.Context, tsc string, s Source) (Report, error) {
	dir, err := os.MkdirTemp("", "everdesk-types-")
	if err != nil {
		return Report{}, fmt.Errorf("check types: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system removes what is left
	wrong, err := writeSource(dir, s.Files)
	if len(wrong) > 0 || err != nil {
		return Report{Errors: wrong}, err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, tsc, "--pretty", "false", "-p", ".")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "NODE_OPTIONS=--max-old-space-size=512"}
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	exit, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return Report{}, context.Cause(ctx)
	case err != nil && exit == nil:
		return Report{}, fmt.Errorf("check types: %w", err)
	}
	lines := slices.DeleteFunc(strings.Split(strings.ReplaceAll(out.String(), dir, ""), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	if exit != nil && len(lines) == 0 {
		return Report{}, fmt.Errorf("check types: %w", exit)
	}
	return Report{Errors: lines[:min(len(lines), maxCheckLines)], Types: true}, nil
}

// writeSource writes the files that tsc reads. Directives that name files elsewhere are errors.
func writeSource(dir string, all map[string][]byte) (wrong []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("check types: %w", err)
	}
	defer func() { _ = root.Close() }()
	written := map[string][]byte{typesFile: []byte(declarations), "tsconfig.json": []byte(config)}
	for name, data := range all {
		if !slices.Contains([]string{".ts", ".tsx", ".json"}, path.Ext(name)) || path.Base(name) == "tsconfig.json" || path.Base(name) == "package.json" || name == typesFile {
			continue
		}
		if reference.Match(data) {
			wrong = append(wrong, name+": /// <reference> is not allowed; import files of the app instead")
		}
		if leavesApp(name, data) {
			wrong = append(wrong, name+": it imports a file that is not in the app")
		}
		written[name] = data
	}
	slices.Sort(wrong)
	for _, name := range slices.Sorted(maps.Keys(written)) {
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o700); err != nil {
			return wrong, fmt.Errorf("check types: %w", err)
		}
		if err := root.WriteFile(filepath.FromSlash(name), written[name], 0o600); err != nil {
			return wrong, fmt.Errorf("check types: %w", err)
		}
	}
	return wrong, nil
}
