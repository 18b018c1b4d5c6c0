// Package build compiles the source of an app, TypeScript or HTML, into one HTML document that
// needs nothing else.
//
// The source is a set of files in memory, and an import can only name one of them: the compiler
// reads no file and no network. [Compile] works in the calling process. [Runner] does the same in a
// process of its own, with limits, because source that agents write may be made to exhaust a
// compiler: Go cannot recover from a stack that is too deep.
//
// [Runner.Check] also looks for errors of types, with tsc if that is installed.
package build
