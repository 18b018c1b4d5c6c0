// Package wire says what may be said: the ids, the envelope, every event of the
// protocol with its payload, and the error codes.
//
// # What it owns
//
// The words and their rules, declared once. A payload is a struct; a line in the
// catalog ([Events]) gives it a type, a direction, a family and says whether it
// is kept. The JSON form of a struct and the rules for it are read once from its
// fields and tags into a [Shape], and that is what the encoder, the strict
// decoder, the JSON Schema, the TypeScript types and docs/PROTOCOL.md are made
// from. [Codes] and [CloseCodes] are the tables of everything that can go wrong.
// Two codecs, [Native] and [Desktop], turn the same payloads into the frames that
// two kinds of clients understand.
//
// # Who may call it
//
// Everybody, from any goroutine. It has no state but tables that are built once,
// on first use, and never change. It imports nothing of ours.
//
// # When it is slow or stops
//
// It never waits. Encoding takes time in proportion to the frame and allocates
// its buffer, or nothing when the caller brings one. Decoding takes time in
// proportion to the frame times its depth, which is bounded.
//
// # What it refuses
//
// From clients: text that is not UTF-8 or not JSON, keys that are there twice,
// nesting deeper than [MaxDepth], numbers out of range, unknown types, missing
// or mistyped fields, values that are not in their list. A refusal is an [*Error]
// with a code of the table, the path of the field and the id of the message. It
// does not refuse fields it does not know: they are for somebody newer. How large
// a frame may be is for the door to say.
package wire
