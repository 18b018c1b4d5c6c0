// Package wire defines the protocol: the ids, the envelope, every event with its payload,
// and the error codes.
//
// # What it owns
//
// Every message type is declared once. A payload is a struct; a line in the catalog
// ([Events]) gives it a type, a direction, a family and says whether it is in the log. The
// JSON form of a struct and its rules are compiled once from its fields and tags into a
// [Shape]; the encoder, the strict decoder, the JSON Schema, the TypeScript types and
// docs/PROTOCOL.md all use it. [Codes] and [CloseCodes] are the tables of error codes and
// of close codes. Two codecs, [Native] and [Desktop], encode the same payloads as frames
// for two kinds of clients.
//
// # Concurrency
//
// All functions may be called from any goroutine; a [Heading] is for one goroutine at a
// time. The only state is tables that are built on first use and never change, and pools of
// buffers. The package imports no other package of the module.
//
// # Cost
//
// Nothing blocks. Encoding takes time proportional to the frame and allocates only its
// buffer, or nothing if the caller passes one. Decoding takes time proportional to the
// frame times its depth, which is bounded.
//
// # Errors
//
// From clients it refuses: text that is not UTF-8 or not JSON, U+0000, duplicate keys,
// nesting deeper than [MaxDepth], numbers out of range, unknown types, missing or mistyped
// fields, unknown enum values. A refusal is an [*Error] with a code of the table, the path
// of the field and, if it could be read, the id of the message. Unknown fields are
// accepted, because newer clients may send them. The gateway bounds the size of frames.
package wire
