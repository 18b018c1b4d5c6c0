// Package truncation shortens texts without splitting a character. Its functions are pure
// and safe for concurrent use.
package truncation
