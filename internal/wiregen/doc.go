// Command wiregen generates files from package wire: the JSON Schema, the TypeScript types
// and the reference page.
//
//	go run ./internal/wiregen [root of the repository]
//
// These files are not edited by hand, and a test fails when one is stale. `make gen` runs
// it. It reads the catalog of package wire and, for descriptions, the comments in its
// source, so that a description is written once, beside the field. It writes nothing if one
// part cannot be generated.
package main

//go:generate go run . ../..
