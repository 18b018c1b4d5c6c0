// Package pictures makes the pictures in clients' messages small enough for sessions and models.
//
// # What it does
//
// [Fitter.Fit] finds the pictures in a JSON message, scales them to at most [MaxSide] pixels a side,
// and encodes them again so that all of them together have at most [MaxFitted] bytes. A picture that
// is small enough stays as it is. [Check] only looks at the header of a picture.
//
// # What it refuses
//
// Data that is no PNG, JPEG, GIF or WebP picture, a picture that cannot be decoded, and one whose
// decoded form would take more than [MaxDecoded] bytes: the header announces its size, and the rest is
// not read. All of these are an [Error].
//
// # Memory
//
// A Fitter bounds how many long messages are in memory at once ([Fitter.Acquire]), and decodes one
// picture at a time. It is safe for concurrent use.
package pictures
