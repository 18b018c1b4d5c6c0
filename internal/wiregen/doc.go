// Command wiregen writes what is made from the wire's declaration: the JSON
// Schema, the TypeScript types and the reference page.
//
//	go run ./internal/wiregen [root of the repository]
//
// It owns those three files; nobody edits them by hand, and a test fails when
// one is stale. It is run by `make gen` and by nothing else. It reads the
// catalog of package wire and, for the explanations, the comments in its source,
// so that a sentence about a field is written once, beside the field. It refuses
// to write anything when one part cannot be made.
package main

//go:generate go run . ../..
