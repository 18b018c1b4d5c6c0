package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/everdesk/everdesk/wire"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := write(root); err != nil {
		fmt.Fprintln(os.Stderr, "wiregen:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := generate(os.DirFS(filepath.Join(root, "wire")))
	if err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // source code may be read by all users
			return fmt.Errorf("make the folder of %s: %w", name, err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // source code may be read by all users
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// generate returns the generated files by their path in the repository. source holds the Go
// files of package wire.
func generate(source fs.FS) (map[string][]byte, error) {
	docs, err := readComments(source)
	if err != nil {
		return nil, fmt.Errorf("read the comments of package wire: %w", err)
	}
	catalog := wire.Events()
	schema, err := schemaJSON(catalog, docs)
	if err != nil {
		return nil, fmt.Errorf("make the schema: %w", err)
	}
	return map[string][]byte{
		"wire/schema.gen.json":       schema,
		"web/core/src/wire.gen.ts":   typescript(catalog, docs),
		"web/core/src/shapes.gen.ts": typescriptShapes(catalog),
		"docs/PROTOCOL.md":           reference(catalog, docs),
	}, nil
}
